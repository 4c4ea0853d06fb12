// The projector: one section a screen, one step a key. The order of a section's steps is its
// question, the answer with its charts, what else there is to see, and then its presets in turn.
// Cards and bar hand over what is needed here by `serving.present.card` and `.bar`.
(() => {
  const page = document.documentElement;
  const sections = [...document.querySelectorAll("main > section")];
  const slugs = sections.map((section) => section.id);
  const cards = new Map();
  let bar = null;
  let start = null; // what the link said

  // Where we are: a section, one of its steps, and the screen of that step (↑ ↓ change it).
  let place = Math.max(0, slugs.indexOf(page.dataset.first));
  let step = 0;
  let screen = 0;
  let last = false; // the section's last step is wanted, once its card is there
  let captions = false;
  let before = null; // the state that the presets started from; null outside of them

  // --- What there is to show ----------------------------------------------------------------------

  const TALL = 500;
  const ROOM = 330;

  // The screens of a section: its charts two by two, a tall one by parts, and what else it has. The
  // one that the prediction asks about comes first. Rows of text that come and go with what is
  // chosen come last and are no step: steps may not move under the hand.
  const screens = ({ spec, charts, player, stripped, alwaysStripped }) => {
    const found = [];
    for (const chart of charts) {
      const parts = Math.ceil(chart.height / ROOM);
      const previous = found.at(-1);
      if (chart.height > TALL)
        for (let at = 0; at < parts; at += 1) found.push({ kind: "charts", names: [chart.name], closed: true, at, parts });
      else if (previous && !previous.closed && !chart.alone) {
        previous.names.push(chart.name);
        previous.closed = true;
      } else found.push({ kind: "charts", names: [chart.name], closed: chart.alone });
    }
    if (player) found.push({ kind: "player", names: ["player"] });
    const covers = ({ names }) => names.some((name) => spec.prediction.covers.includes(name));
    const first = found.find(covers) ?? found[0];
    // A row of text goes below a chart that would stand alone, unless it has controls of its own.
    const single = stripped() && !spec.controls.some((control) => control.with_strips) && found.find(({ kind, names, parts }) => kind === "charts" && names.length === 1 && !parts);
    if (single) single.strips = true;
    const extra = stripped() && !single ? [{ kind: "strips", names: [], strips: true }] : [];
    const fixed = [first, ...found.filter((one) => one !== first)];
    const numbers = { kind: "numbers", names: [] };
    return alwaysStripped ? [...fixed, ...extra, numbers] : [...fixed, numbers, ...extra.map((one) => ({ ...one, passing: true }))];
  };
  const shows = (card, preset) =>
    Math.max(0, screens(card).findIndex(({ names }) => names.includes(card.spec.shows[preset])));
  // Steps without the card: the question alone, which the page has.
  const steps = (card) => {
    if (!card) return [{ kind: "question" }];
    return [
      { kind: "question" },
      ...screens(card).filter(({ passing }) => !passing).map((_, at) => ({ kind: "look", screen: at })),
      ...card.spec.presets.map((name) => ({ kind: "preset", name, screen: shows(card, name) })),
    ];
  };
  const here = () => cards.get(slugs[place]);
  const current = () => steps(here())[step] ?? { kind: "question" };

  // --- Showing it ---------------------------------------------------------------------------------

  const make = (tag, className, text = "") => {
    const node = document.createElement(tag);
    node.className = className;
    node.textContent = text;
    return node;
  };
  const button = (text, words, act) => {
    const node = make("button", "", text);
    node.type = "button";
    node.setAttribute("aria-label", words);
    node.addEventListener("click", act);
    return node;
  };
  const footer = make("footer", "steps");
  const told = make("span", "told");
  const scenario = make("span", "about");
  told.setAttribute("role", "status");
  footer.append(button("‹", "Back", () => move(-1)), told, button("›", "On", () => move(1)),
    scenario, button("? keys", "Keys", () => list.showModal()));
  for (const section of sections) {
    const demo = make("p", "demo");
    demo.setAttribute("role", "status");
    section.querySelector("h2").after(demo);
  }

  const arrange = (card, at, now) => {
    const all = screens(card);
    const shown = now.kind === "question" ? { kind: "question", names: [] } : all[Math.min(at, all.length - 1)];
    card.root.dataset.screen = shown.kind;
    card.root.dataset.verdict = now.kind === "look" && now.screen === 0;
    card.root.dataset.full = Boolean(shown.parts);
    card.root.dataset.roomy = card.charts.some((chart) => chart.alone && shown.names.includes(chart.name));
    card.root.dataset.strips = Boolean(shown.strips);
    card.root.dataset.captions = captions;
    // The strip has room for four readouts: those that the prediction asks about first.
    const cells = [...card.root.querySelectorAll(".readout")];
    const asked = (cell) => card.spec.prediction.covers.includes(cell.dataset.readout);
    const front = [...cells.filter(asked), ...cells.filter((cell) => !asked(cell))].slice(0, 4);
    for (const cell of cells) cell.classList.toggle("front", front.includes(cell));
    for (const chart of card.charts) {
      const visible = shown.names.includes(chart.name);
      chart.figure.hidden = !visible;
      if (visible && shown.parts) projected.showPart(chart, shown.at, shown.parts);
      if (visible) projected.fit(chart);
    }
  };
  const show = () => {
    const card = here();
    const all = steps(card);
    step = Math.min(step, all.length - 1);
    const now = all[step];
    sections.forEach((section, i) => (section.hidden = i !== place));
    const question = now.kind === "question";
    page.dataset.screen = question ? "question" : "charts";
    const section = sections[place];
    section.querySelector(".demo").textContent = now.kind === "preset" ? now.name : "";
    if (card) arrange(card, screen, now);
    const name = section.querySelector(".no").textContent;
    const where = card ? `step ${step + 1} of ${all.length}` : "loading";
    told.textContent = `Section ${name} of ${sections.length} · ${where}`;
    address();
    bar?.send({ near: slugs[place] });
    if (place + 1 < slugs.length) bar?.send({ near: slugs[place + 1] });
  };
  // A reload stays at the section, and a link to it can be copied from the address.
  const address = () => {
    const url = new URL(location.href);
    if (url.searchParams.get("section") === slugs[place]) return;
    url.searchParams.set("section", slugs[place]);
    history.replaceState(history.state, "", url);
  };

  // --- Moving -------------------------------------------------------------------------------------

  const reveal = () => { const card = here(); if (card && !card.told()) card.send({ answer: null }); };
  // A preset always starts from the state before the first of them, so that its screen is the same
  // whichever way it is reached; beyond the presets that state is back.
  const leavePresets = () => {
    if (before === null) return;
    bar.send({ query: before });
    back = { query: before, until: performance.now() + 5000 };
    before = null;
  };
  // Until the server has answered, the bar still has the preset's state: whoever steps back at once
  // begins from what was asked for, unless something was changed by hand in between.
  let back = null;
  const present = () => (back && performance.now() < back.until ? back.query : bar.query());
  addEventListener("input", () => { back = null; }, true);
  const enter = () => {
    const now = current();
    screen = now.screen ?? 0;
    if (now.kind !== "question") reveal();
    if (now.kind === "preset") {
      if (before === null) before = present();
      else bar.send({ query: before });
      here().send({ preset: now.name });
    } else leavePresets();
    show();
  };
  const turn = (to, atEnd) => {
    if (to < 0 || to >= slugs.length) return;
    leavePresets();
    here()?.fold();
    place = to;
    step = 0;
    screen = 0;
    last = atEnd && !here();
    if (atEnd && here()) step = steps(here()).length - 1;
    enter();
  };
  const move = (by) => {
    here()?.fold();
    const to = step + by;
    if (to < 0) return turn(place - 1, true);
    if (to >= steps(here()).length) return here() ? turn(place + 1, false) : undefined;
    step = to;
    enter();
  };
  const look = (by) => {
    const card = here();
    if (!card || current().kind === "question") return;
    const count = screens(card).length;
    screen = (screen + by + count) % count;
    arrange(card, screen, current());
  };
  const reset = () => {
    before = null;
    bar?.send({ reset: true });
    back = { query: start, until: performance.now() + 5000 };
    if (current().kind === "preset") step = 1;
    screen = current().screen ?? 0;
    show();
  };
  const toggleBar = () => {
    const opened = page.toggleAttribute("data-bar");
    if (opened) document.getElementById("scenario").scrollTop = 0;
  };
  const more = () => here()?.root.querySelector("details.more");
  const toggleMore = () => {
    const folded = more();
    if (folded) here().root.dataset.more = folded.open = !folded.open;
  };
  const toggleCaptions = () => { captions = !captions; if (here()) arrange(here(), screen, current()); };
  const toggleBlank = () => page.toggleAttribute("data-blank");
  const leave = () => {
    const url = new URL(location.href);
    const theme = url.searchParams.get("theme");
    url.search = [bar && present(), theme && `theme=${theme}`].filter(Boolean).join("&");
    url.hash = slugs[place];
    location.assign(url);
  };
  const escape = (focused) => {
    if (page.hasAttribute("data-blank")) return page.removeAttribute("data-blank");
    if (here()?.fold()) return;
    // A field first takes back what was typed into it, in its own listener.
    if (focused instanceof Element && focused.matches(OWNERS))
      return focused.matches("[type=text], textarea") ? setTimeout(() => focused.blur()) : focused.blur();
    if (page.hasAttribute("data-bar")) return page.removeAttribute("data-bar");
    if (more()?.open) return toggleMore();
    leave();
  };

  // --- Keys ---------------------------------------------------------------------------------------

  const KEYS = [
    ["→ · Page Down · Space", "On: the next step, then the next section"],
    ["← · Page Up", "Back"],
    ["Home", "To the section's question"],
    [`1 to ${slugs.length}`, "To a section"],
    ["R", "Reveal the answer to the prediction"],
    ["↑ ↓", "Other charts and numbers, at this step"],
    ["P", "Start or pause the player, where there is one"],
    ["M · C", "More controls · captions below the charts"],
    ["S", "Scenario: model and device"],
    ["0", "Reset to what the link said"],
    ["T", "Light or dark"],
    ["F", "Full screen"],
    ["B", "Blank the screen"],
    ["?", "This list"],
    ["Esc", "Close what is open, free a control, then leave for the page"],
  ];
  const list = document.createElement("dialog");
  list.setAttribute("aria-labelledby", "keys-title");
  const title = make("h2", "", "Keys");
  title.id = "keys-title";
  const rows = make("dl", "");
  for (const [keys, words] of KEYS) rows.append(make("dt", "", keys), make("dd", "", words));
  list.append(title, rows,
    make("p", "", "A focused slider or field keeps its own arrow keys; Esc frees it, and Page Down always goes on. A preset begins from what was set before the first one; that is back when you leave them."),
    button("Close", "Close", () => list.close()));

  const ACTS = {
    ArrowRight: () => move(1), PageDown: () => move(1), " ": () => move(1),
    ArrowLeft: () => move(-1), PageUp: () => move(-1),
    ArrowUp: () => look(-1), ArrowDown: () => look(1),
    Home: () => { here()?.fold(); step = 0; enter(); },
    r: reveal, t: () => bar?.flip(), 0: reset, s: toggleBar,
    p: () => { if (here()?.root.dataset.screen === "player") here().player.querySelector(".go").click(); },
    m: toggleMore, c: toggleCaptions,
    f: () => (document.fullscreenElement ? document.exitFullscreen() : page.requestFullscreen().catch(() => {})),
    b: toggleBlank, ".": toggleBlank,
    "?": () => list.showModal(),
  };
  slugs.forEach((_, i) => (ACTS[i + 1] = () => turn(i, false)));
  const OWNERS = "input, select, textarea, button, summary, .stepper, [tabindex]";
  const ARROWS = ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End"];
  // Whether a key belongs to what has the focus. A remote's page keys never do.
  const owned = (node, key) => {
    if (!(node instanceof Element) || key.startsWith("Page")) return false;
    if (node.closest(".stepper") && ARROWS.includes(key)) return true;
    if (node.matches("input[type=range]")) return ARROWS.includes(key);
    if (node.matches("input:not([type=checkbox]), textarea, select")) return true;
    return key === " " && node.matches("button, summary, input, a");
  };
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || list.open) return;
    const focused = event.composedPath()[0];
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    if (key === "Escape") return event.defaultPrevented || escape(focused);
    const act = ACTS[key];
    if (!act || owned(focused, key)) return;
    event.preventDefault();
    event.stopPropagation();
    if (page.hasAttribute("data-blank") && act !== toggleBlank) page.removeAttribute("data-blank");
    else act();
  }, true);
  // A click on a button does not keep the keys: the next Space goes on instead of pressing it again.
  addEventListener("click", (event) => {
    const pressed = event.composedPath().find((node) => node instanceof Element && node.matches("button, summary"));
    if (event.detail > 0 && pressed && !list.open) pressed.blur();
  });

  // --- What the components hand over --------------------------------------------------------------

  window.serving.present = {
    card: (card) => {
      card.alwaysStripped = card.stripped();
      cards.set(card.spec.slug, card);
      card.charts.forEach(projected.watch);
      if (card.spec.slug !== slugs[place]) return arrange(card, 0, { kind: "question" });
      if (last) step = steps(card).length - 1;
      last = false;
      enter();
    },
    bar: (one) => { bar = one; start ??= one.query(); show(); },
    notice: () => page.setAttribute("data-bar", ""),
    scenario: (words) => { scenario.textContent = words; },
    // What the address keeps during the presets, so that a reload is back where they began.
    pinned: () => before,
  };
  document.body.append(footer, list);
  projected.resize();
  show();
})();
