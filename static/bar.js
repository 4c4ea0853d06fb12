
function renderBar({ model, view }) {
  const spec = { ...model.spec, ...window.servingStandIn };
  const state = latestState(model);
  const send = (message) => model.send_msg(message);
  const paced = pacedSender(send);
  const set = (values) => paced.set(values);
  // In a notebook's cell the page around, its address and its theme belong to somebody else.
  const inCell = spec.mode === "cell";
  const projector = spec.mode === "present" ? window.serving.present : null;

  // Model: a slider over the textbook sizes beside the picker of names.
  const size = h("input", {
    type: "range", min: 0, max: spec.sizes.length - 1, step: 1, "aria-label": "Model size, textbook family",
    class: "size", "data-key": "size",
  });
  let sizeTouched = 0;
  size.addEventListener("input", () => {
    sizeTouched = performance.now();
    size.setAttribute("aria-valuetext", spec.sizes[size.value]);
    set({ model: spec.sizes[size.value] });
  });
  const controls = new Map();
  const front = new Map();
  for (const item of spec.front) {
    const made = choiceControl(item, set);
    made.select.setAttribute("aria-label", item.label);
    controls.set(item.key, made);
    front.set(item.key, made.select);
  }
  const count = h("input", { type: "number", min: 1, max: 1024, step: 1, "aria-label": "Number of devices", class: "count num", "data-key": "devices" });
  const { put: putCount } = field(count);
  count.addEventListener("change", () => set({ devices: count.value === "" ? 0 : Number(count.value) }));

  const folded = h("div", { class: "panel controls" });
  for (const item of spec.more) {
    const made = makeControl(item, set);
    controls.set(item.key, made);
    folded.append(made.root);
  }
  const custom = h("div", { class: "panel controls", hidden: true, role: "group", "aria-label": "Your own device" },
    ...spec.custom.map((item) => {
      const id = freshId("custom");
      const entry = h("input", { type: "text", inputmode: "decimal", id, class: "num", "data-key": item.key });
      const { put } = field(entry);
      entry.addEventListener("change", () => {
        set({ [item.key]: typedNumber(entry.value.trim()) });
      });
      controls.set(item.key, { update: ({ value }) => put(value) });
      return h("div", { class: "control" }, h("div", { class: "head" }, h("label", { for: id }, item.label)), entry);
    }));
  const more = h("button", {
    type: "button", class: "pill", "aria-expanded": false,
    onclick: () => { folded.hidden = !folded.hidden; more.setAttribute("aria-expanded", !folded.hidden); },
  }, "more");
  folded.hidden = true;

  // A config.json, chosen or dropped. Its size is checked before anything is sent.
  const file = h("input", { type: "file", accept: ".json,application/json", class: "file", "aria-label": "A model's config.json", tabindex: -1 });
  const pick = h("button", { type: "button", class: "pill", onclick: () => file.click() }, "config.json…");
  const local = h("div", { class: "notice", role: "alert", hidden: true });
  const say = (text) => { local.textContent = text; local.hidden = !text; };
  const take = async (chosen) => {
    if (!chosen) return;
    if (chosen.size > spec.maxConfigByte) {
      say(`“${chosen.name}” is ${(chosen.size / 1e6).toFixed(1)} MB; a config.json is at most ${spec.maxConfigByte / 1e6} MB. Choose the file named config.json, not the weights.`);
      return;
    }
    const text = await textOf(chosen);
    say(text === null ? notText(chosen) : "");
    if (text !== null) send({ config: { name: chosen.name, text } });
  };
  file.addEventListener("change", () => { take(file.files[0]); file.value = ""; });

  const themeButton = h("button", {
    type: "button", class: "pill", onclick: () => setTheme(state.theme === "dark" ? "light" : "dark", true),
  });
  const setTheme = (name, chosen) => {
    if (chosen) { try { localStorage.setItem("theme", name); } catch { /* private mode */ } }
    document.documentElement.dataset.theme = name;
    if (name !== state.theme) send({ theme: name });
    showTheme(name);
  };
  const showTheme = (name) => {
    themeButton.textContent = name === "dark" ? "☀" : "☾";
    themeButton.setAttribute("aria-label", name === "dark" ? "Use the light theme" : "Use the dark theme");
  };
  const reset = h("button", { type: "button", class: "pill", onclick: () => send({ reset: true }) }, "Reset everything");
  // Opens the projector at the section that is being read, in the state that it has.
  const present = spec.mode === "page" && h("button", {
    type: "button", class: "pill", title: "For a projector: one section a screen, a key a step",
    onclick: () => {
      // The section of which most is in sight.
      let [read, most] = ["", 0];
      for (const { parentElement, dataset } of document.querySelectorAll("[data-section]")) {
        const { top, bottom } = parentElement.getBoundingClientRect();
        const seen = Math.min(bottom, innerHeight) - Math.max(top, 0);
        if (seen > most) [read, most] = [`section=${dataset.section}`, seen];
      }
      const url = new URL(location.href);
      url.hash = "";
      url.search = [state.query, "present=1", read].filter(Boolean).join("&");
      location.assign(url);
    },
  }, "Present");
  const summary = h("span", { class: "sum num", role: "status" });
  const line = h("div", { class: "bar" },
    size, h("span", { class: "wrap" }, front.get("model")), "on", count, "×", front.get("device"),
    h("span", { class: "word" }, "weights"), front.get("weights"), h("span", { class: "word" }, "cache"), front.get("cache"),
    more, h("span", { class: "grow" }), summary, file, pick, inCell ? null : themeButton);
  folded.append(h("div", { class: "control last" }, reset, present || null));

  const notices = h("div", { class: "notices", role: "alert" });
  const found = h("details", { class: "found", open: true, hidden: true });
  const root = h("div", { class: "scenario", role: "region", "aria-label": "Scenario" }, line, folded, custom, local, notices, found);

  root.addEventListener("dragover", (event) => { event.preventDefault(); root.classList.add("over"); });
  root.addEventListener("dragleave", () => root.classList.remove("over"));
  root.addEventListener("drop", (event) => {
    event.preventDefault();
    root.classList.remove("over");
    take(event.dataTransfer.files[0]);
  });

  // The slider over sizes and the file choose the model too.
  const lockAll = () => {
    for (const key of spec.locked) root.querySelectorAll(`[data-key=${key}]`).forEach(lockInput);
    if (spec.locked.includes("model")) [size, pick].forEach(lockInput);
  };

  // An embedded section has the bar in a fold, which says in a line what is inside.
  const fold = document.getElementById("fold");
  const words = (key) => (state.values[key].options.find(([value]) => value === state.values[key].value) || ["", state.values[key].value])[1];
  const sentence = () =>
    `${words("model")} on ${state.values.devices.value} × ${words("device")}, weights ${words("weights")}, cache ${words("cache")}`;
  const paintFold = () => {
    projector?.scenario(sentence());
    if (!fold) return;
    document.getElementById("fold-words").textContent = sentence();
    if (state.notices.length) { fold.hidden = false; fold.open = true; }
  };

  const update = (moved) => {
    const values = state.values;
    for (const [key, value] of Object.entries(moved)) controls.get(key)?.update(value);
    const at = spec.sizes.indexOf(values.model.value);
    if (performance.now() - sizeTouched > 500 || at === Number(size.value)) {
      if (at >= 0) size.value = at;
      size.setAttribute("aria-valuetext", at >= 0 ? spec.sizes[at] : "not a textbook size");
      size.classList.toggle("off", at < 0);
    }
    putCount(values.devices.value);
    custom.hidden = values.device.value !== spec.customName;
    lockAll();
    paintFold();
  };
  const paintNotices = () => {
    notices.replaceChildren(...state.notices.map((text, i) =>
      h("div", { class: "notice" }, h("span", {}, text),
        h("button", { type: "button", "aria-label": "Dismiss", onclick: () => send({ dismiss: i }) }, "×"))));
    paintFold();
    if (state.notices.length) projector?.notice();
  };
  let lastFound = "";
  const paintFound = () => {
    const report = state.found;
    const fresh = JSON.stringify(report);
    if (fresh === lastFound) return;
    lastFound = fresh;
    found.hidden = !report.name;
    if (!report.name) return;
    found.open = true;
    const rows = (pairs) => h("dl", {}, ...pairs.flatMap(([name, value]) => [h("dt", {}, name), h("dd", { class: "num" }, value)]));
    found.replaceChildren(h("summary", {}, `Found in your config.json: ${report.name}`),
      h("div", { class: "columns" },
        h("div", {}, h("b", {}, "What it costs"), rows(report.facts)),
        h("div", {}, h("b", {}, "Keys used"), rows(report.used)),
        h("div", {}, h("b", {}, "Assumed"), report.assumed.length ? h("ul", {}, ...report.assumed.map((text) => h("li", {}, text))) : h("p", {}, "Nothing: the file says it all."))));
  };

  // Sections come when the reader comes near them.
  const near = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      near.unobserve(entry.target);
      send({ near: entry.target.dataset.section });
    }
  }, { rootMargin: "900px" });
  for (const place of document.querySelectorAll("[data-section]")) near.observe(place);

  // The address bar: written when the hand is off the slider, never a history entry.
  let pressed = false;
  let queryTimer = 0;
  const writeQuery = () => {
    clearTimeout(queryTimer);
    if (pressed || inCell) return;
    queryTimer = setTimeout(() => {
      const url = new URL(location.href);
      const keep = ["theme", "section", "embed", "present", "lock", "hide"].filter((name) => url.searchParams.has(name))
        .map((name) => `${name}=${encodeURIComponent(url.searchParams.get(name))}`);
      url.search = [projector?.pinned() ?? state.query, ...keep].filter(Boolean).join("&");
      if (url.href !== location.href) history.replaceState(history.state, "", url);
      const whole = document.getElementById("whole");
      if (whole) whole.href = `?${state.query}`;
    }, 150);
  };
  const release = () => { pressed = false; writeQuery(); };
  const press = () => { pressed = true; };
  addEventListener("pointerdown", press, true);
  addEventListener("pointerup", release, true);
  addEventListener("pointercancel", release, true);
  // The report lies over the text; it folds itself away once the reader goes on reading.
  let openedAt = scrollY;
  const foldAway = () => { if (found.open && Math.abs(scrollY - openedAt) > 240) found.open = false; };
  found.addEventListener("toggle", () => { openedAt = scrollY; });
  addEventListener("scroll", foldAway, { passive: true });
  let known = location.search;
  const back = () => { if (location.search !== known) send({ query: location.search }); known = location.search; };
  if (!inCell) addEventListener("popstate", back);
  const again = () => send({ again: true });
  addEventListener("serving-again", again);

  // On a narrow line it is cut, and the tooltip has it whole.
  const paintSummary = () => { summary.textContent = summary.title = state.summary; };
  const painters = {
    values: update, summary: paintSummary, notices: paintNotices,
    found: paintFound, query: writeQuery, theme: () => showTheme(state.theme),
  };
  model.on("msg:custom", (message) => {
    paced.answered();
    const fresh = message.state || {};
    // Of the values only those that changed are sent.
    Object.assign(state, fresh, { values: { ...state.values, ...fresh.values } });
    for (const [name, part] of Object.entries(fresh)) painters[name](part);
    if (message.answered) update(state.values);
  });
  model.on("remove", () => {
    near.disconnect();
    removeEventListener("pointerdown", press, true);
    removeEventListener("pointerup", release, true);
    removeEventListener("pointercancel", release, true);
    removeEventListener("popstate", back);
    removeEventListener("serving-again", again);
    removeEventListener("scroll", foldAway);
  });
  projector?.bar({
    send, query: () => state.query, flip: () => setTheme(state.theme === "dark" ? "light" : "dark", true),
  });
  update(state.values);
  paintNotices();
  paintFound();
  paintSummary();
  // The page's head has already chosen a theme for this reader; figures follow it.
  if (!inCell) setTheme(document.documentElement.dataset.theme || state.theme, false);
  return root;
}
