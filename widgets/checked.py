"""Section 7: the checked simulator. Why believe these numbers?"""

from __future__ import annotations

from math import erfc, sqrt
from typing import Any

import param

from core.acceptance import expected_tokens
from core.checks import CHECKS
from core.reference_program import ALPHA, GAMMA, ROUNDS, SEED, SLOTS
from core.sabotage import FAULTS, SOUND
from core.units import exact, significant
from widgets.base import ChartSpec, Control, Job, Preset, SectionModel, SectionResult
from widgets.checked_record import ASSERTIONS, OURS, Record, Report, Runner, record
from widgets.checked_view import CLAIMS_HEIGHT, MATRIX_HEIGHT, SWEEP_HEIGHT, CheckedView
from widgets.checked_words import off_steps, result_of
from widgets.predict import Prediction

_REFERENCE = {"fault": SOUND, "claim_seed": SEED, "sweep_slots": SLOTS}


class Checked(SectionModel):
    """Every claim run live, sound or with a fault inside, at any seed.

    A card that nobody has come near shows a run of the server's (`record`). From `go_live` on each
    change runs every claim anew, as a job.
    """

    fault = param.Parameter(SOUND, label="Fault")
    claim_seed = param.Integer(SEED, bounds=(1, 2**32 - 1), label="Seed")
    sweep_slots = param.Integer(SLOTS, bounds=(1, 40), label="Slots of the sweep")

    slug = "checked-simulator"
    follows_scenario = False
    controls = (
        Control(
            "fault",
            "Fault",
            options={SOUND: "none: as it should be"} | {fault.name: fault.name for fault in FAULTS},
            hint="One line of the program, broken on purpose.",
        ),
        Control(
            "claim_seed",
            "Seed",
            "",
            list(range(1, 41)),
            hint="The state that the generator starts from, up to 4,294,967,295.",
        ),
        Control(
            "sweep_slots",
            "Slots of the sweep",
            "",
            [1, 2, 3, 4, 6, 8, 10, 12, 16, 20, 24, 32, 40],
            hint="For the chart of 500 seeds; the program itself has 8.",
        ),
    )
    presets = (
        Preset("the reference", _REFERENCE, "claims"),
        Preset("another seed", {**_REFERENCE, "claim_seed": 2024}, "claims"),
        Preset("a fault it misses", {**_REFERENCE, "fault": "unchained hash"}),
        Preset("a fault it catches", {**_REFERENCE, "fault": "acceptance off by one"}),
        Preset("one slot: ties", {**_REFERENCE, "sweep_slots": 1}, "latencies"),
    )
    charts = (
        ChartSpec(
            "claims",
            "Every claim, run now",
            "✓ holds. ✗ on a filled tile: fails. Point at one for what was expected and observed; "
            "in the data table those that fail stand first.",
            height=CLAIMS_HEIGHT,
            wide=True,
            open_table=True,
        ),
        ChartSpec(
            "sabotage",
            "Eight faults, and the claims that notice them",
            "Rows: the reference's assertions, its figures, our invariants; a heading counts the "
            "faults its rows catch. ✗ on a filled tile: the claim fails with this fault inside, so "
            "the fault is caught. · the claim still holds. The band marks the fault that is on.",
            height=MATRIX_HEIGHT,
        ),
        ChartSpec(
            "latencies",
            "500 seeds: static against continuous",
            "A dot a seed; ○ is the chosen one. On the dashed line both wait equally long: × is a "
            "tie.",
            height=SWEEP_HEIGHT,
        ),
    )
    assumptions = (
        "The program is at toy scale: 16 blocks of 4 tokens, 40 requests, 8 slots, one unit of "
        "time a step.",
        "The program's own figures are known at seed 9 only, so those claims run at seed 9 "
        "whatever the seed; its assertions and our invariants run at the chosen one.",
        "A claim that an error keeps from being decided counts as failed.",
        "The six faults of the pool run on a queue that, like the reference's deque, takes a block "
        "twice. The linked queue of this project refuses that at once.",
        "Times are those of this server, now; the first claim that asks for the program pays for "
        "its run.",
        "That a claim holds at the seeds tried is evidence and no proof.",
    )

    def __init__(self, *args: Any, **params: Any) -> None:
        self._runner = Runner()
        self._live = False
        super().__init__(*args, **params)

    def go_live(self) -> None:
        """From now on run the claims where the reader can watch; starts with the present ones."""
        if not self._live:
            self._live = True
            self.refresh()

    def state_key(self) -> tuple[Any, ...]:
        return (self._live, *super().state_key())

    def compute(self) -> SectionResult | Job:
        inputs = (self.fault, self.claim_seed, self.sweep_slots)
        if not self._live:
            return result_of(record(*inputs))

        def work(report: Report) -> SectionResult | None:
            found = self._runner.run(*inputs, report)
            return None if found is None else result_of(found)

        return Job(f"Running {len(CHECKS)} claims, 8 faults and 500 seeds", work)

    def prediction(self) -> Prediction:
        found = record().matrix
        own, total = found.caught_by(ASSERTIONS), len(found.faults)
        ours = len(found.caught_by(OURS))
        return Prediction(
            question=f"Break the program in {total} ways, one line each, one at a time. How many "
            "of them do the reference program's own assertions catch?",
            options=("0", str(len(own)), str(total - 3), str(total)),
            answer=str(len(own)),
            because=f"They notice “{own[0]}” and “{own[1]}”. The others leave every count that is "
            f"asserted as it was. Our invariants catch {ours}.",
            covers=("sabotage", "assertions", "ours", "only"),
        )

    def prose(self) -> dict[str, str]:
        return _prose(record())

    def snippet(self) -> str:
        return "\n".join(
            [
                "from core.checks import CHECKS, Trial, matrix, run_checks",
                "from core.checks.sweep import latency_sweep",
                "",
                f"trial = Trial(fault={self.fault!r}, seed={self.claim_seed})",
                "outcomes = run_checks(CHECKS, trial)",
                "held = sum(outcome.holds for outcome in outcomes)",
                'print("claims that hold:", held)',
                'print("claims that fail:", len(outcomes) - held)',
                "",
                f"found = matrix({self.claim_seed})",
                'theirs = found.caught_by("reference\'s assertions")',
                'ours = found.caught_by("our invariants")',
                'print("faults caught:", len(theirs), "and", len(ours), "of", len(found.faults))',
                'print("only by ours:", len(ours) - len(theirs))',
                "",
                "program = trial.program",
                'print(*program.lines(), sep="\\n")',
                'print("static over continuous:", '
                "program.fixed.mean_latency_steps / program.rolling.mean_latency_steps)",
                'print("standard errors off:", program.standard_errors_off)',
                f"sweep = latency_sweep(slots={self.sweep_slots}, batching=trial.parts.batching)",
                'print("ties:", int(sweep.ties.sum()))',
            ]
        )


