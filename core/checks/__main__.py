"""`python -m core.checks`: run every claim and print what was expected and what was seen.

Exits 1 where a claim fails. `--json` prints for machines, `--reference` the reference program's
five lines, `--matrix` which claims notice which fault.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence

from core.checks import CHECKS, GROUPS, Matrix, Outcome, Trial, matrix, run_checks
from core.checks.check import tolerance_words, words
from core.checks.program import ASSERTIONS
from core.console import run
from core.sabotage import FAULTS, SOUND


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m core.checks", description=__doc__)
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--json", action="store_true", help="print the outcomes as JSON")
    kind.add_argument(
        "--reference", action="store_true", help="print the reference program's five lines"
    )
    kind.add_argument("--matrix", action="store_true", help="print which claim notices which fault")
    parser.add_argument("--seed", type=int, default=9, help="a state of xorshift32 (9)")
    parser.add_argument(
        "--fault",
        default=SOUND,
        help=f"break one part on purpose: {', '.join(fault.name for fault in FAULTS)}",
    )
    chosen = parser.parse_args(arguments)
    try:
        trial = Trial(chosen.fault, chosen.seed)
    except ValueError as error:
        parser.error(str(error))
    if chosen.matrix:
        _print_matrix(matrix(trial.seed))
        return 0
    outcomes = run_checks(ASSERTIONS if chosen.reference else CHECKS, trial)
    if chosen.reference:
        print(*trial.program.lines(), sep="\n")
        for outcome in outcomes:
            if not outcome.holds:
                print(_failure(outcome), file=sys.stderr)
    elif chosen.json:
        print(json.dumps([outcome.row() for outcome in outcomes], ensure_ascii=False, indent=1))
    else:
        _print_table(outcomes)
    return int(not all(outcome.holds for outcome in outcomes))


def _failure(outcome: Outcome) -> str:
    expected = words(outcome.expected)
    return f"✗ {outcome.check.name}: expected {expected}, observed {words(outcome.observed)}"


def _print_table(outcomes: Sequence[Outcome]) -> None:
    rows = [
        (
            outcome.verdict,
            outcome.check.name,
            words(outcome.expected, 32),
            words(outcome.observed, 32),
            tolerance_words(outcome.check),
            f"{outcome.time_s * 1e3:.2f} ms",
            outcome.check.source,
        )
        for outcome in outcomes
    ]
    head = ("", "claim", "expected", "observed", "tolerance", "time", "source")
    widths = [max(len(row[column]) for row in [head, *rows]) for column in range(6)]
    for group in GROUPS:
        print(f"\n{group}")
        inside = [
            row for row, outcome in zip(rows, outcomes, strict=True) if outcome.check.group == group
        ]
        for row in [head, *inside]:
            cells = [text.ljust(width) for text, width in zip(row, widths, strict=False)]
            print("  ".join([*cells, row[-1]]).rstrip())
    failed = [outcome for outcome in outcomes if not outcome.holds]
    total_ms = sum(outcome.time_s for outcome in outcomes) * 1e3
    print(f"\n{len(outcomes) - len(failed)} of {len(outcomes)} claims hold, in {total_ms:.0f} ms.")
    for outcome in failed:
        print(_failure(outcome))


def _print_matrix(found: Matrix | None) -> None:
    assert found is not None  # nothing stops a run without a report
    for number, fault in enumerate(found.faults, 1):
        print(f"{number} {fault}")
    print("\n✗ the claim fails, and so catches the fault · the claim still holds")
    for group in GROUPS:
        rows = [i for i, check in enumerate(found.checks) if check.group == group]
        if not rows:
            continue
        caught = len(found.caught_by(group))
        print(f"\n{group}: {caught} of {len(found.faults)} caught")
        print(" ".join(str(n) for n in range(1, len(found.faults) + 1)))
        for i in rows:
            print(" ".join("✗" if seen else "·" for seen in found.caught[i]), found.checks[i].name)


if __name__ == "__main__":
    sys.exit(run(main))
