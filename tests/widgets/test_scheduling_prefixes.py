"""Section 5 with section 4's pool as its cache: what hits needs no prefill."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from core.devices import DEVICES
from core.models import MODELS
from core.scenario import Scenario
from tests.test_content import rendered
from widgets.scheduling import Scheduling
from widgets.scheduling_stream import BLOCK_TOKEN, Drawn, Plan, Refused, Served, serve

S = Scenario(MODELS["8B"], DEVICES["A100"])
ROOT = Path(__file__).parents[2]


def plan(common_prefix: int | None, scenario: Scenario = S, spread: float = 0.0) -> Plan:
    source = Drawn(120, 1.0, 1024, 16, spread, 9)
    return Plan(scenario, source, 6.0, (2048, 2048), True, 0.9, common_prefix)


def served(chosen: Plan) -> Served:
    outcome = serve(chosen, lambda _: True)
    assert outcome is not None
    assert isinstance(outcome[0], Served)
    return outcome[0]


def test_every_prompt_but_the_first_skips_the_common_beginning() -> None:
    """120 prompts of 1,024 tokens that share 512: 119 × 512 are found."""
    run = served(plan(512))
    assert run.skipped_token == 119 * 512
    assert run.prompt_token == 120 * 1024


def test_only_full_blocks_are_found() -> None:
    run = served(plan(512 + BLOCK_TOKEN - 1))
    assert run.skipped_token == 119 * 512


def test_without_prefix_caching_nothing_is_skipped_and_first_tokens_come_later() -> None:
    cold, warm = served(plan(None)), served(plan(512))
    assert cold.skipped_token == 0
    assert warm.ttft_median_s < cold.ttft_median_s


def test_an_empty_common_beginning_changes_no_time() -> None:
    cold, empty = served(plan(None, spread=1.0)), served(plan(0, spread=1.0))
    assert empty.skipped_token == 0
    assert empty.ttft_s == pytest.approx(cold.ttft_s, rel=1e-9)
    assert empty.e2e_s == pytest.approx(cold.e2e_s, rel=1e-9)


def test_a_model_that_the_pool_cannot_hold_says_so() -> None:
    outcome = serve(plan(512, Scenario(MODELS["Gemma-2-9B"], DEVICES["A100"])), lambda _: True)
    assert outcome is not None
    assert isinstance(outcome[0], Refused)
    assert "windows or states" in outcome[0].why


def test_the_page_says_what_was_skipped_and_the_snippet_does_the_same() -> None:
    model = Scheduling(S, load_requests=60, mean_prompt=1024, length_spread=0.0)
    model.apply({"prefix_caching": "on", "common_prefix": 512})
    assert "30,208 of 61,440 prompt tokens (49.2 %)" in model.result.sentences["stream-server"]
    assert "PoolRoom.of(" in model.snippet()
    model.apply({"prefix_caching": "off"})
    assert "Prefix caching" not in model.result.sentences["stream-server"]
    assert "PoolRoom" not in model.snippet()


def test_the_prose_prints() -> None:
    """At five prompts a second; the pool and the stream are those of the core's own tests."""
    assert "43 % of all prompt tokens are skipped" in rendered("scheduling")
    assert "within 71.9 ms instead of 191 ms" in rendered("scheduling")


@pytest.mark.parametrize(
    ("name", "inputs", "said"),
    [
        ("8B", {"mean_answer": 1, "length_spread": 0.0}, "goodput, requests/s"),
        ("70B", {}, "# The stream does not run: "),
        ("Mistral-7B-v0.1", {"prefix_caching": "on"}, "# The stream does not run: "),
    ],
)
def test_the_snippet_runs_where_the_page_has_no_number(
    name: str, inputs: dict[str, Any], said: str
) -> None:
    model = Scheduling(Scenario(MODELS[name], DEVICES["A100"]), load_requests=60)
    model.apply(inputs)
    code = model.snippet()
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert done.stderr == ""
    assert said in code + done.stdout
