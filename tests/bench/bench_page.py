"""The page in a real browser: first paint, first live chart, weight, slider → paint."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from tests.bench import paint
from tests.browser.conftest import (
    DESKTOP,
    FLAGS,
    ROOT,
    bring,
    free_port,
    running,
    wait_live,
    wait_until,
)
from tests.browser.find_chromium import find

PLAIN = Path(__file__).parent / "plain_app.py"
SLIDERS = (
    ("prefill-decode", "batch"),
    ("prefill-decode", "context"),
    ("prefill-decode", "prompt"),
    ("memory", "tokens"),
    ("memory", "devices"),
)
TARGET = "≤ 33 / 60 ms"


@contextmanager
def browser() -> Iterator[Browser]:
    """A headless Chromium."""
    path = find()
    if path is None:
        raise SystemExit("no Chromium; run `make test` once, which installs one")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield chromium
        chromium.close()


def first_load(chromium: Browser, url: str, runs: int = 9) -> dict[str, list[float]]:
    """Seconds to the first painted prose and to the first painted chart; bytes over the wire."""
    taken: dict[str, list[float]] = {"prose": [], "chart": [], "byte": []}
    for _ in range(runs):
        context = chromium.new_context(viewport=DESKTOP)
        page = context.new_page()
        received = [0]
        session = context.new_cdp_session(page)
        session.send("Network.enable")
        session.on(
            "Network.loadingFinished",
            lambda event, received=received: received.__setitem__(
                0, received[0] + int(event["encodedDataLength"])
            ),
        )
        start = time.perf_counter()
        page.goto(url, wait_until="commit")
        wait_until(
            page,
            "window.Bokeh && Bokeh.documents.length && Bokeh.documents[0].is_idle"
            " && Bokeh.documents[0].get_model_by_name('roofline')",
        )
        taken["chart"].append(time.perf_counter() - start)
        taken["prose"].append(
            page.evaluate(
                "() => performance.getEntriesByName('first-contentful-paint')[0].startTime / 1000"
            )
        )
        time.sleep(0.3)
        taken["byte"].append(float(received[0]))
        context.close()
    return taken


def open_live(chromium: Browser, url: str) -> Page:
    """The page, live, with predictions passed."""
    page = chromium.new_page(viewport=DESKTOP)
    page.goto(url)
    wait_live(page)
    for place in page.locator("[data-section]").all():
        slug = place.get_attribute("data-section") or ""
        bring(page, slug).get_by_role("button", name="just show me").click()
        time.sleep(0.6)
    return page


def plain_latencies(chromium: Browser) -> list[float]:
    """The same two charts the plain way: a function that returns new figures."""
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, "-m", "panel", "serve", str(PLAIN), "--port", str(port)],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        time.sleep(6)
        page = chromium.new_page(viewport=DESKTOP)
        page.goto(f"http://127.0.0.1:{port}/plain_app")
        time.sleep(4)
        return plain_measure(page)
    finally:
        process.terminate()
        process.wait(10)


def plain_measure(page: Page, changes: int = 55) -> list[float]:
    """From the key event until no canvas of the page has changed for a while."""
    page.evaluate(
        """() => {
        window.__plain = { start: 0, last: 0 };
        const press = () => { __plain.start = performance.now(); __plain.last = 0; };
        addEventListener("keydown", press, true);
        const proto = CanvasRenderingContext2D.prototype;
        for (const name of ["stroke", "fill", "fillText", "clearRect"]) {
          const original = proto[name];
          proto[name] = function (...a) {
            __plain.last = performance.now();
            return original.apply(this, a);
          };
        }
        }"""
    )
    handle = page.locator(".noUi-handle").first
    handle.focus()
    latencies = []
    for i in range(changes):
        page.keyboard.press("ArrowRight" if i % 2 == 0 else "ArrowLeft")
        time.sleep(0.9)
        start, last = page.evaluate("() => [__plain.start, __plain.last]")
        if last > start:
            latencies.append(last - start)
    return latencies


def rows() -> Iterator[tuple[str, str, str]]:
    """Load times first, then every slider, then the plain way for the ratio."""
    with running() as server, browser() as chromium:
        load = first_load(chromium, server.url)
        for key, what, target in (
            ("prose", "first prose painted", "≤ 0.6 s"),
            ("chart", "first chart live", "≤ 1.2 s"),
        ):
            low, high = statistics.median(load[key]), max(load[key])
            yield what, f"{low:.2f} s median, {high:.2f} s worst", target
        weight = statistics.median(load["byte"]) / 1e6
        yield "page weight, not compressed", f"{weight:.2f} MB", ""
        page = open_live(chromium, server.url)
        medians = []
        for slug, key in SLIDERS:
            latencies = paint.measure(page, f"#{slug} input[data-key={key}]")
            medians.append(statistics.median(latencies))
            yield f"slider → paint, {slug} {key}", paint.figures_of(latencies), TARGET
        bring(page, "prefill-decode")
        latencies = paint.measure(page, "#scenario input[data-key=size]")
        yield "slider → paint, model size", paint.figures_of(latencies), TARGET
        page.close()
        plain = plain_latencies(chromium)
        ratio = statistics.median(plain) / statistics.median(medians)
        yield "the plain way (new figures)", paint.figures_of(plain), f"{ratio:.1f} × ours"


if __name__ == "__main__":
    for row in rows():
        print(*row, sep=" | ", flush=True)
