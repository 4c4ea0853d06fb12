// The page around the widgets: which section is being read, and a word when the server is gone.
(() => {
  // At each repaint Bokeh asks the style sheet for some 300 custom properties a figure, which makes
  // the browser settle its styles anew in between. No chart here is styled that way.
  const visual = window.Bokeh?.require?.("core/visuals/visual");
  if (visual) visual.VisualProperties.prototype._get_css_value = () => "";

  const links = new Map([...document.querySelectorAll("nav a")].map((a) => [a.hash.slice(1), a]));
  const mark = () => {
    let current = null;
    for (const section of document.querySelectorAll("main section"))
      if (section.getBoundingClientRect().top < innerHeight / 3) current = section.id;
    for (const [id, link] of links) {
      if (id === current) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
  };
  addEventListener("scroll", mark, { passive: true });
  mark();

  // The bar's height is what a jump must leave free.
  const bar = document.getElementById("scenario");
  new ResizeObserver(() => document.documentElement.style.setProperty("scroll-padding-top", `${bar.offsetHeight + 24}px`)).observe(bar);

  const lost = document.getElementById("lost");
  lost.querySelector("button").addEventListener("click", () => location.reload());
  const attach = () => {
    const doc = window.Bokeh && Bokeh.documents && Bokeh.documents[0];
    if (!doc) return setTimeout(attach, 100);
    doc.on_event("connection_lost", () => (lost.hidden = false));
    doc.on_event("client_reconnected", () => (lost.hidden = true));
  };
  attach();
})();
