"""Section 8: slider → paint in a real browser, and what its run of a stream costs."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator

from core.devices import DEVICES
from core.models import MODELS
from core.scenario import Scenario
from tests.bench import paint
from tests.bench.bench_page import TARGET, browser, open_live
from tests.browser.conftest import running
from widgets.caveats import Caveats

SLIDERS = ("overhead", "wait_noise")


def compute_ms(key: str, values: tuple[float, float], runs: int = 20) -> float:
    """Median time of one change of an input, to and fro."""
    model = Caveats(Scenario(MODELS["8B"], DEVICES["A100"]))
    taken = []
    for i in range(runs):
        begin = time.perf_counter()
        model.apply({key: values[i % 2]})
        taken.append(time.perf_counter() - begin)
    return 1e3 * statistics.median(taken)


def rows() -> Iterator[tuple[str, str, str]]:
    """The view-model alone, then the sliders that move a picture."""
    for key, values in (("wait_noise", (60.0, 70.0)), ("stream_rate", (3.0, 5.0))):
        yield f"section 8 computed anew, {key}", f"{compute_ms(key, values):.1f} ms", "≤ 100 ms"
    with running() as server, browser() as chromium:
        page = open_live(chromium, server.url)
        for key in SLIDERS:
            latencies = paint.measure(page, f"#caveats input[data-key={key}]")
            yield f"slider → paint, caveats {key}", paint.figures_of(latencies), TARGET


if __name__ == "__main__":
    for row in rows():
        print(*row, sep=" | ", flush=True)
