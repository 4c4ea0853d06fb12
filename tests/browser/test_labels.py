"""Labels in charts: none is cut off, and none lies on another, whatever is chosen."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.browser.conftest import Watched, bring

Open = Callable[..., Watched]

# Each chart's free labels, as pixels of its canvas, and the frame that they must keep to.
LABELS = """(slug) => {
  const found = {};
  const visit = (view) => {
    if (view.servingLabels) {
      const { left, right, top, bottom } = view.frame.bbox;
      found[view.model.name] = { labels: view.servingLabels, frame: { left, right, top, bottom } };
    }
    for (const child of view.children_views?.() ?? []) visit(child);
  };
  for (const root of Bokeh.index.roots) if (root.el.closest("section")?.id === slug) visit(root);
  return found;
}"""


@pytest.mark.parametrize(
    ("slug", "query", "preset", "phone"),
    [
        ("prefill-decode", "", "one user", False),
        ("prefill-decode", "", "short context", True),
        ("prefill-decode", "", "long context", False),
        ("memory", "tokens=1", "", False),
        ("scheduling", "budget=64", "", True),
        ("scheduling", "arrivals=1000&load_requests=10", "", False),
        ("speculation", "", "big batch", False),
        ("speculation", "", "big batch", True),
        ("caveats", "", "", False),
    ],
)
def test_labels_keep_inside_and_apart(
    open_page: Open, slug: str, query: str, preset: str, phone: bool
) -> None:
    page = open_page(f"?{query}", phone=phone).page
    card = bring(page, slug)
    card.get_by_role("button", name="just show me").click()
    if preset:
        card.get_by_role("button", name=preset, exact=True).click()
    page.wait_for_timeout(2_000)
    charts = page.evaluate(LABELS, slug)
    assert sum(len(chart["labels"]) for chart in charts.values()) >= 3
    for name, chart in charts.items():
        frame, labels = chart["frame"], chart["labels"]
        for label in labels:
            assert frame["left"] <= label["left"], name
            assert label["right"] <= frame["right"], name
            assert frame["top"] <= label["top"], name
            assert label["bottom"] <= frame["bottom"], name
        for i, one in enumerate(labels):
            for other in labels[:i]:
                apart = (
                    one["right"] <= other["left"]
                    or other["right"] <= one["left"]
                    or one["bottom"] <= other["top"]
                    or other["bottom"] <= one["top"]
                )
                assert apart, name
