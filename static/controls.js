// Small pieces shared by the card and the scenario bar: elements, native controls, pacing.

const h = (tag, attributes = {}, ...children) => {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value == null) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "class") node.className = value;
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child != null));
  return node;
};

let serial = 0;
const freshId = (prefix) => `${prefix}-${++serial}`;

const grouped = (value) =>
  typeof value === "number" ? value.toLocaleString("en", { maximumFractionDigits: 6 }) : String(value);

// The newest state of a component, kept beside its model so that drawing it again starts from it.
const states = (window.__servingStates ||= new WeakMap());
const latestState = (model) => {
  if (!states.has(model.data)) states.set(model.data, { ...model.state });
  return states.get(model.data);
};

const nearest = (stops, value) => {
  let best = 0;
  for (let i = 1; i < stops.length; i++)
    if (Math.abs(stops[i] - value) < Math.abs(stops[best] - value)) best = i;
  return best;
};

// One change is on its way at a time; while it is, only the newest of each input waits. A slow
// server therefore never builds up a queue of positions the slider has already left.
const pacedSender = (send) => {
  let waiting = null;
  let busy = false;
  let timer = 0;
  const flush = () => {
    clearTimeout(timer);
    busy = false;
    if (waiting) {
      const next = waiting;
      waiting = null;
      start(next);
    }
  };
  const start = (values) => {
    busy = true;
    timer = setTimeout(flush, 400);
    send({ set: values });
  };
  return {
    set: (values) => {
      if (busy) waiting = { ...waiting, ...values };
      else start(values);
    },
    answered: flush,
  };
};

// A typed number; anything else goes to the server as it is, which says what is wrong with it.
// Commas may stand between groups of three digits and nowhere else: 1,5 is not 15.
const typedNumber = (text) => {
  const plain = text.replaceAll("\u202f", "");
  const number = Number(/^[+-]?\d{1,3}(,\d{3})+(\.\d*)?$/.test(plain) ? plain.replaceAll(",", "") : plain);
  return plain !== "" && Number.isFinite(number) ? number : text;
};

// What the server says goes into a field, unless the reader is writing in it just then.
const field = (entry) => {
  let writing = false;
  entry.addEventListener("input", () => { writing = true; });
  for (const done of ["change", "blur"]) entry.addEventListener(done, () => { writing = false; });
  return {
    put: (text) => { if (!writing) entry.value = text; },
    takeBack: () => { writing = false; },
  };
};

// A file's text, or null where it is not UTF-8: replacing what is wrong would hide it.
const textOf = async (file) => {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
  } catch {
    return null;
  }
};
const notText = (file) => `“${file.name}” is not UTF-8 text. Unpack it if it is compressed; else save it again with the encoding UTF-8.`;

// A slider that rests on stops, beside a field that takes any exact value.
const sliderControl = (spec, onSet) => {
  const rangeId = freshId("range");
  const named = new Map(spec.words || []);
  const said = (value) => named.get(value) ?? grouped(value);
  const words = (value) => named.get(value) ?? `${grouped(value)}${spec.unit ? " " + spec.unit : ""}`;
  const range = h("input", {
    type: "range", id: rangeId, min: 0, max: spec.stops.length - 1, step: 1, "data-key": spec.key,
  });
  const entry = h("input", {
    type: "text", inputmode: "decimal", autocomplete: "off", class: "entry num",
    "aria-label": `${spec.label}${spec.unit ? ", " + spec.unit : ""}: exact value`, "data-entry": spec.key,
  });
  const { put, takeBack } = field(entry);
  const unit = h("span", { class: "unit" }, spec.unit || "");
  let shown = null;
  let touched = 0;
  const show = (value) => {
    shown = value;
    range.value = nearest(spec.stops, value);
    range.setAttribute("aria-valuetext", words(value));
    put(said(value));
    unit.textContent = named.has(value) ? "" : spec.unit || "";
    entry.style.width = `${Math.max(2, entry.value.length) + 1.2}ch`;
  };
  range.addEventListener("input", () => {
    touched = performance.now();
    const value = spec.stops[Number(range.value)];
    show(value);
    onSet({ [spec.key]: value });
  });
  const typed = () => {
    const text = entry.value.trim();
    const number = typedNumber(text);
    if (text === "" || text === said(shown) || number === shown) return show(shown);
    const word = [...named].find(([, name]) => name.toLowerCase() === text.toLowerCase());
    touched = 0;
    onSet({ [spec.key]: word ? word[0] : number });
  };
  entry.addEventListener("change", typed);
  entry.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    takeBack();
    show(shown);
  });
  let latest = null;
  const update = ({ value }) => {
    latest = value;
    const rest = 500 - (performance.now() - touched);
    if (rest > 0 && value !== shown) setTimeout(() => latest !== shown && rest <= 500 && performance.now() - touched >= 500 && show(latest), rest + 20);
    else show(value);
  };
  const head = h("div", { class: "head" }, h("label", { for: rangeId }, spec.label), h("span", { class: "value" }, entry, unit));
  return { root: h("div", { class: "control", title: spec.hint || null }, head, range), update };
};

