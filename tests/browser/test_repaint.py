"""What a repaint may not do: the page's changes to Bokeh, held against the installed Bokeh."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.browser.conftest import Watched, bring, wait_until

Open = Callable[..., Watched]

# From here on every change of a style sheet inside a chart, and every property that is asked of a
# computed style, is counted.
COUNT = """() => {
  const seen = window.__seen = { sheets: [], properties: 0, repaints: 0 };
  const watch = new MutationObserver((changes) => {
    const sheets = changes.map(({ target }) => target).filter((el) => el.closest?.("style"));
    seen.sheets.push(...sheets.map((el) => el.textContent));
  });
  const visit = (view) => {
    const all = { childList: true, characterData: true, subtree: true };
    if (view.shadow_el) watch.observe(view.shadow_el, all);
    view.repainted?.connect(() => { seen.repaints += 1; });
    for (const child of view.children_views?.() ?? []) visit(child);
  };
  for (const root of Bokeh.index.roots) visit(root);
  const ask = CSSStyleDeclaration.prototype.getPropertyValue;
  CSSStyleDeclaration.prototype.getPropertyValue = function (name) {
    if (name.startsWith("--")) seen.properties += 1;
    return ask.call(this, name);
  };
}"""


@pytest.mark.parametrize(
    ("slug", "key"), [("prefill-decode", "batch"), ("memory", "tokens"), ("speculation", "gamma")]
)
def test_a_repaint_leaves_style_sheets_as_they_are(open_page: Open, slug: str, key: str) -> None:
    page = open_page().page
    card = bring(page, slug)
    slider = card.locator(f"input[data-key={key}]").first
    slider.focus()
    slider.press("ArrowRight")
    page.wait_for_timeout(800)
    page.evaluate(COUNT)
    for _ in range(3):
        slider.press("ArrowRight")
        page.wait_for_timeout(150)
    wait_until(page, "__seen.repaints >= 3")
    assert page.evaluate("() => __seen.sheets") == []
    assert page.evaluate("() => __seen.properties") == 0
