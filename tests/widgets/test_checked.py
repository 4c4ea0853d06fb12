"""Section 7: what the card says of a run, how faults show in it, and when it runs anything."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from core.checks import CHECKS, GROUPS
from core.devices import DEVICES
from core.models import MODELS
from core.sabotage import FAULTS, SOUND
from core.scenario import Scenario
from tests.test_content import rendered
from widgets.base import Job
from widgets.checked import Checked
from widgets.checked_record import MATRIX_ROWS, Runner, record
from widgets.checked_view import CheckedView
from widgets.session import Session
from widgets.share import parse_query

S = Scenario(MODELS["8B"], DEVICES["A100"])
ALL = str(len(CHECKS))
MISSED = [
    "unchained hash",
    "evict newest",
    "forward release",
    "no dequeue on reuse",
    "stale hash after eviction",
    "one extra slot",
]


def shown(model: Checked, key: str) -> str:
    readout = model.result.readout(key)
    return f"{readout.number} {readout.unit}".strip()


def test_the_sound_program_holds_every_claim_and_shows_the_reference_numbers() -> None:
    model = Checked(S)
    assert shown(model, "held") == f"{ALL} of {ALL}"
    assert shown(model, "failed") == "0"
    assert shown(model, "assertions") == "2 of 8"
    assert shown(model, "ours") == "8 of 8"
    assert shown(model, "only") == "6"
    assert shown(model, "latency") == "2.49 ×"  # 137.9 / 55.425
    assert shown(model, "ties") == "0"
    assert shown(model, "off") == "+2.47 standard errors"
    assert model.result.notes == ()
    assert model.prediction().answer == "2"


def test_every_readouts_arithmetic_ends_at_its_number() -> None:
    for fault in (SOUND, "acceptance off by one", "one extra slot"):
        for readout in Checked(S, fault=fault, claim_seed=77).result.readouts:
            number = float(readout.number.replace("−", "-").replace(",", ""))
            assert readout.steps[-1].value == pytest.approx(number, rel=6e-3), readout.key


@pytest.mark.parametrize("fault", [fault.name for fault in FAULTS])
def test_a_fault_makes_claims_fail_and_is_named(fault: str) -> None:
    result = Checked(S, fault=fault).result
    assert fault in result.summary
    failing = result.tables["claims"]["verdict"] == "✗ fails"
    assert failing.sum() == int(result.readout("failed").number) > 0
    assert failing[: failing.sum()].all(), "those that fail stand first"
    assert result.notes[0].startswith("✗ fails: ")
    own = [g == GROUPS[0] for g in result.tables["claims"]["group"][failing]]
    assert any(own) is (fault not in MISSED)
    assert ("assertions all hold" in result.summary) is (fault in MISSED)


def test_the_matrix_on_the_card_is_the_one_that_was_computed() -> None:
    found = record()
    rows = found.matrix.caught
    drawn = [cells for row in MATRIX_ROWS if (cells := row.cells(found.matrix))]
    in_figures = [check.group == GROUPS[1] for check in found.matrix.checks]
    assert np.array(drawn).any(axis=0).tolist() == rows.any(axis=0).tolist()
    assert len(drawn) == len(rows) - sum(in_figures) + 2
    headings = [row.words(found.matrix) for row in MATRIX_ROWS if not row.claims]
    assert headings == ["assertions: 2 of 8", "figures: 6 of 8", "ours: 8 of 8"]
    table = Checked(S).result.tables["sabotage"]
    assert [name for name in table if name not in ("claim", "group")] == [f.name for f in FAULTS]
    assert (table["evict newest"] == "caught").tolist() == rows[:, 1].tolist()


def test_the_view_draws_a_mark_for_every_claim_and_a_dot_for_every_seed() -> None:
    view = CheckedView(Checked(S, fault="one extra slot"))
    view.build()
    claims, matrix, sweep = (
        view.chart(name).sources for name in ("claims", "sabotage", "latencies")
    )
    held, failed = len(claims["held"].data["x"]), len(claims["failed"].data["x"])
    assert held + failed == len(CHECKS)
    assert set(claims["failed"].data["mark"]) == {"✗"}
    assert set(claims["held"].data["mark"]) == {"✓"}
    places = {*zip(claims["held"].data["x"], claims["held"].data["y"], strict=True)}
    assert len(places) == held
    assert matrix["on"].data["left"] == [4.5]
    assert len(sweep["seeds"].data["x"]) == 500
    assert sweep["ties"].data["x"] == []


def test_the_sweep_follows_the_fault_that_is_in_the_batching() -> None:
    sound, broken = Checked(S).result.data, Checked(S, fault="one extra slot").result.data
    pool = Checked(S, fault="evict newest").result.data
    assert (broken.sweep.fixed < sound.sweep.fixed).mean() > 0.9
    assert np.array_equal(pool.sweep.fixed, sound.sweep.fixed)
    assert (sound.mine.fixed[0], sound.mine.rolling[0]) == (137.9, 55.425)


def test_one_slot_makes_every_seed_a_tie_and_the_card_says_why() -> None:
    model = Checked(S, sweep_slots=1)
    assert shown(model, "ties") == "500"
    assert "every one is a tie" in model.result.sentences["latencies"]
    assert shown(model, "latency") == "2.49 ×", "the program itself keeps its 8 slots"


def test_figures_of_seed_9_are_checked_whatever_the_seed() -> None:
    model = Checked(S, claim_seed=2**32 - 1)
    assert shown(model, "failed") == "0"
    assert "at seed 4,294,967,295" in model.result.summary
    assert shown(model, "off") != "+2.47 standard errors"


def test_the_page_far_away_runs_nothing_and_a_card_that_is_near_runs_everything_once() -> None:
    model = Checked(S)
    started: list[Job | None] = []
    model.runner = started.append
    before = model.result
    model.go_live()
    model.go_live()
    jobs = [job for job in started if job is not None]
    assert len(jobs) == 1
    assert model.result is before
    seen: list[float] = []

    def report(fraction: float) -> bool:
        seen.append(fraction)
        return True

    result = jobs[0].work(report)
    assert result is not None
    assert result.readout("held").number == ALL
    assert seen == sorted(seen)
    assert 0.9 < seen[-1] <= 1
    assert result.data.outcomes is not before.data.outcomes, "run anew, not remembered"


@pytest.mark.parametrize("end", [0.0, 0.05, 0.3, 0.7])
def test_a_job_that_is_given_up_brings_nothing(end: float) -> None:
    assert Runner().run(SOUND, 9, 8, lambda fraction: fraction < end) is None


def test_a_runner_runs_claims_anew_and_keeps_matrix_and_sweep_while_they_stand() -> None:
    runner = Runner()
    runs = [
        runner.run(*inputs, lambda _: True) for inputs in (("none", 9, 8), ("evict newest", 9, 8))
    ]
    first, second = runs
    assert first is not None
    assert second is not None
    assert second.matrix is first.matrix
    assert second.sweep is first.sweep
    assert second.outcomes is not first.outcomes
    third = runner.run("none", 10, 2, lambda _: True)
    assert third is not None
    assert third.matrix is not first.matrix
    assert third.sweep.slots == 2


def test_the_scenario_of_the_page_runs_nothing_anew() -> None:
    model = Checked(S)
    before = model.result
    model.scenario = Scenario(MODELS["70B"], DEVICES["H100 SXM"], 4)
    assert model.result is before


def test_bad_links_are_explained_and_leave_the_rest() -> None:
    session = Session(
        {Checked.slug: (Checked, CheckedView)}, "?fault=gremlins&claim_seed=0", "light"
    )
    notices = " ".join(session.bar.state["notices"])
    assert "fault" in notices.lower()
    assert "seed" in notices.lower()
    model: Any = session.models[Checked.slug]
    assert (model.fault, model.claim_seed) == (SOUND, 9)


def test_a_link_restores_a_fault_and_a_seed() -> None:
    session = Session(
        {Checked.slug: (Checked, CheckedView)}, "?fault=evict+newest&claim_seed=4242", "light"
    )
    view = session.bring(Checked.slug)
    assert "“evict newest” is on" in view.model.result.summary
    assert "4,242" in view.model.result.summary
    assert parse_query(session.query())[0] == {"fault": "evict newest", "claim_seed": "4242"}


@pytest.mark.parametrize(
    "sentence",
    [
        f"in one list of {ALL} claims",
        "It prints 7 cache hits and 5 evictions.",
        "Static batching needs 343 steps, continuous batching 216; the mean latency falls from "
        "137.9 steps to 55.4.",
        "Of 64 sequences, 16 fit when each reserves the longest length, and 64 in blocks",
        "In 200,000 rounds at α = 0.8 and γ = 4 it counts 674,091 tokens, 3.370 a pass, where "
        "Equation 1 gives 3.362",
        "All of its assertions, 10 of them, hold here",
        "Of 8 such faults, the program's own assertions notice 2.",
        "The other 6 pass.",
        "Our invariants notice 8 of 8, and at any seed.",
        "Its rounds end up +2.47 standard errors away from Equation 1.",
        "in 1.4 % of cases: about one seed in 74",
        "The 0.02 that is allowed are 5.6 standard errors",
        "runs 500 seeds under both policies. On 8 slots static batching takes from 1.56 to 3.46 "
        "times as long, and there are 0 ties.",
    ],
)
def test_section_7_prints(sentence: str) -> None:
    assert sentence in rendered("checked-simulator")


def test_the_odds_of_the_references_draw_by_hand() -> None:
    """Two-sided tail beyond 2.4702 of the normal distribution, by Simpson's rule."""
    x = np.linspace(2.4702059436878687, 12, 100_001)
    density = np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi)
    weights = np.ones(x.size)
    weights[1:-1:2], weights[2:-1:2] = 4, 2
    tail = 2 * (x[1] - x[0]) / 3 * float((weights * density).sum())
    assert Checked(S).prose()["odds"] == str(round(1 / tail))
    assert float(Checked(S).prose()["far"].split()[0]) == pytest.approx(100 * tail, abs=0.05)


def test_the_distance_from_equation_1_can_be_followed_digit_by_digit() -> None:
    line = Checked(S).result.readout("off").arithmetic()[-1]["text"]
    assert line.endswith("(674,091 − 672,320) ÷ 716.9 = 2.47")
