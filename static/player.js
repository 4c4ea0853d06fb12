
// One text played back in lanes: each lane has its own moments for the same pieces. Nothing moves
// before the reader presses Start; where the reader wants no motion, the button steps from one
// moment to the next instead. `update` takes { title, count, lanes: [{ label, first_s, gap_s, marks }] };
// a lane shows piece i at first_s + i · gap_s, and a mark [at_s, words] once its moment has passed.
const makePlayer = (pieces) => {
  const calm = matchMedia("(prefers-reduced-motion: reduce)");
  const title = h("h3");
  const go = h("button", { type: "button", class: "go" });
  const again = h("button", { type: "button", onclick: () => { stop(""); seek(0); } }, "Restart");
  const clock = h("span", { class: "clock num" });
  const said = h("span", { class: "said-now", role: "status" });
  const stage = h("div", { class: "lanes" });
  const root = h("div", { class: "player", role: "group" }, title,
    h("div", { class: "buttons" }, go, again, clock, said), stage);
  let spec = null;
  let lanes = [];
  let moments = [];
  let end = 0;
  let at = 0;
  let frame = 0;
  let last = 0;

  const seconds = (time) => `${time.toFixed(time < 100 ? 1 : 0)} s`;
  const made = (lane, time) => {
    if (time < lane.first_s - 1e-9) return 0;
    return lane.gap_s ? Math.min(spec.count, Math.floor((time - lane.first_s) / lane.gap_s + 1e-6) + 1) : spec.count;
  };
  const makeLane = (lane) => {
    const text = document.createTextNode("");
    const box = h("div", { class: "text", tabindex: 0, role: "group", "aria-label": lane.label }, text);
    const fill = h("div", { class: "fill" });
    const ticks = lane.marks.map(([time]) => h("i", { style: `left: ${end ? (100 * time) / end : 0}%` }));
    const marks = lane.marks.map(([time, words]) => ({ time, item: h("li", {}, words) }));
    stage.append(h("div", { class: "lane" }, h("h4", {}, lane.label), box,
      h("div", { class: "track", "aria-hidden": "true" }, fill, ...ticks),
      h("ul", { class: "marks" }, ...marks.map((mark) => mark.item))));
    return { lane, text, box, fill, marks, shown: 0 };
  };
  const paint = () => {
    clock.textContent = `${seconds(at)} of ${seconds(end)}`;
    for (const part of lanes) {
      const count = made(part.lane, at);
      if (count < part.shown) {
        part.text.data = "";
        part.shown = 0;
      }
      if (count > part.shown) {
        part.text.appendData(pieces.slice(part.shown, count).join(""));
        part.shown = count;
        part.box.scrollTop = part.box.scrollHeight;
      }
      part.fill.style.width = `${end ? (100 * at) / end : 0}%`;
      for (const mark of part.marks) mark.item.classList.toggle("passed", at >= mark.time - 1e-9);
    }
  };
  const label = () => {
    go.textContent = calm.matches ? "Next moment" : frame ? "Pause" : at > 0 && at < end ? "Go on" : "Start";
    go.disabled = calm.matches && at >= end;
  };
  const seek = (time) => { at = time; paint(); label(); };
  const stop = (words) => {
    cancelAnimationFrame(frame);
    frame = 0;
    said.textContent = words;
    label();
  };
  const tick = (now) => {
    at = Math.min(end, at + (now - last) / 1000);
    last = now;
    paint();
    if (at < end) frame = requestAnimationFrame(tick);
    else stop("Finished");
  };
  go.addEventListener("click", () => {
    if (calm.matches) {
      const next = moments.find((moment) => moment > at + 1e-9);
      if (next !== undefined) seek(next);
      said.textContent = `${seconds(at)}: ${lanes.map((part) => `${part.lane.label}, ${part.shown.toLocaleString("en")} of ${spec.count.toLocaleString("en")}`).join("; ")}`;
    } else if (frame) {
      stop(`Paused at ${seconds(at)}`);
    } else {
      if (at >= end) seek(0);
      last = performance.now();
      frame = requestAnimationFrame(tick);
      said.textContent = "Running";
      label();
    }
  });
  const away = () => document.hidden && frame && stop(`Paused at ${seconds(at)}`);
  const recalm = () => stop("");
  document.addEventListener("visibilitychange", away);
  calm.addEventListener("change", recalm);

  return {
    root,
    update: (fresh) => {
      spec = fresh;
      title.textContent = spec.title;
      root.setAttribute("aria-label", spec.title);
      end = Math.max(...spec.lanes.map((lane) => lane.first_s + (spec.count - 1) * lane.gap_s));
      const marked = spec.lanes.flatMap((lane) => lane.marks.map(([time]) => time));
      const tenths = Array.from({ length: 11 }, (_, i) => (i * end) / 10);
      moments = [...new Set([...marked, ...tenths])].sort((a, b) => a - b);
      stage.replaceChildren();
      lanes = spec.lanes.map(makeLane);
      stop("");
      seek(0);
    },
    remove: () => {
      stop("");
      document.removeEventListener("visibilitychange", away);
      calm.removeEventListener("change", recalm);
    },
  };
};
