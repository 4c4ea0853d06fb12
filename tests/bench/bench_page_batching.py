"""Section 3 in a real browser: every slider → paint at its presets, and a dropped trace."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import datetime, timedelta

import numpy as np
from playwright.sync_api import Locator, Page

from core.devices import DEVICES
from core.models import MODELS
from core.requests import Lengths, random_stream
from core.scenario import Scenario
from tests.bench import paint
from tests.bench.bench_page import browser
from tests.browser.conftest import DESKTOP, bring, running, wait_live
from widgets.batching import Batching

TARGET = "≤ 40 / 70 ms"
SLIDERS = ("slots", "gap", "longest", "stream_seed")
# The presets as links carry them; the reference stream is the default.
PRESETS = (
    ("equal outputs together", "gap=0&shortest=36&longest=36", ("slots", "longest")),
    ("burst", "gap=0", ("slots", "stream_seed")),
    ("one giant", "giant=400", ("slots", "stream_seed")),
    ("the scenario's time", "clock=ms", ("slots", "stream_seed")),
)
TRACE_ROWS = (6_000, 20_000, 200_000)


def open_at(page: Page, url: str) -> Locator:
    """The section's card at the state of a link, its prediction passed."""
    page.goto(url)
    wait_live(page)
    card = bring(page, "continuous-batching")
    time.sleep(1)
    shown = card.get_by_role("button", name="just show me")
    if shown.count():
        shown.click()
    time.sleep(1)
    return card


def trace_csv(rows: int) -> str:
    """A trace with dates, as one public trace has them, five requests a second."""
    drawn = random_stream(
        np.random.default_rng(3), rows, 5.0, Lengths(1_000, 1.0), Lengths(200, 0.8)
    )
    start = datetime(2023, 11, 16, 18)
    lines = (
        f"{(start + timedelta(seconds=at)).isoformat(' ')},{prompt},{output}"
        for at, prompt, output in zip(
            drawn.arrival.tolist(), drawn.prompt_token, drawn.output_token, strict=True
        )
    )
    return "TIMESTAMP,ContextTokens,GeneratedTokens\n" + "\n".join(lines)


def drop_s(card: Locator, text: str, rows: int) -> float:
    """Seconds from the drop until both policies are shown."""
    begin = time.perf_counter()
    card.locator("input[type=file]").set_input_files(
        {"name": f"{rows}.csv", "mimeType": "text/csv", "buffer": text.encode()}
    )
    wanted = f"{rows:,} requests through"
    while wanted not in card.locator(".summary").inner_text():
        time.sleep(0.02)
        if time.perf_counter() - begin > 120:
            raise TimeoutError(f"{rows:,} rows were not played within two minutes")
    return time.perf_counter() - begin


def rows() -> Iterator[tuple[str, str, str]]:
    """The four sliders at the reference stream, two at each other preset, then traces."""
    with running() as server, browser() as chromium:
        page = chromium.new_page(viewport=DESKTOP)
        for preset, query, keys in (("the reference stream", "", SLIDERS), *PRESETS):
            open_at(page, f"{server.url}?{query}")
            for key in keys:
                latencies = paint.measure(page, f"#continuous-batching input[data-key={key}]")
                yield f"batching, {preset}: {key}", paint.figures_of(latencies), TARGET
        card = open_at(page, server.url)
        for count in TRACE_ROWS:
            text = trace_csv(count)
            taken = drop_s(card, text, count)
            what = f"a dropped trace, {count:,} rows, {len(text) / 1e6:.1f} MB, until shown"
            yield what, f"{taken:.2f} s", "≤ 2 s" if count <= 20_000 else "in a job"
        page.close()
    yield from server_rows()


def server_rows() -> Iterator[tuple[str, str, str]]:
    """What the server computes at a move of a slider, without a browser."""
    model = Batching(Scenario(MODELS["8B"], DEVICES["A100"]))
    for clock, words in (("steps", "unit steps"), ("ms", "the scenario's time")):
        model.apply({"clock": clock})
        begin = time.perf_counter()
        for seed in range(10, 210):
            model.apply({"stream_seed": seed})
        each = (time.perf_counter() - begin) / 200
        yield f"batching, one result computed, {words}", f"{1e3 * each:.1f} ms", ""


if __name__ == "__main__":
    for row in rows():
        print(*row, sep=" | ", flush=True)
