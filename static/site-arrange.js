// The static site's page when one section of it is embedded, or when it is presented: what the
// server's template leaves out or moves is taken out or moved here, before the first paint.
(() => {
  const { mode, section, hidden } = window.servingLayout;
  const root = document.documentElement;
  const drop = (within, selector) => within.querySelectorAll(selector).forEach((part) => part.remove());

  const embed = () => {
    const place = document.getElementById(section);
    const heading = place.querySelector("h2");
    const fold = document.createElement("details");
    fold.id = "fold";
    fold.hidden = hidden.includes("scenario");
    fold.innerHTML = '<summary>Scenario: <span id="fold-words"></span></summary>';
    const bar = document.createElement("div");
    bar.append(...document.getElementById("scenario").childNodes);
    fold.append(bar);
    drop(document, `body > .skip, #scenario, nav, main > :not(#${section}), .no`);
    bar.id = "scenario";
    place.querySelector(".prose").before(fold);
    if (hidden.includes("prose")) drop(place, ".prose");
    if (hidden.includes("title")) {
      place.removeAttribute("aria-labelledby");
      place.setAttribute("aria-label", heading.textContent);
      drop(place, "h2, .q");
    }
    const whole = document.createElement("p");
    whole.className = "whole";
    whole.innerHTML = '<a id="whole" target="_blank" rel="noopener" href="?"></a>';
    whole.firstChild.textContent = `${document.title}: the whole page`;
    place.after(whole);
  };
  const present = () => {
    root.dataset.first = section;
    drop(document, "body > .skip, nav, .lead, .prose, main > section:not(:has([data-section]))");
  };

  if (mode === "embed") embed();
  if (mode === "present" && window.servingSite.present.js) present();
  delete root.dataset.arranging;
})();
