"""The static site: its size, its first paint, how long until it is live, and slider → paint."""

from __future__ import annotations

import functools
import http.server
import statistics
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page

from tests.bench import paint
from tests.bench.bench_page import browser
from tests.browser.conftest import DESKTOP, ROOT, bring, wait_until
from widgets.site.build import Folder, build

SLIDERS = (
    ("prefill-decode", "batch"),
    ("memory", "tokens"),
    ("continuous-batching", "slots"),
    ("scheduling", "decoding"),
    ("speculation", "gamma"),
)
LIVE = "performance.getEntriesByName('serving-live').length"


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Hands out files and says nothing."""

    def log_message(self, *_: object) -> None:
        """Nothing."""


@contextmanager
def hosted(folder: Path) -> Iterator[str]:
    """The folder on a host of its own."""
    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as host:
        threading.Thread(target=host.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{host.server_address[1]}/"
        host.shutdown()


def starts(chromium: Browser, url: str, runs: int = 5) -> dict[str, list[float]]:
    """Seconds to the first contentful paint and to live controls, each time with an empty cache."""
    taken: dict[str, list[float]] = {"paint": [], "live": []}
    for _ in range(runs):
        context = chromium.new_context(viewport=DESKTOP)
        page = context.new_page()
        page.goto(url, wait_until="commit")
        wait_until(page, LIVE, 120)
        for key, name in (("paint", "first-contentful-paint"), ("live", "serving-live")):
            at = page.evaluate(f"() => performance.getEntriesByName('{name}')[0].startTime / 1000")
            taken[key].append(at)
        context.close()
    return taken


def open_live(chromium: Browser, url: str) -> Page:
    """The page, live, with the predictions of the measured sections passed."""
    page = chromium.new_page(viewport=DESKTOP)
    page.goto(url)
    wait_until(page, LIVE, 120)
    for slug, _ in SLIDERS:
        bring(page, slug).get_by_role("button", name="just show me").click()
        page.wait_for_timeout(1500)
    return page


def rows() -> Iterator[tuple[str, str, str]]:
    """Sizes with and without Pyodide, then times of the one that has it."""
    cache = ROOT / ".cache" / "site"
    with tempfile.TemporaryDirectory() as temporary:
        for offline in (False, True):
            folder = Path(temporary) / str(offline)
            build(folder, cache, offline=offline)
            raw, packed = Folder(folder).sizes()
            what = (
                "static site, Pyodide included" if offline else "static site, Pyodide from its CDN"
            )
            yield what, f"{raw / 1e6:.1f} MB, {packed / 1e6:.1f} MB gzipped", ""
        with hosted(folder) as url, browser() as chromium:
            taken = starts(chromium, url)
            for key, what, target in (
                ("paint", "static site, first contentful paint", "≤ 0.8 s"),
                ("live", "static site, controls live", "≤ 8 s"),
            ):
                low, high = statistics.median(taken[key]), max(taken[key])
                yield what, f"{low:.2f} s median, {high:.2f} s worst", target
            page = open_live(chromium, url)
            for slug, key in SLIDERS:
                latencies = paint.measure(page, f"#{slug} input[data-key={key}]")
                yield f"static slider → paint, {slug} {key}", paint.figures_of(latencies), "≤ 80 ms"


if __name__ == "__main__":
    for row in rows():
        print(*row, sep=" | ", flush=True)
