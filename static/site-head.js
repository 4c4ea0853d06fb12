// The static site's head: what the server reads from the address, read here before the first paint.
// Python in the browser reads the address again and has the last word.
(() => {
  const asked = new URLSearchParams(location.search);
  const flag = (name) => asked.get(name) === "1";
  const plain = (text) => text.replaceAll("_", "-");
  const said = asked.get("section") || "";
  const known = Object.entries(window.servingSite.sections);
  const [section] = known.find(([slug]) => slug === said) ?? known.find(([, widget]) => plain(widget) === plain(said)) ?? [""];
  const embedded = flag("embed") && section !== "";
  const mode = embedded ? "embed" : flag("present") && !flag("embed") ? "present" : "page";
  const words = (name) => (embedded ? asked.get(name) ?? "" : "").split(",").map((word) => word.trim()).filter(Boolean);
  window.servingLayout = { mode, section, locked: words("lock"), hidden: words("hide") };
  document.documentElement.dataset.mode = mode;
  if (mode !== "page") document.documentElement.dataset.arranging = "";
  const style = mode === "present" && window.servingSite.present.css;
  if (style) document.write(`<link rel="stylesheet" href="${style}">`);
})();
