// What charts here do otherwise than Bokeh: repaints settle no styles in between, and labels that
// may move keep inside the chart and clear of one another. tests/browser hold it against Bokeh.
(() => {
  // At each repaint Bokeh asks the style sheet for some 300 custom properties a figure, and writes
  // the style sheet of every glyph anew, changed or not: the browser settles its styles again and
  // again in between. No chart here is styled by properties, and the same text changes nothing.
  // Each glyph also has an empty element behind the canvas that Bokeh keeps over what is drawn;
  // nothing here hangs on it, so it is taken out of the layout.
  const part = (name) => window.Bokeh?.require?.(name) ?? {};
  const visual = part("core/visuals/visual").VisualProperties?.prototype;
  if (visual) visual._get_css_value = () => "";
  const sheet = part("core/dom").InlineStyleSheet?.prototype;
  const write = sheet?._update;
  if (write) sheet._update = function (css) { if (this.el.textContent !== css) write.call(this, css); };
  const glyphs = part("models/renderers/glyph_renderer").GlyphRendererView?.prototype;
  if (glyphs) glyphs.update_position = function () { this.position.replace(":host { display: none; }"); };

  // A free label (figures.py) is moved along the axis into the chart, and then up or down by as
  // little as sets it apart from those before it. Labels of rows and tiles stay where they are.
  const plot = part("models/plots/plot_canvas").PlotView?.prototype;
  const labels = part("models/annotations/label_set").LabelSetView?.prototype;
  const TextBox = part("core/graphics").TextBox;
  const primary = plot?._paint_primary;
  const put = labels?._paint_text;
  if (primary && put && TextBox) {
    plot._paint_primary = function (ctx) {
      this.servingLabels = [];
      primary.call(this, ctx);
    };
    const SHIFTS = Array.from({ length: 49 }, (_, i) => (i % 2 ? 1 : -1) * Math.ceil(i / 2) * 2);
    const meet = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
    const boxOf = (view, i, text, sx, sy, angle) => {
      const box = new TextBox({ text });
      box.angle = angle;
      box.position = { sx, sy };
      box.visuals = view.visuals.text.values(i);
      const { p0, p1, p2, p3 } = box.rect();
      const [xs, ys] = [[p0.x, p1.x, p2.x, p3.x], [p0.y, p1.y, p2.y, p3.y]];
      return { left: Math.min(...xs), right: Math.max(...xs), top: Math.min(...ys), bottom: Math.max(...ys) };
    };
    const moved = ({ left, right, top, bottom }, dx, dy) => ({ left: left + dx, right: right + dx, top: top + dy, bottom: bottom + dy });
    const into = (low, high, least, most) => Math.max(least - low, Math.min(0, most - high));
    labels._paint_text = function (ctx, i, text, sx, sy, angle) {
      if (!text || !this.model.tags.includes("free")) return put.call(this, ctx, i, text, sx, sy, angle);
      const { frame, servingLabels: others } = this.plot_view;
      const { left, right, top, bottom } = frame.bbox; // what lies beyond is cut off
      const asked = boxOf(this, i, text, sx, sy, angle);
      const dx = into(asked.left, asked.right, left + 1, right - 1);
      const inside = (dy) => asked.top + dy >= top && asked.bottom + dy <= bottom - 1;
      const start = into(asked.top, asked.bottom, top, bottom - 1);
      const apart = (dy) => inside(dy) && !others.some((other) => meet(moved(asked, dx, dy), other));
      const dy = SHIFTS.map((shift) => start + shift).find(apart) ?? start;
      others.push(moved(asked, dx, dy));
      put.call(this, ctx, i, text, sx + dx, sy + dy, angle);
    };
  }
})();