def _prose(found: Record) -> dict[str, str]:
    """The numbers that the markdown asks for, all of the sound program at its own seed."""
    program, last = found.program, found.program.pool.moments[-1]
    own, ours = found.matrix.caught_by(ASSERTIONS), found.matrix.caught_by(OURS)
    off = off_steps(found)
    error, standard_errors = off[-2].value / ROUNDS, off[-1].value
    far = erfc(standard_errors / sqrt(2))
    sweep = found.sweep
    low, high = float(sweep.ratio.min()), float(sweep.ratio.max())
    return {
        "claims": f"{len(found.outcomes)}",
        "assertions": f"{sum(o.check.group == ASSERTIONS for o in found.outcomes)}",
        "faults": f"{len(found.matrix.faults)}",
        "caught_theirs": f"{len(own)}",
        "missed_theirs": f"{len(found.matrix.faults) - len(own)}",
        "caught_ours": f"{len(ours)}",
        "hits": f"{last.cache_hits}",
        "evictions": f"{last.evictions}",
        "static_steps": f"{program.fixed.steps}",
        "continuous_steps": f"{program.rolling.steps}",
        "static_latency": f"{program.fixed.mean_latency_steps:.1f}",
        "continuous_latency": f"{program.rolling.mean_latency_steps:.1f}",
        "reserved": f"{int(program.by_reservation.sequences)}",
        "paged": f"{int(program.by_blocks.sequences)}",
        "rounds": exact(ROUNDS),
        "tokens": exact(program.rounds.tokens),
        "measured": f"{program.rounds.mean:.3f}",
        "expected": f"{float(expected_tokens(ALPHA, GAMMA)):.3f}",
        "off": f"+{significant(standard_errors)}",
        "tolerance_errors": significant(0.02 / error, 2),
        "far": f"{significant(100 * far, 2)} %",
        "odds": f"{round(1 / far)}",
        "seeds": f"{len(sweep.seed)}",
        "ratio_low": significant(low),
        "ratio_high": significant(high),
        "sweep_ties": f"{int(sweep.ties.sum())}",
    }


SECTION = (Checked, CheckedView)
