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

// A slider that rests on stops, beside a field that takes any exact value.
const sliderControl = (spec, onSet) => {
  const rangeId = freshId("range");
  const words = (value) => `${grouped(value)}${spec.unit ? " " + spec.unit : ""}`;
  const range = h("input", {
    type: "range", id: rangeId, min: 0, max: spec.stops.length - 1, step: 1, "data-key": spec.key,
  });
  const entry = h("input", {
    type: "text", inputmode: "decimal", autocomplete: "off", class: "entry num",
    "aria-label": `${spec.label}${spec.unit ? ", " + spec.unit : ""}: exact value`, "data-entry": spec.key,
  });
  const unit = h("span", { class: "unit" }, spec.unit || "");
  let shown = null;
  let touched = 0;
  const show = (value) => {
    shown = value;
    range.value = nearest(spec.stops, value);
    range.setAttribute("aria-valuetext", words(value));
    entry.value = grouped(value);
    entry.style.width = `${Math.max(2, entry.value.length) + 1.2}ch`;
  };
  range.addEventListener("input", () => {
    touched = performance.now();
    const value = spec.stops[Number(range.value)];
    show(value);
    onSet({ [spec.key]: value });
  });
  const typed = () => {
    const text = entry.value.trim().replaceAll(",", "").replaceAll("\u202f", "");
    if (text === "" || text === grouped(shown).replaceAll(",", "")) return show(shown);
    const number = Number(text);
    touched = 0;
    onSet({ [spec.key]: Number.isFinite(number) ? number : entry.value.trim() });
  };
  entry.addEventListener("change", typed);
  entry.addEventListener("keydown", (event) => {
    if (event.key === "Escape") show(shown);
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

const makeControl = (spec, onSet) => (spec.stops ? sliderControl(spec, onSet) : choiceControl(spec, onSet));

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
