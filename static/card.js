
function renderCard({ model, el, view }) {
  const spec = { ...model.spec, ...window.servingStandIn };
  const state = latestState(model);
  const send = (message) => model.send_msg(message);
  const paced = pacedSender(send);
  const memory = `revealed:${spec.slug}`;
  const recall = () => { try { return sessionStorage.getItem(memory); } catch { return null; } };
  const remember = (text) => { try { sessionStorage.setItem(memory, text); } catch { /* private mode */ } };

  // Prediction: what it asks for stays covered until the reader answers or passes.
  const hides = (part) => (spec.hidden || []).includes(part);
  // On a projector the question stays on its screen, and nothing is remembered: the next lecture
  // begins covered.
  const presenting = spec.mode === "present";
  let told = false;
  const covered = new Set(hides("prediction") ? [] : spec.prediction.covers);
  const question = h("span", {}, h("b", {}, "Before you look: "), spec.prediction.question);
  const verdict = h("span", { class: "verdict", role: "status" });
  const answers = h("span", { class: "answers" },
    ...spec.prediction.options.map((option) =>
      h("button", { type: "button", onclick: () => send({ answer: option }) }, option)),
    h("button", { type: "button", class: "quiet", onclick: () => send({ answer: null }) }, "just show me"));
  const predict = h("div", { class: "predict" }, question, answers, verdict);
  const reveal = (text) => {
    covered.clear();
    root.querySelectorAll(".cover").forEach((cover) => cover.remove());
    root.querySelectorAll(".covered").forEach((part) => {
      part.classList.remove("covered");
      part.removeAttribute("inert");
    });
    told = true;
    verdict.textContent = text;
    if (presenting) {
      for (const option of answers.children) option.disabled = true;
      root.classList.add("told");
    } else {
      answers.remove();
      question.remove();
      remember(text);
    }
    paint();
  };

  // Controls.
  const problem = h("p", { class: "problem", role: "alert", hidden: true });
  const controls = new Map();
  const front = h("div", { class: "controls" });
  const folded = h("div", { class: "controls" });
  const beside = h("div", { class: "controls beside", hidden: true });
  for (const control of spec.controls) {
    const made = makeControl(control, (values) => paced.set(values), (file) => send({ file }));
    if (control.wide) made.root.classList.add("wide");
    controls.set(control.key, made);
    (control.with_strips ? beside : control.more ? folded : front).append(made.root);
  }
  const more = folded.childElementCount ? h("details", { class: "more" }, h("summary", {}, "More controls"), folded) : null;
  const presets = spec.presets.length && !hides("presets")
    ? h("div", { class: "presets", role: "group", "aria-label": "Presets" }, "Presets:",
        ...spec.presets.map((name) => h("button", { type: "button", onclick: () => send({ preset: name }) }, name)))
    : null;

  // Charts.
  const hosts = new Map();
  const sentences = new Map();
  const openTables = new Map();
  const figures = spec.charts.map((chart) => {
    const sentence = h("p", { class: "sentence", id: freshId("sentence") });
    const host = h("div", { class: "canvas", style: presenting || chart.height === 300 ? null : `min-height: ${chart.height}px` });
    const table = h("div", { class: chart.open_table ? "table long" : "table", tabindex: 0, role: "region", "aria-label": `Data of “${chart.title}”` });
    const data = h("details", {
      class: "data",
      open: chart.open_table,
      ontoggle: () => {
        if (!data.open) return openTables.delete(chart.name);
        openTables.set(chart.name, table);
        send({ table: chart.name });
      },
    }, h("summary", {}, "Data table"), table);
    const tools = h("div", { class: "chart-tools" }, data,
      h("button", { type: "button", onclick: () => send({ csv: chart.name }) }, "CSV"),
      h("button", { type: "button", onclick: () => savePng(chart) }, "PNG"));
    const frame = h("div", { class: "frame" }, host, sentence);
    if (covered.has(chart.name)) {
      frame.classList.add("covered");
      frame.setAttribute("inert", "");
    }
    hosts.set(chart.name, host);
    sentences.set(chart.name, sentence);
    return h("figure", { class: chart.wide ? "wide" : null, role: "group", "aria-label": chart.title, "aria-describedby": sentence.id },
      h("h3", {}, chart.title),
      h("div", { class: "stack" }, frame, covered.has(chart.name) ? h("div", { class: "cover" }, "Covered until you have made your prediction") : null),
      h("figcaption", {}, chart.caption), tools);
  });
  const mountCharts = () => {
    const elements = model.get_child("charts") || [];
    spec.charts.forEach((chart, i) => {
      if (elements[i] && hosts.get(chart.name).firstChild !== elements[i])
        hosts.get(chart.name).replaceChildren(elements[i]);
    });
  };
  const savePng = (chart) => {
    const box = view.get_child_view(model.charts[spec.charts.indexOf(chart)]);
    const plot = box && box.child_views[0];
    if (!plot) return;
    const layer = plot.export("png", true);
    const drawn = layer.canvas;
    const scale = window.devicePixelRatio || 1;
    const sheet = document.createElement("canvas");
    sheet.width = drawn.width;
    sheet.height = drawn.height + 34 * scale;
    const pen = sheet.getContext("2d");
    const style = getComputedStyle(root);
    pen.fillStyle = style.getPropertyValue("--card");
    pen.fillRect(0, 0, sheet.width, sheet.height);
    pen.fillStyle = style.getPropertyValue("--ink");
    pen.font = `600 ${15 * scale}px system-ui, sans-serif`;
    pen.fillText(chart.title, 12 * scale, 23 * scale);
    pen.drawImage(drawn, 0, 34 * scale);
    sheet.toBlob((blob) => download(`${spec.slug}-${chart.name}.png`, blob), "image/png");
  };

  // Work that takes a while: a bar, what it is, and a way out.
  const bar = h("progress", { max: 1, value: 0, "aria-label": "Progress" });
  const doing = h("span", { role: "status" });
  const progress = h("div", { class: "progress", hidden: true }, doing, bar,
    h("button", { type: "button", onclick: () => send({ cancel: true }) }, "Cancel"));
  // Work that is done in a blink shows no bar: it would only push the charts down and up again.
  let barTimer = 0;
  const paintProgress = () => {
    const { fraction, text } = state.progress;
    bar.value = fraction || 0;
    if (text === undefined) {
      clearTimeout(barTimer);
      barTimer = 0;
      progress.hidden = true;
      return;
    }
    setText(doing, text);
    barTimer ||= setTimeout(() => { progress.hidden = false; }, 300);
  };

  // Rows of small texts, such as tokens.
  const strips = h("div", { class: "strips" });
  const MARKS = { kept: "", struck: "struck: ", corrected: "corrected: ", prompt: "prompt: ", now: "now: " };
  let lastStrips = "[]";
  const paintStrips = (rows) => {
    const fresh = JSON.stringify(rows);
    if (fresh === lastStrips) return;
    lastStrips = fresh;
    beside.hidden = !rows.length;
    // What stays is left alone: a hundred new nodes would be styled anew before the charts are painted.
    while (strips.children.length > rows.length) strips.lastChild.remove();
    rows.forEach((row, i) => {
      const strip = strips.children[i] ?? strips.appendChild(
        h("div", { class: "strip", role: "group" }, h("span", { class: "name" }), h("span", { class: "items", tabindex: 0 })));
      const [name, items] = strip.children;
      strip.setAttribute("aria-label", row.label);
      setText(name, row.label);
      while (items.children.length > row.items.length) items.lastChild.remove();
      row.items.forEach(([text, kind], j) => {
        const item = items.children[j] ?? items.appendChild(h("span"));
        setText(item, text);
        if (item.className !== `item ${kind}`) item.className = `item ${kind}`;
        const title = `${MARKS[kind] ?? ""}${text}`;
        if (item.title !== title) item.title = title;
      });
    });
  };

  // Summary, readouts and their arithmetic.
  const summary = h("p", { class: "summary", role: "status" });
  const notes = h("ul", { class: "notes" });
  const readouts = h("div", { class: "readouts" });
  const all = h("button", {
    type: "button", class: "all-numbers", "aria-expanded": false,
    onclick: () => all.setAttribute("aria-expanded", readouts.classList.toggle("all")),
  }, "All numbers");
  const arithmetic = h("div", { class: "arithmetic", hidden: true });
  const cells = new Map();
  let open = null;
  const toggle = (key) => {
    open = open === key ? null : key;
    for (const [other, cell] of cells) cell.button.setAttribute("aria-expanded", other === open);
    send({ open: open ? [open] : [] });
    if (!open) arithmetic.hidden = true;
  };
  const paintReadouts = (result) => {
    for (const readout of result.readouts) {
      let cell = cells.get(readout.key);
      if (!cell) {
        const label = h("small");
        const number = h("strong", { class: "num" });
        const unit = h("em");
        const button = h("button", {
          type: "button", class: "readout", "data-readout": readout.key, "aria-expanded": false,
          title: "Show the arithmetic", onclick: () => toggle(readout.key),
        }, label, h("span", {}, number, " ", unit), h("span", { class: "how" }, "show the arithmetic"));
        cell = { label, number, unit, button };
        cells.set(readout.key, cell);
        readouts.append(button);
      }
      const hidden = covered.has(readout.key);
      cell.button.disabled = hidden;
      setText(cell.label, readout.label);
      setText(cell.number, hidden ? "?" : readout.number);
      setText(cell.unit, hidden ? "" : readout.unit);
      cell.number.dataset.role = readout.role;
    }
  };
  const setText = (node, text) => { if (node.textContent !== text) node.textContent = text; };
  const paintArithmetic = (result) => {
    const steps = open && result.arithmetic[open];
    arithmetic.hidden = !steps;
    if (!steps) return;
    const label = result.readouts.find((readout) => readout.key === open).label;
    arithmetic.replaceChildren(h("h3", {}, `Show the arithmetic: ${label}`),
      ...steps.map((step) => {
        const line = h("div", { class: "step" });
        line.append(h("span", { class: "name" }, step.name));
        const maths = h("div", { class: "maths", tabindex: 0, role: "group", "aria-label": step.name });
        // Built by our own derivations from numbers and fixed symbols; texts in it are escaped.
        maths.innerHTML = step.formula + " " + step.substituted;
        line.append(maths);
        return line;
      }));
  };
  const paint = () => {
    const result = state.result;
    setText(summary, covered.size && spec.prediction.covers.includes("summary") ? "" : result.summary);
    for (const [name, sentence] of sentences) setText(sentence, result.sentences[name] || "");
    notes.replaceChildren(...result.notes.map((note) => h("li", {}, note)));
    notes.hidden = !result.notes.length;
    paintReadouts(result);
    paintArithmetic(result);
    paintStrips(result.strips);
    refreshTables();
  };
  let tableTimer = 0;
  const refreshTables = () => {
    clearTimeout(tableTimer);
    tableTimer = setTimeout(() => { for (const name of openTables.keys()) send({ table: name }); }, 250);
  };

  // Tools.
  const code = h("pre", { class: "code", tabindex: 0, "aria-label": "Python that prints these numbers" });
  const copyCode = h("button", { type: "button", onclick: () => copyText(code.textContent, copyCode) }, "Copy");
  const python = h("details", {
    class: "python", ontoggle: () => python.open && send({ snippet: true }),
  }, h("summary", {}, "Reproduce in Python"), code, copyCode);
  const link = h("button", { type: "button", onclick: () => copyText(`${location.href.split("#")[0]}#${spec.slug}`, link) }, "Copy link");
  const assumptions = h("details", { class: "assumptions" }, h("summary", {}, "Assumptions"),
    h("ul", {}, ...spec.assumptions.map((text) => h("li", {}, text))));
  const embedding = makeEmbedding(spec, () => send({ embed: true }), () => root);
  const quiet = hides("tools");
  const addressed = !quiet && spec.mode !== "cell";
  const tools = h("div", { class: "tools" }, presets, h("span", { class: "grow" }), addressed ? link : null, addressed ? embedding.button : null);

  // A text played in real time, for the section that has one.
  const player = spec.pieces.length ? makePlayer(spec.pieces) : null;
  const played = player && h("div", { class: "stack" }, player.root);
  if (player && covered.has("player")) {
    player.root.classList.add("covered");
    player.root.setAttribute("inert", "");
    played.append(h("div", { class: "cover" }, "Covered until you have made your prediction"));
  }
  const paintPlayer = () => { if (player && state.player.lanes) player.update(state.player); };

  const later = presenting ? [] : figures.filter((_, i) => spec.charts[i].below);
  const root = h("div", { class: presenting ? "widget present" : "widget" }, hides("prediction") ? null : predict, front, more, problem, progress,
    h("div", { class: "charts" }, ...figures.filter((figure) => !later.includes(figure))), played, beside, strips, summary, notes,
    readouts, all, arithmetic, later.length ? h("div", { class: "charts below" }, ...later) : null, assumptions,
    quiet ? null : python, presets || addressed ? tools : null, addressed ? embedding.root : null);

  const update = (values) => {
    for (const [key, value] of Object.entries(values)) controls.get(key)?.update(value);
    for (const key of spec.locked || [])
      for (const part of root.querySelectorAll(`[data-key=${key}], [data-entry=${key}]`))
        [part, ...part.querySelectorAll("button")].forEach(lockInput);
  };
  model.on("msg:custom", (message) => {
    if (message.state) {
      // Of the values only those that changed are sent.
      Object.assign(state, message.state, { values: { ...state.values, ...message.state.values } });
      paced.answered();
      problem.hidden = true;
      if (message.state.values) update(message.state.values);
      if (message.state.result) paint();
      if (message.state.progress) paintProgress();
      if (message.state.player) paintPlayer();
    }
    if (message.problem) {
      paced.answered();
      problem.textContent = message.problem;
      problem.hidden = false;
      update(message.values);
    }
    if (message.verdict) reveal(message.verdict);
    if (message.embed !== undefined) embedding.show(message.embed);
    if (message.snippet) code.textContent = message.snippet;
    if (message.csv) download(message.csv, new Blob([message.text], { type: "text/csv" }));
    if (message.rows && openTables.has(message.table)) {
      openTables.get(message.table).replaceChildren(
        h("table", {}, h("thead", {}, h("tr", {}, ...message.columns.map((name, i) => h("th", { scope: "col", class: message.texts[i] ? "text" : null }, name)))),
          h("tbody", {}, ...message.rows.map((row) => h("tr", {}, ...row.map((cell, i) => h("td", { class: message.texts[i] ? "text" : null }, cell)))))));
    }
  });
  update(state.values);
  paint();
  paintProgress();
  paintPlayer();
  mountCharts();
  if (recall() && !presenting && !hides("prediction")) send({ answer: null });
  if (presenting)
    window.serving.present.card({
      spec, root, send, told: () => told, stripped: () => state.result.strips.length > 0, player: player?.root,
      charts: spec.charts.map((chart, i) => ({
        ...chart, figure: figures[i], host: hosts.get(chart.name),
        plot: () => view.get_child_view(model.charts[i])?.child_views[0],
      })),
      // Closes the arithmetic; says whether there was any to close.
      fold: () => { const was = open !== null; if (was) toggle(open); return was; },
    });

  // The card follows the scenario while any of it is in sight or about to be, and catches up when
  // it is again.
  const seen = new IntersectionObserver(
    (entries) => send({ visible: entries[entries.length - 1].isIntersecting }), { rootMargin: "120px" });
  seen.observe(root);
  model.on("remove", () => { seen.disconnect(); player?.remove(); });
  return root;
}
