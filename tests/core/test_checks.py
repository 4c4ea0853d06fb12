"""Every claim holds; a claim can fail; the command line says which, and exits accordingly."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from core.checks import CHECKS, GROUPS, Trial, agree, matrix, run_checks, tolerance_words, words
from core.checks.__main__ import main
from core.checks.check import Check
from core.checks.sweep import latency_sweep
from core.pool_claims import CLAIMS, Finding
from core.pool_claims import check as run_claim
from core.reference_program import stream_of
from core.sabotage import FAULTS, SearchedPool
from tests.core.oracles import step_by_step

TRIAL = Trial()
OTHER_SEEDS = (1, 2024, 2**32 - 1)
OURS = "our invariants"


def check_of(expected, observed, tolerance=0.0):
    return Check("it", OURS, "a test", expected, lambda _: observed, tolerance)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: f"{check.group}: {check.name}")
def test_the_claim_holds(check):
    outcome = check.run(TRIAL)
    assert outcome.holds, f"expected {words(outcome.expected)}, observed {words(outcome.observed)}"


@pytest.mark.parametrize("seed", OTHER_SEEDS)
def test_every_claim_holds_at_other_seeds(seed):
    outcomes = run_checks(CHECKS, Trial(seed=seed))
    assert [outcome.check.name for outcome in outcomes if not outcome.holds] == []


@pytest.mark.parametrize(
    "check",
    [check for check in CHECKS if not isinstance(check.expected, str)],
    ids=lambda check: f"{check.group}: {check.name}",
)
def test_the_claim_would_fail_if_anything_else_were_expected(check):
    """What is expected, moved by a twentieth or by more than the tolerance, is not what is seen."""

    def moved(value):
        if isinstance(value, tuple):
            return tuple(moved(part) for part in value)
        if isinstance(value, str):
            return value
        if math.isinf(value):
            return 0.0
        return value + max(0.05 * abs(value), 2.5 * check.tolerance, 1e-8)

    wrong = Check(
        check.name, check.group, check.source, moved(check.expected), check.observe, check.tolerance
    )
    assert not wrong.run(TRIAL).holds


def test_names_are_unique_and_every_group_has_claims():
    names = [(check.group, check.name) for check in CHECKS]
    assert len(set(names)) == len(names)
    assert {group for group, _ in names} == set(GROUPS)


def test_the_reference_program_asserts_ten_things_and_prints_five_lines():
    groups = [check.group for check in CHECKS]
    assert groups.count("reference's assertions") == 10
    assert sum(check.name.startswith("line ") for check in CHECKS) == 5


def test_values_agree_element_by_element_within_the_tolerance():
    assert agree((1.53, (2, "a")), (1.534, (2, "a")), 0.005)
    assert not agree((1.53, (2, "a")), (1.536, (2, "a")), 0.005)
    assert not agree((1, 2), (1, 2, 3), 0)
    assert not agree(1, "1", 10)
    assert not agree("a", "b", 10)
    assert agree(math.inf, math.inf, 0)
    assert not agree(math.inf, 1e300, 1)
    assert not agree(1.0, math.nan, 1)


def test_words_for_values_and_tolerances():
    assert words((True, 16, 12.294967296, "x")) == "yes, 16, 12.294967296, x"
    assert words(137_953_296_384.0) == "137,953,296,384"
    assert words(()) == "nothing"
    assert words((math.inf, -math.inf)) == "∞, −∞"
    assert words("a" * 70) == "a" * 59 + "…"
    assert tolerance_words(check_of(1, 1)) == "exact"
    assert tolerance_words(check_of(1, 1, 0.02)) == "± 0.02"


def test_an_observation_that_breaks_down_refutes_its_claim_and_says_how():
    def explode(_):
        raise KeyError("gone")

    outcome = Check("it", OURS, "a test", 1, explode).run(TRIAL)
    assert not outcome.holds
    assert outcome.observed == "KeyError: 'gone'"
    assert outcome.verdict == "✗ fails"


def test_a_finding_brings_its_own_expectation():
    outcome = Check("it", OURS, "a test", 1, lambda _: Finding([3, (4,)], [3, (5,)])).run(TRIAL)
    assert (outcome.expected, outcome.observed, outcome.holds) == ((3, (4,)), (3, (5,)), False)
    assert outcome.row()["expected"] == [3, [4]]


def test_a_claim_of_the_pool_says_what_it_expects():
    check = next(check for check in CHECKS if check.name == "pool: shared prefix")
    assert check.run(TRIAL).expected == (3, 3, 7)


def test_a_run_stops_when_it_is_told_to():
    assert len(run_checks(CHECKS, TRIAL, lambda done: done < 3)) == 3


# Sabotage.


@pytest.fixture(scope="module")
def found():
    return matrix()


def test_the_references_assertions_catch_two_faults_of_eight(found):
    assert len(found.faults) == 8
    assert found.caught_by("reference's assertions") == (
        "skipped reference count",
        "acceptance off by one",
    )


@pytest.mark.parametrize("seed", [9, *OTHER_SEEDS])
def test_our_invariants_catch_all_eight_at_any_seed(seed):
    assert matrix(seed).caught_by(OURS) == tuple(fault.name for fault in FAULTS)


def test_the_fault_free_parts_are_caught_by_nothing(found):
    assert all(check.run(TRIAL).holds for check in found.checks)


def test_each_pool_fault_has_a_claim_of_its_own(found):
    """The claim written for it catches it, beside the random history that catches nearly all."""
    names = [check.name for check in found.checks]
    for fault, claim in (
        ("unchained hash", "pool: whole prefix"),
        ("evict newest", "pool: oldest first"),
        ("forward release", "pool: end first"),
        ("no dequeue on reuse", "pool: never in two hands"),
        ("stale hash after eviction", "pool: evicted is gone"),
        ("skipped reference count", "pool: last user frees"),
        ("one extra slot", "batching: requests over the 8 slots"),
        ("acceptance off by one", "speculation: most tokens of a pass"),
    ):
        assert found.caught[names.index(claim), found.faults.index(fault)], fault


def test_the_columns_say_caught_or_missed_for_each_fault(found):
    columns = found.columns()
    assert list(columns)[2:] == [fault.name for fault in FAULTS]
    assert {len(column) for column in columns.values()} == {len(found.checks)}
    assert set(columns["one extra slot"]) == {"caught", "missed"}
    assert (columns["one extra slot"] == "caught").tolist() == found.caught[:, 5].tolist()


def test_a_stopped_matrix_is_none():
    assert matrix(9, lambda share: share < 0.2) is None


def test_a_fault_shows_in_no_claim_that_does_not_run_the_parts():
    others = [check for check in CHECKS if not check.on_parts]
    for fault in FAULTS:
        assert all(outcome.holds for outcome in run_checks(others[:20], Trial(fault.name)))


# The sweep over seeds.


def test_the_sweep_has_the_programs_own_latencies_at_seed_9():
    sweep = latency_sweep([9], 8)
    assert (sweep.fixed[0], sweep.rolling[0]) == (137.9, 55.425)


def test_the_sweep_agrees_with_a_step_by_step_simulation():
    sweep = latency_sweep(range(40, 44), 5)
    for seed, fixed, rolling in zip(sweep.seed, sweep.fixed, sweep.rolling, strict=True):
        stream = stream_of(int(seed))
        rows = list(
            zip(
                stream.arrival.astype(int).tolist(),
                stream.prompt_token.tolist(),
                stream.output_token.tolist(),
                strict=True,
            )
        )
        for continuous, mean in ((False, fixed), (True, rolling)):
            slow = step_by_step.run(rows, None, continuous=continuous, max_sequences=5)
            waits = [job.token_times[-1] - job.arrival for job in slow.jobs]
            assert mean == pytest.approx(np.mean(waits))


def test_one_slot_is_a_tie_at_every_seed_and_eight_slots_at_none():
    assert latency_sweep(range(1, 30), 1).ties.all()
    assert not latency_sweep(range(1, 30), 8).ties.any()
    assert latency_sweep([9], 1).columns()["outcome"].tolist() == ["tie"]


def test_a_sweep_stops_when_it_is_told_to_and_refuses_what_cannot_be():
    assert latency_sweep(range(1, 200), 8, report=lambda share: share < 0.3) is None
    with pytest.raises(ValueError, match="slots must be"):
        latency_sweep([9], 41)
    with pytest.raises(ValueError, match="state must be"):
        latency_sweep([0], 8)


# The command line.


def test_the_table_says_how_many_hold_and_exits_0(capsys):
    assert main([]) == 0
    text = capsys.readouterr().out
    assert f"{len(CHECKS)} of {len(CHECKS)} claims hold" in text
    assert text.count("✓ holds") == len(CHECKS)
    assert "✗" not in text


def test_a_failing_claim_is_named_and_exits_1(capsys):
    assert main(["--fault", "acceptance off by one", "--seed", "11"]) == 1
    text = capsys.readouterr().out
    assert "✗ tokens a pass, Equation 1: expected 3.3616, observed 3.6" in text
    assert "✗ fails" in text


def test_json_holds_every_outcome(capsys):
    assert main(["--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert len(rows) == len(CHECKS)
    assert rows[0] == {
        "name": "both prompts take 5 blocks",
        "group": "reference's assertions",
        "source": "the reference program, its assertions",
        "expected": [5, 5],
        "observed": [5, 5],
        "tolerance": 0.0,
        "holds": True,
        "time_s": rows[0]["time_s"],
    }
    beyond = next(row for row in rows if row["name"] == "crossing batch beyond 803")
    assert beyond["expected"] == ["∞", "∞"]


def test_the_reference_programs_lines_are_printed_as_it_prints_them(capsys):
    assert main(["--reference"]) == 0
    assert capsys.readouterr().out.splitlines() == list(TRIAL.program.lines())
    assert main(["--reference", "--fault", "skipped reference count"]) == 1
    assert "✗ 7 hits, 5 blocks in use: expected 7, 5, observed 7, 1" in capsys.readouterr().err


def test_the_matrix_is_printed_with_its_counts(capsys):
    assert main(["--matrix"]) == 0
    text = capsys.readouterr().out
    assert "reference's assertions: 2 of 8 caught" in text
    assert "our invariants: 8 of 8 caught" in text


@pytest.mark.parametrize("arguments", [["--seed", "0"], ["--fault", "gremlins"]])
def test_what_cannot_be_run_is_refused_in_a_sentence(arguments, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    assert "must be" in capsys.readouterr().err


def test_a_searched_queue_alone_breaks_nothing():
    """The faults' kind of queue is sound: what is caught is the fault and not the queue."""
    for claim in CLAIMS:
        assert run_claim(claim, SearchedPool).holds, claim.name