// A native select; its choices arrive with the values because they may hang on the scenario.
const choiceControl = (spec, onSet) => {
  const id = freshId("choice");
  const select = h("select", { id, "data-key": spec.key });
  let options = [];
  select.addEventListener("change", () => onSet({ [spec.key]: options[select.selectedIndex].value }));
  const update = (state) => {
    const fresh = state.options || [];
    if (JSON.stringify(fresh) !== JSON.stringify(options.map((o) => [o.value, o.words, o.group]))) {
      options = fresh.map(([value, words, group]) => ({ value, words, group }));
      select.replaceChildren();
      let group = null;
      for (const option of options) {
        if (option.group && (!group || group.label !== option.group)) {
          group = h("optgroup", { label: option.group });
          select.append(group);
        }
        (option.group ? group : select).append(h("option", {}, option.words));
      }
    }
    select.selectedIndex = options.findIndex((option) => option.value === state.value);
    select.disabled = options.length < 2;
  };
  const head = h("div", { class: "head" }, h("label", { for: id }, spec.label));
  return { root: h("div", { class: "control", title: spec.hint || null }, head, select), update, select };
};

// ◀ position ▶, and the arrow keys wherever the group has the focus; beside it what the step says.
const stepperControl = (spec, onSet) => {
  let at = 0;
  let max = 0;
  const go = (to) => {
    const next = Math.min(max, Math.max(0, to));
    if (next === at) return;
    show(next);
    onSet({ [spec.key]: next });
  };
  const button = (words, text, move) =>
    h("button", { type: "button", "aria-label": `${spec.label}: ${words}`, onclick: () => go(move()) }, text);
  const place = h("span", { class: "place num", role: "status" });
  const buttons = [
    button("to the start", "|◀", () => 0), button("one back", "◀", () => at - 1),
    button("one on", "▶", () => at + 1), button("to the end", "▶|", () => max),
  ];
  const group = h("div", { class: "stepper", role: "group", "aria-label": spec.label, tabindex: 0, "data-key": spec.key },
    buttons[0], buttons[1], place, buttons[2], buttons[3]);
  group.addEventListener("keydown", (event) => {
    const move = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: max }[event.key];
    if (move === undefined) return;
    event.preventDefault();
    go(move);
  });
  let touched = 0;
  const show = (value) => {
    at = value;
    touched = performance.now();
    place.textContent = `${at.toLocaleString("en")} of ${max.toLocaleString("en")}`;
    buttons[0].disabled = buttons[1].disabled = at <= 0;
    buttons[2].disabled = buttons[3].disabled = at >= max;
  };
  let latest = 0;
  const said = h("p", { class: "said", role: "status" });
  const update = (state) => {
    max = state.max ?? 0;
    latest = state.value;
    if (said.textContent !== (state.said ?? "")) said.textContent = state.said ?? "";
    const rest = 500 - (performance.now() - touched);
    if (state.value !== at && touched && rest > 0) setTimeout(() => performance.now() - touched >= 500 && show(latest), rest + 20);
    else show(state.value);
  };
  const head = h("div", { class: "head" }, h("span", { class: "name" }, spec.label));
  return { root: h("div", { class: "control", title: spec.hint || null }, head, h("div", { class: "steps" }, group, said)), update };
};

