"""What section 7 says: summary, sentences, readouts with their arithmetic, tables and notes."""

from __future__ import annotations

from typing import Any

import numpy as np

from core.acceptance import tokens_variance
from core.checks import GROUPS, Outcome, tolerance_words, words
from core.derivation import Derivation, Term
from core.reference_program import ALPHA, GAMMA
from core.sabotage import FAULTS, SOUND
from core.speculation_arithmetic import tokens_per_target_pass
from core.units import counted, significant
from widgets.base import SectionResult
from widgets.checked_record import ASSERTIONS, OURS, Record
from widgets.readouts import Readout

SHOWN_FAILURES = 3
STATEMENTS = {fault.name: fault.statement for fault in FAULTS}


def result_of(record: Record) -> SectionResult:
    """Everything the section shows of a run."""
    return SectionResult(
        summary=_summary(record),
        readouts=_readouts(record),
        tables={
            "claims": _claims_table(record),
            "sabotage": record.matrix.columns(),
            "latencies": record.sweep.columns(),
        },
        sentences={
            "claims": _claims_sentence(record),
            "sabotage": _sabotage_sentence(record),
            "latencies": latencies_sentence(record),
        },
        data=record,
        notes=_notes(record),
    )


def in_order(record: Record) -> list[Outcome]:
    """Those that fail first, and otherwise as they were run."""
    return sorted(record.outcomes, key=lambda outcome: outcome.holds)


def _summary(record: Record) -> str:
    total_ms = 1e3 * sum(outcome.time_s for outcome in record.outcomes)
    held = f"{record.held} of {len(record.outcomes)} claims hold at seed {record.seed:,}"
    ran = f"{held}; running them took {significant(total_ms, 2)} ms."
    if record.fault == SOUND:
        return f"No fault is on. {ran}"
    own = [outcome for outcome in record.failed if outcome.check.group == ASSERTIONS]
    noticed = (
        f"The reference's own assertions notice it: {', '.join(o.check.name for o in own)}."
        if own
        else "The reference's own assertions all hold."
    )
    return f"“{record.fault}” is on. {STATEMENTS[record.fault]} {ran} {noticed}"


def _claims_sentence(record: Record) -> str:
    parts = []
    for group in GROUPS:
        inside = [outcome for outcome in record.outcomes if outcome.check.group == group]
        held = sum(outcome.holds for outcome in inside)
        parts.append(f"{group}: {held} of {len(inside)}")
    return f"Claims that hold, by group. {'; '.join(parts)}."


def _sabotage_sentence(record: Record) -> str:
    total = len(record.matrix.faults)
    own, ours = record.matrix.caught_by(ASSERTIONS), record.matrix.caught_by(OURS)
    listed = f" ({', '.join(own)})" if own else ""
    return (
        f"The reference's assertions catch {len(own)} of {total} faults{listed}; "
        f"our invariants catch {len(ours)} of {total}."
    )


def latencies_sentence(record: Record) -> str:
    """How far apart the policies are over the seeds, and how many seeds are a tie."""
    sweep = record.sweep
    first, last = f"{sweep.seed[0]:,}", f"{sweep.seed[-1]:,}"
    slots = counted(sweep.slots, "slot")
    ties = int(sweep.ties.sum())
    if ties == len(sweep.seed):
        return (
            f"Seeds {first} to {last} on {slots}: every one is a tie. "
            "With one slot there is nothing to refill early."
        )
    low, middle, high = (significant(float(np.quantile(sweep.ratio, q))) for q in (0, 0.5, 1))
    losses = int(sweep.losses.sum())
    longer = f" Continuous batching waits longer at {counted(losses, 'seed')}." if losses else ""
    return (
        f"Seeds {first} to {last} on {slots}: under static batching a request takes {low} to "
        f"{high} times as long, {middle} in the middle. {counted(ties, 'tie')}.{longer}"
    )


def _notes(record: Record) -> tuple[str, ...]:
    lines = [
        f"✗ fails: {outcome.check.name}. Expected {words(outcome.expected)}; "
        f"observed {words(outcome.observed)}."
        for outcome in record.failed[:SHOWN_FAILURES]
    ]
    more = len(record.failed) - SHOWN_FAILURES
    if more > 0:
        left = counted(more, "more; it stands", "more; they stand")
        lines.append(f"And {left} first in the data table.")
    return tuple(lines)


