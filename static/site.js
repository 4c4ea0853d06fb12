// The static site: the same page, with Python in a worker of the reader's own browser. Until that
// answers, charts drawn at build time stand in for it: inert, and labelled as what they are.
(() => {
  const config = window.servingConfig;
  const here = (path) => new URL(path, document.baseURI).href;
  const theme = () => document.documentElement.dataset.theme;
  const element = (tag, attributes, ...children) => {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    node.append(...children);
    return node;
  };
  const places = new Map([...document.querySelectorAll(".root")].map((place) => [place.dataset.root, place]));
  // What was drawn at build time is true for a link that says nothing of models or inputs.
  const defaults = [...new URLSearchParams(location.search).keys()].every((name) => config.names.includes(name));
  const standsIn = defaults && window.servingLayout.mode !== "present";
  const near = new Set();
  let live = false;
  let page = null; // its Bokeh document, once there

  const label = (name) => {
    const text = name === "scenario" ? "Starting" : standsIn ? "Starting: these are the defaults" : defaults ? "Starting" : "Starting: this link’s own numbers follow";
    const note = element("p", { class: "starting" }, text);
    if (name === "scenario") note.setAttribute("role", "status");
    return note;
  };
  const embed = async (json, ids) => {
    const before = new Set(Bokeh.documents);
    await Bokeh.embed.embed_items({ own: json }, [{ docid: "own", roots: ids, root_ids: Object.keys(ids) }]);
    return Bokeh.documents.find((made) => !before.has(made));
  };

  // Stand-ins.
  const standIns = [];
  const draw = async (name) => {
    const place = places.get(name);
    const box = element("div", { class: "stand-in", id: `stand-in-${name}`, inert: "" });
    place.append(box);
    const drawn = await (await fetch(here(config.drawn[name][theme()]))).json();
    if (live) return;
    const made = embed(drawn.document, { [drawn.root]: box.id });
    standIns.push(made);
    await made;
  };
  const wait = (name) => {
    const place = places.get(name);
    if (!document.getElementById("failed")) place.append(label(name));
    if (standsIn) draw(name).catch((error) => console.warn(`no chart drawn ahead for ${name}: ${error}`));
    else place.append(element("div", { class: "waiting" }));
  };
  window.servingStandIn = { ...window.servingLayout };
  wait("scenario");
  const coming = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      coming.unobserve(entry.target);
      near.add(entry.target.dataset.section);
      if (!live) wait(entry.target.querySelector(".root").dataset.root);
    }
  }, { rootMargin: "900px" });
  for (const card of document.querySelectorAll("[data-section]")) coming.observe(card);

  // What cannot start, or stops, says so; the text and what is drawn stay.
  const fail = (reason) => {
    if (document.getElementById("failed")) return;
    document.querySelectorAll(".starting").forEach((note) => note.remove());
    const charts = standsIn ? "The charts show the defaults." : "There are no numbers to show.";
    const words = page
      ? `Python in this browser stopped: ${reason}. What you see stays; controls answer again after a restart.`
      : `The controls could not start: ${reason}. The text reads as it is. ${charts}`;
    const again = element("button", { type: "button" }, page ? "Restart" : "Try again");
    again.addEventListener("click", () => location.reload());
    document.body.append(element("div", { id: "failed", role: "alert" }, words, again));
  };

  // The live page.
  let applying = false;
  const early = [];
  const apply = ({ text, buffers }) => {
    if (!page) return early.push({ text, buffers });
    applying = true;
    try { page.apply_json_patch(JSON.parse(text), new Map(buffers)); } finally { applying = false; }
  };
  const settled = async (made) => {
    const patience = performance.now() + 5000;
    while (!made.is_idle && performance.now() < patience) await new Promise((done) => setTimeout(done, 16));
  };
  const open = async ({ text }) => {
    const { document: json, roots } = JSON.parse(text);
    live = true;
    coming.disconnect();
    delete window.servingStandIn;
    const ids = {};
    for (const [name, id] of Object.entries(roots)) {
      const place = places.get(name);
      place.append(element("div", { id: `live-${name}`, class: place.firstChild ? "coming" : "" }));
      ids[id] = `live-${name}`;
    }
    const made = await embed(json, ids);
    made.on_change((event) => {
      // The page speaks in messages alone; what Bokeh works out for itself, sizes say, stays here.
      if (applying || event.kind !== "MessageSent") return;
      made.create_json_patch([]); // else Bokeh describes what Python has just sent it
      worker.postMessage({ kind: "patch", text: JSON.stringify(made.create_json_patch([event])) });
    }, false);
    page = made;
    early.splice(0).forEach(apply);
    await settled(made);
    for (const old of await Promise.all(standIns)) {
      for (const view of [...Bokeh.index.roots]) if (view.model.document === old) view.remove();
      Bokeh.documents.splice(Bokeh.documents.indexOf(old), 1);
    }
    document.querySelectorAll(".stand-in, .waiting, .starting").forEach((part) => part.remove());
    document.querySelectorAll(".coming").forEach((part) => part.classList.remove("coming"));
    document.documentElement.dataset.live = "";
    performance.mark("serving-live");
  };

  const handlers = {
    stage: ({ text }) => { const note = document.querySelector("#scenario .starting"); if (note) note.textContent = `Starting: ${text}`; },
    ready: () => worker.postMessage({ kind: "open", text: JSON.stringify({ query: location.search, theme: theme(), near: [...near] }) }),
    page: (message) => open(message).catch((error) => { console.error(error); fail("the page could not be drawn"); }),
    patch: apply,
    failed: ({ text }) => fail(text),
  };
  if (!window.Worker || !window.WebAssembly) return fail("this browser runs no WebAssembly");
  let worker = null;
  try { worker = new Worker(here(config.worker)); } catch { return fail("a page opened as a file may start nothing; it needs a web server, any static one"); }
  worker.onmessage = ({ data }) => handlers[data.kind](data);
  worker.onerror = () => fail("the worker’s script could not be read");
  worker.postMessage({
    kind: "start", runtime: here(config.runtime), numpy: here(config.numpy), app: here(config.app),
    files: Object.fromEntries(Object.entries(config.files).map(([path, sum]) => [here(path), sum])),
  });
})();
