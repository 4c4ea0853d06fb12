"""Section 5 as a reader drives it: budgets, words for a stop, a stream, a dropped trace, axe."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Locator, Page, expect

from core.chunked_prefill import chunked_prefill
from core.devices import DEVICES
from core.models import MODELS
from core.requests import Lengths, random_stream
from core.scenario import Scenario
from core.scheduling import simulate
from core.traces import read_trace
from tests.browser.conftest import Watched, bring, wait_until

pytestmark = pytest.mark.browser
Open = Callable[..., Watched]

S = Scenario(MODELS["8B"], DEVICES["A100"])
COLUMN = "Bokeh.documents[0].get_model_by_name('{}')?.data['{}']"


def look(page: Page) -> Locator:
    """The card with its prediction passed and its charts drawn."""
    card = bring(page, "scheduling")
    card.get_by_role("button", name="just show me").click()
    expect(card.locator(".cover")).to_have_count(0)
    wait_until(page, COLUMN.format("watcher.decode", "left") + "?.length")
    wait_until(page, COLUMN.format("goodput.chosen", "x") + "?.length")
    return card


def column(page: Page, source: str, name: str) -> Any:
    return page.evaluate(f"() => Array.from({COLUMN.format(source, name)})")


def test_a_budget_moves_the_prompt_at_once_and_the_stream_follows(open_page: Open) -> None:
    page = open_page().page
    card = look(page)
    for key, number in (("ttft", "236"), ("worst", "115"), ("pause", "9.38"), ("steps", "3")):
        expect(card.locator(f"[data-readout={key}] strong")).to_have_text(number)
    card.locator("input[data-key=budget]").focus()
    for _ in range(8):
        page.keyboard.press("ArrowLeft")
    expect(card.locator("[data-entry=budget]")).to_have_value("512")
    expect(card.locator("[data-readout=ttft] strong")).to_have_text("240")
    prefill = chunked_prefill(S, 4096, 32, 2048, 512)
    bars = column(page, "watcher.prefill", "top")
    assert bars == pytest.approx((prefill.step_s * 1e3).tolist(), rel=1e-4)
    expect(card.locator("[data-readout=stream_itl] strong")).to_have_text("28.8")
    assert column(page, "goodput.high", "label") == ["512: knee 14.6"]
    page.keyboard.press("End")
    expect(card.locator("[data-entry=budget]")).to_have_value("no limit")
    expect(card.locator("[data-readout=pause] strong")).to_have_text("18.4")


def test_no_limit_can_be_typed_and_a_wrong_budget_is_explained(open_page: Open) -> None:
    page = open_page().page
    card = look(page)
    entry, problem = card.locator("[data-entry=budget]"), card.locator(".problem")
    entry.fill("No limit")
    entry.press("Enter")
    expect(card.locator("[data-readout=steps] strong")).to_have_text("1")
    wait_until(page, "location.search === '?budget=1048576'")
    for wrong in ("63", "lots"):
        entry.fill(wrong)
        entry.press("Enter")
        expect(problem).to_contain_text("1,048,576 (no limit), got " + wrong)
        expect(entry).to_have_value("no limit")


def test_a_dropped_trace_plays_and_a_bad_one_is_refused_by_its_line(open_page: Open) -> None:
    page = open_page().page
    card = look(page)
    card.get_by_text("More controls").click()
    generator = np.random.default_rng(5)
    rows = zip(
        np.cumsum(generator.exponential(0.2, 400)).round(3),
        generator.integers(10, 3000, 400),
        generator.integers(1, 200, 400),
        strict=True,
    )
    text = "TIMESTAMP,ContextTokens,GeneratedTokens\n"
    text += "".join(f"{arrival},{prompt},{output}\n" for arrival, prompt, output in rows)

    def drop(name: str, content: str) -> None:
        data = {"name": name, "mimeType": "text/csv", "buffer": content.encode()}
        card.locator("input[data-key=stream_file]").set_input_files(data)

    drop("mine.csv", text)
    expect(card.locator(".notes")).to_contain_text("400 requests read from CSV.")
    expect(card.locator("select[data-key=stream_from]")).to_have_value("mine.csv, as it came")
    schedule = simulate(read_trace(text)[0], S, token_budget=2048)
    p99 = float(np.quantile(schedule.ttft_s, 0.99))
    assert column(page, "stream-waits.tails", "x")[0] == pytest.approx(p99, rel=1e-4)
    drop("bad.csv", text.replace("\n", "\n1,2,x\n", 1))
    expect(card.locator(".problem")).to_contain_text("line 2, column GeneratedTokens")
    expect(card.locator(".notes")).to_contain_text("400 requests")
    assert column(page, "stream-waits.tails", "x")[0] == pytest.approx(p99, rel=1e-4)


def test_a_long_stream_shows_its_progress_and_can_be_cancelled(open_page: Open) -> None:
    page = open_page().page
    card = look(page)
    before = card.locator("[data-readout=goodput] strong").inner_text()
    card.get_by_text("More controls").click()
    entry = card.locator("[data-entry=load_requests]")
    entry.fill("1000000")
    entry.press("Enter")
    bar = card.locator(".progress")
    expect(bar).to_be_visible()
    expect(bar).to_contain_text("Running 1,000,000 requests")
    expect(card.locator("[data-readout=goodput] strong")).to_have_text(before)
    bar.get_by_role("button", name="Cancel").click()
    expect(bar).to_be_hidden()
    expect(card.locator("[data-readout=goodput] strong")).to_have_text(before)
    entry.fill("2000")
    entry.press("Enter")
    lengths = Lengths(1024, 1.0), Lengths(128, 1.0)
    stream = random_stream(np.random.default_rng(9), 2000, 1.0, *lengths).at_rate(8.0)
    busy = simulate(stream, S, token_budget=2048).occupancy()["busy"].max()
    said = card.locator(".sentence").nth(4)
    expect(said).to_contain_text(f"at most {busy:,} requests run", timeout=15_000)


def test_preemptions_are_listed_where_the_cache_runs_out(open_page: Open) -> None:
    page = open_page().page
    card = look(page)
    card.get_by_role("button", name="long document in a busy chat").click()
    expect(card.locator(".item.event").first).to_contain_text("computed again", timeout=15_000)
    expect(card.locator("[data-readout=preemptions] strong")).not_to_have_text("0")
    assert len(column(page, "stream-server.lost", "x")) > 0


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe_finds_nothing_and_a_phone_needs_no_sideways_scrolling(
    open_page: Open, dark: bool
) -> None:
    page = open_page(dark=dark, phone=True).page
    card = look(page)
    card.get_by_text("More controls").click()
    card.locator(".readout").first.click()
    assert page.evaluate("() => document.documentElement.scrollWidth") == 375
    page.evaluate(AXE_SCRIPT)
    found: dict[str, Any] = page.evaluate("() => axe.run('#scheduling')")
    told = [(v["id"], n["target"]) for v in found["violations"] for n in v["nodes"]]
    assert told == []
