// The fold below a card that gives the HTML of the section as it stands, for somebody's course page.

const makeEmbedding = (spec, ask, card) => {
  const page = location.href.split(/[?#]/)[0];
  const script = new URL("assets/embed.js", page).href;
  const title = document.getElementById(spec.slug)?.querySelector("h2")?.textContent ?? spec.slug;
  let query = "";

  const options = [
    ["model,device,devices,weights,cache", "lock", "Keep the scenario fixed"],
    ["prose", "hide", "Without the text"],
    ["prediction", "hide", "Without the prediction"],
    ["scenario", "hide", "Without the scenario"],
  ].map(([value, name, words]) => {
    const box = h("input", { type: "checkbox", onchange: () => paint() });
    return { value, name, box, root: h("label", {}, box, words) };
  });
  const theme = h("select", { "aria-label": "Theme of the embedded section", onchange: () => paint() },
    ...[["", "the reader's theme"], ["light", "light"], ["dark", "dark"]].map(([value, words]) => h("option", { value }, words)));
  const code = h("pre", { class: "code", tabindex: 0, "aria-label": "HTML that embeds this section" });
  const copy = h("button", { type: "button", onclick: () => copyText(code.textContent, copy) }, "Copy");

  const address = () => {
    const said = new URLSearchParams(query);
    const asked = new URLSearchParams({ section: spec.slug, embed: "1" });
    for (const [name, value] of said) asked.append(name, value);
    if (theme.value) asked.set("theme", theme.value);
    for (const name of ["lock", "hide"]) {
      const values = options.filter((option) => option.name === name && option.box.checked).map((option) => option.value);
      if (values.length) asked.set(name, values.join(","));
    }
    return `${page}?${asked}`;
  };
  // What a host that drops scripts shows: high enough for the section as it is on this screen.
  const height = () => {
    const whole = hidesProse() ? card() : document.getElementById(spec.slug) || card();
    return Math.ceil((whole.offsetHeight - root.offsetHeight) / 50) * 50 + 100;
  };
  const hidesProse = () => options.some((option) => option.value === "prose" && option.box.checked);
  const paint = () => {
    const safe = address().replaceAll("&", "&amp;").replaceAll('"', "%22");
    code.textContent =
      `<iframe src="${safe}" title="${title}" data-serving\n  width="100%" height="${height()}" style="border: 0" loading="lazy" allow="clipboard-write"></iframe>\n` +
      `<script src="${script}" async><\/script>`;
  };
  const root = h("div", { class: "embedding", hidden: true });
  const fill = () => root.replaceChildren(
    h("p", {}, "The section as it stands now, for a page of yours. The second line keeps the frame as high as its content; where a host drops scripts, the frame has the fixed height and scrolls."),
    h("div", { class: "pick" }, ...options.map((option) => option.root), theme), code, copy);
  const button = h("button", {
    type: "button", "aria-expanded": false,
    onclick: () => {
      root.hidden = !root.hidden;
      button.setAttribute("aria-expanded", !root.hidden);
      if (root.hidden) return root.replaceChildren();
      fill();
      ask();
    },
  }, "Embed");
  return { root, button, show: (fresh) => { query = fresh; paint(); } };
};
