// Paper. A chart cannot be drawn anew for it: it stays as wide as the window had it, and card.css
// makes it smaller where the paper is narrower, for which it has to know that width. A section that
// the reader has not come near has no card yet; page.css says so in its place.

const within = function* (root, selector) {
  yield* root.querySelectorAll(selector);
  for (const { shadowRoot } of root.querySelectorAll("*")) if (shadowRoot) yield* within(shadowRoot, selector);
};

addEventListener("beforeprint", () => {
  for (const host of within(document, ".canvas")) host.style.setProperty("--drawn", `${host.clientWidth}px`);
  for (const place of document.querySelectorAll("[data-section]"))
    place.toggleAttribute("data-unread", within(place, ".widget").next().done);
});
