"""Slider → paint in a real browser: from the key event to the last affected canvas painted."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from typing import Any

from playwright.sync_api import Page

# Records when each figure was last repainted, and when a key went down.
PROBE = """() => {
  window.__paint = { start: 0, last: {}, views: [] };
  const visit = (view) => {
    if (view.repainted) {
      window.__paint.views.push(view);
      if (!view.__probed) {
        view.__probed = true;
        view.repainted.connect(() => { window.__paint.last[view.model.name] = performance.now(); });
      }
    }
    for (const child of view.children_views ? view.children_views() : []) visit(child);
  };
  for (const root of Bokeh.index.roots || Object.values(Bokeh.index)) visit(root);
  if (window.__pressed) removeEventListener("keydown", window.__pressed, true);
  const press = () => { window.__paint.start = performance.now(); window.__paint.last = {}; };
  window.__pressed = press;
  addEventListener("keydown", press, true);
  return window.__paint.views.map((view) => view.model.name);
}"""

PICTURE = """() => {
  const sum = {};
  for (const view of window.__paint.views) {
    let hash = 0;
    const layer = view.canvas_view.primary.canvas;
    const text = layer.toDataURL();
    for (let i = 0; i < text.length; i += 7) hash = (hash * 31 + text.charCodeAt(i)) | 0;
    sum[view.model.name] = hash;
  }
  return sum;
}"""


def settle(page: Page, quiet_s: float = 0.12, limit_s: float = 3.0) -> dict[str, float]:
    """Wait until no figure has been repainted for a while; name → ms after the key event."""
    deadline = time.monotonic() + limit_s
    while time.monotonic() < deadline:
        state: dict[str, Any] = page.evaluate(
            "() => ({ now: performance.now(), start: __paint.start, last: __paint.last })"
        )
        if state["last"] and state["now"] - max(state["last"].values()) > quiet_s * 1000:
            return {name: at - state["start"] for name, at in state["last"].items()}
        time.sleep(0.02)
    return {}


def measure(page: Page, control: str, changes: int = 55) -> list[float]:
    """Latencies in ms of one-key moves of a slider, to and fro; each must change a picture."""
    slider = page.locator(control).first
    slider.scroll_into_view_if_needed()
    time.sleep(0.6)  # charts that come near are built now
    page.evaluate(PROBE)
    slider.focus()
    keys = ["ArrowRight", "ArrowLeft", "ArrowRight", "ArrowRight", "ArrowLeft", "ArrowLeft"]
    latencies = []
    for i in range(changes):
        before = page.evaluate(PICTURE)
        page.keyboard.press(keys[i % len(keys)])
        repainted = settle(page)
        after = page.evaluate(PICTURE)
        changed = [name for name in repainted if before[name] != after[name]]
        if changed:
            latencies.append(max(repainted[name] for name in changed))
    return latencies


def figures_of(latencies: Sequence[float]) -> str:
    """Median and p95 as the table prints them."""
    if len(latencies) < 2:
        return "too few changes"
    ordered = sorted(latencies)
    p95 = ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))]
    return f"{statistics.median(ordered):.0f} / {p95:.0f} ms over {len(ordered)}"