def _claims_table(record: Record) -> dict[str, Any]:
    outcomes = in_order(record)
    return {
        "verdict": np.array([outcome.verdict for outcome in outcomes]),
        "claim": np.array([outcome.check.name for outcome in outcomes]),
        "expected": np.array([words(outcome.expected) for outcome in outcomes]),
        "observed": np.array([words(outcome.observed) for outcome in outcomes]),
        "tolerance": np.array([tolerance_words(outcome.check) for outcome in outcomes]),
        "time_ms": np.array([outcome.time_s * 1e3 for outcome in outcomes]),
        "group": np.array([outcome.check.group for outcome in outcomes]),
        "source": np.array([outcome.check.source for outcome in outcomes]),
    }


def _readouts(record: Record) -> tuple[Readout, ...]:
    claims = Term("n_claims", len(record.outcomes))
    held = Derivation("claims that hold", "n_held", claims - Term("n_failed", len(record.failed)))
    failed = Derivation("claims that fail", "n_failed", claims - Term("n_held", record.held))
    faults = Term("n_faults", len(record.matrix.faults))
    caught = {group: len(record.matrix.caught_by(group)) for group in (ASSERTIONS, OURS)}
    own, ours = (
        Derivation(
            f"faults caught by {words_of}",
            f"n_{symbol}",
            faults - Term("n_missed", len(record.matrix.faults) - caught[group]),
        )
        for group, words_of, symbol in (
            (ASSERTIONS, "the reference's assertions", "assertions"),
            (OURS, "our invariants", "ours"),
        )
    )
    only = Derivation("faults that only ours catch", "n_only", ours.term - own.term)
    latency = _latency_steps(record)
    ties = _tie_steps(record)
    off = off_steps(record)
    sign = "+" if off[-1].value >= 0 else ""
    return (
        Readout("held", "claims that hold", f"{record.held}", f"of {claims.number}", (held,)),
        Readout("failed", "claims that fail", f"{len(record.failed)}", "", (failed,)),
        Readout(
            "assertions",
            "faults the reference's assertions catch",
            f"{caught[ASSERTIONS]}",
            f"of {faults.number}",
            (own,),
        ),
        Readout("ours", "faults ours catch", f"{caught[OURS]}", f"of {faults.number}", (ours,)),
        Readout(
            "latency",
            "mean latency, static ÷ continuous, 8 slots",
            significant(latency[-1].value),
            "×",
            latency,
        ),
        Readout("ties", "ties over the seeds", f"{int(ties[-1].value)}", "", ties),
        Readout(
            "off",
            "tokens a pass, off Equation 1",
            sign + significant(off[-1].value),
            "standard errors",
            off,
        ),
        Readout("only", "faults only ours catch", f"{int(only.value)}", "", (own, ours, only)),
    )


def _latency_steps(record: Record) -> tuple[Derivation, ...]:
    program = record.program
    requests = Term("n", len(program.stream))
    fixed, rolling = (
        Derivation(
            f"{name} mean latency, in steps",
            f"L_{name}",
            Term(f"Σ_{name}", int(outcome.latency_steps.sum())) / requests,
        )
        for name, outcome in (("static", program.fixed), ("continuous", program.rolling))
    )
    ratio = Derivation("static over continuous", "r", fixed.term / rolling.term)
    return fixed, rolling, ratio


def _tie_steps(record: Record) -> tuple[Derivation, ...]:
    sweep = record.sweep
    losses, ties = int(sweep.losses.sum()), int(sweep.ties.sum())
    static = len(sweep.seed) - losses - ties
    left = Term("n_seeds", len(sweep.seed)) - Term("n_static", static)
    return (Derivation("neither waits longer", "n_ties", left - Term("n_continuous", losses)),)


def off_steps(record: Record) -> tuple[Derivation, ...]:
    """Equation 1, the tokens it expects of all rounds, their spread, and how far off they are.

    In tokens of all rounds, because their whole numbers can be followed digit by digit.
    """
    rounds = record.program.rounds
    trials = Term("n", rounds.trials)
    (each,) = tokens_per_target_pass(ALPHA, GAMMA)
    expected = Derivation("tokens expected of all rounds", "E_n", trials * each.term)
    variance = Term("V", float(tokens_variance(ALPHA, GAMMA)))
    spread = Derivation("their standard error", "s_n", (trials * variance) ** 0.5)
    tokens = Term("tokens", rounds.tokens)
    off = Derivation("standard errors off", "z", (tokens - expected.term) / spread.term)
    return each, expected, spread, off