// What to write or drop is read before it is done, so it stands there and is no tooltip.
const hintOf = (spec) => (spec.hint ? h("p", { class: "hint" }, spec.hint) : null);

// A box of text that is applied with a button, so that half a sentence is never sent. A text that
// was refused, or is not applied yet, stays in the box until another one arrives.
const textControl = (spec, onSet) => {
  const id = freshId("text");
  const area = h("textarea", { id, rows: 4, spellcheck: "false", "data-key": spec.key });
  const count = h("span", { class: "unit num" });
  const said = h("span", { class: "unit", role: "status" });
  const characters = (number) => `${number.toLocaleString("en")} characters`;
  const apply = h("button", {
    type: "button",
    onclick: () => {
      const over = area.value.length > spec.limit;
      said.textContent = over ? `This is ${characters(area.value.length)}; at most ${characters(spec.limit)} can be used here.` : "";
      if (!over) onSet({ [spec.key]: area.value });
    },
  }, "Use this text");
  const size = () => (count.textContent = `${area.value.length.toLocaleString("en")} of ${characters(spec.limit)}`);
  area.addEventListener("input", size);
  let latest = null;
  const update = ({ value }) => {
    if (value === latest) return;
    latest = value;
    area.value = value;
    said.textContent = "";
    size();
  };
  const head = h("div", { class: "head" }, h("label", { for: id }, spec.label), count);
  return { root: h("div", { class: "control" }, head, hintOf(spec), area, h("div", { class: "pick" }, apply, said)), update };
};

// A file, chosen or dropped on the control; its size is checked before anything is sent.
const fileControl = (spec, onSet, onFile) => {
  const input = h("input", { type: "file", class: "file", "aria-label": spec.label, tabindex: -1, "data-key": spec.key });
  const said = h("span", { class: "unit", role: "status" });
  const take = async (file) => {
    if (!file) return;
    if (file.size > spec.limit) {
      said.textContent = `“${file.name}” is ${(file.size / 1e6).toFixed(1)} MB; at most ${spec.limit / 1e6} MB can be used here.`;
      return;
    }
    const text = await textOf(file);
    said.textContent = text === null ? notText(file) : "";
    if (text !== null) onFile({ key: spec.key, name: file.name, text });
  };
  input.addEventListener("change", () => { take(input.files[0]); input.value = ""; });
  const pick = h("button", { type: "button", onclick: () => input.click() }, "Choose a file…");
  const root = h("div", { class: "control drop" },
    h("div", { class: "head" }, h("span", { class: "name" }, spec.label)), hintOf(spec), h("div", { class: "pick" }, pick, input, said));
  root.addEventListener("dragover", (event) => { event.preventDefault(); root.classList.add("over"); });
  root.addEventListener("dragleave", () => root.classList.remove("over"));
  root.addEventListener("drop", (event) => {
    event.preventDefault();
    root.classList.remove("over");
    take(event.dataTransfer.files[0]);
  });
  const update = (state) => { if (state.name) said.textContent = state.name; };
  return { root, update };
};

const KINDS = { choice: choiceControl, stepper: stepperControl, text: textControl, file: fileControl };
const makeControl = (spec, onSet, onFile) =>
  (KINDS[spec.kind] || (spec.stops ? sliderControl : choiceControl))(spec, onSet, onFile);

// What the page that embeds a section has locked stays visible and says why it does not move.
const lockInput = (input) => {
  input.disabled = true;
  input.title = "Set by the page that embeds this section";
};

const download = (name, blob) => {
  const link = h("a", { href: URL.createObjectURL(blob), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
};

const copyText = async (text, button) => {
  const said = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Without the clipboard permission (http, an iframe) a selection and the old command still work.
    const area = h("textarea", { style: "position:fixed;opacity:0" });
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  button.textContent = "Copied";
  setTimeout(() => (button.textContent = said), 1500);
};
