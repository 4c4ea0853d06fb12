// How large things are on a projector: the screen is 924 × 520 units (widgets/present.py), charts
// included. `fit` gives a chart the room it has, `showPart` the rows of a tall one that are on, and
// `watch` keeps a chart fitting whatever becomes of its room.
const projected = (() => {
  const unit = () => Math.min(innerWidth / 924, innerHeight / 520);
  const part = (name) => window.Bokeh?.require?.(name) ?? {};
  const measure = Element.prototype.getBoundingClientRect;
  const inUnits = (el) => {
    const box = measure.call(el);
    return new DOMRect(...[box.x, box.y, box.width, box.height].map((px) => Math.round(px / unit())));
  };
  const inChart = (el) => {
    for (let node = el; node; node = node.getRootNode().host) if (node.closest(".canvas")) return true;
    return false;
  };
  // A chart is laid out in units and drawn larger by a transform. Bokeh measures boxes and the
  // pointer in the page's pixels, so these are translated, and its canvases get the finer grid.
  const element = part("models/ui/ui_element").UIElementView?.prototype;
  const measured = element?._update_bbox;
  if (measured)
    element._update_bbox = function () {
      for (const el of [this.el, this.parent?.el])
        if (el && !Object.hasOwn(el, "getBoundingClientRect") && inChart(el)) el.getBoundingClientRect = () => inUnits(el);
      return measured.call(this);
    };
  for (const pointer of [part("core/ui_events").UIEventBus, part("core/ui_gestures").UIGestures])
    if (pointer)
      pointer.prototype._get_sxy = function ({ clientX, clientY }) {
        const { left, top } = measure.call(this.hit_area);
        return { sx: (clientX - left) / unit(), sy: (clientY - top) / unit() };
      };
  // A tooltip lies on the page, outside of its chart: placed in units, it is put where these are.
  const tooltip = part("models/ui/tooltip").TooltipView?.prototype;
  const put = tooltip?._reposition;
  if (put)
    tooltip._reposition = function () {
      const { el, _has_rendered: again } = this;
      el.getBoundingClientRect = () => inUnits(el);
      put.call(this);
      if (!again || !el.isConnected) return;
      this.arrow_el.style.display = "none";
      Object.assign(el.style, { transformOrigin: "0 0", transform: `scale(${unit()})` });
      const { width, height } = measure.call(el);
      const within = (units, room) => `${Math.max(0, Math.min(parseFloat(units) * unit(), room))}px`;
      el.style.left = within(el.style.left, innerWidth - width);
      el.style.top = within(el.style.top, innerHeight - height);
    };
  const grid = Object.getOwnPropertyDescriptor(window, "devicePixelRatio");
  Object.defineProperty(window, "devicePixelRatio", { configurable: true, get: () => grid.get.call(window) * unit() });
  // A tall chart is shown part by part; names of rows outside the part are left out.
  const parted = new WeakMap();
  const labels = part("models/annotations/label_set").LabelSetView?.prototype;
  const write = labels?._paint_text;
  if (write)
    labels._paint_text = function (ctx, i, text, sx, sy, angle) {
      const { top, bottom } = this.plot_view.frame.bbox;
      if (parted.has(this.plot_view.model) && (sy < top || sy > bottom)) return;
      write.call(this, ctx, i, text, sx, sy, angle);
    };

  const fit = (chart) => {
    const plot = chart.plot();
    const box = measure.call(chart.host);
    const [width, height] = [box.width, box.height].map((px) => Math.floor(px / unit()));
    if (!height || chart.figure.hidden) return;
    if (!plot) return void setTimeout(fit, 50, chart);
    // Drawn on whole pixels, or the text of the canvas would be blurred.
    const sharp = grid.get.call(window);
    const whole = (units) => Math.floor(units * devicePixelRatio) / sharp / units;
    const moved = (px) => Math.round(px * sharp) / sharp - px;
    Object.assign(chart.host.firstElementChild.style, {
      width: `${width}px`, transformOrigin: "0 0",
      transform: `translate(${moved(box.left)}px, ${moved(box.top)}px) scale(${whole(width)}, ${whole(height)})`,
    });
    if (plot.model.height !== height) plot.model.setv({ height }, { sync: false });
  };
  // Of a chart that is taller than a screen, the rows of one part; its axes stay.
  const showPart = (chart, at, parts) => {
    const plot = chart.plot();
    if (!plot) return void setTimeout(showPart, 50, chart, at, parts);
    const range = plot.model.y_range;
    if (!parted.has(plot.model)) parted.set(plot.model, [range.end, range.start]);
    const [top, bottom] = parted.get(plot.model);
    const cut = (share) => (share % 1 === 0 ? top + (bottom - top) * share : Math.round(top + (bottom - top) * share) + 0.5);
    range.setv({ end: cut(at / parts), start: cut((at + 1) / parts) }, { sync: false });
  };
  const sizes = new ResizeObserver((entries) => {
    for (const { target } of entries) fit(charts.get(target));
  });
  const charts = new Map();
  const resize = () => {
    for (const chart of charts.values()) {
      // The same units at another size: only a new layout makes Bokeh take the finer grid.
      const model = chart.plot()?.model;
      if (model) model.setv({ height: model.height - 1 }, { sync: false });
      requestAnimationFrame(() => fit(chart));
    }
  };
  addEventListener("resize", resize);
  const watch = (chart) => {
    charts.set(chart.host, chart);
    sizes.observe(chart.host);
  };
  return { fit, showPart, watch, resize };
})();
