"""Section 4: paged caches and shared prefixes. Where does each token live, and who shares it?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import param

from core.kv_cache import tokens_that_fit
from core.pool_script import Operation, check_fits, parse_script, run_script
from core.pool_stories import REFERENCE_PREFIX_TOKEN, story
from core.scenario import Scenario
from core.units import counted
from widgets import paging_trace
from widgets.base import (
    ChartSpec,
    Control,
    Job,
    Preset,
    SectionModel,
    SectionResult,
    Strip,
    log_stops,
)
from widgets.paging_picture import MAX_DRAWN, Story, draw, tell
from widgets.paging_prose import prediction, prose, snippet
from widgets.paging_shown import (
    BUDGET_TOKEN,
    END,
    EXAMPLE,
    MAX_TEXT,
    RESERVE_TOKEN,
    RULE_SETS,
    RULES,
    STORIES,
    YOURS,
    Fits,
    Shown,
    fit_all,
)
from widgets.paging_trace import TraceReuse
from widgets.paging_view import QUEUE_HEIGHT, PagingView
from widgets.paging_words import event_sentence, readouts, sentences, summary, tables
from widgets.predict import Prediction

# A longer file is read and measured behind a progress bar.
MAX_AT_ONCE = 300_000
STRIP_ITEMS = 13


class Paging(SectionModel):
    """A pool of blocks stepped through one event at a time, and what paging and reuse gain."""

    pool_step = param.Integer(END, bounds=(0, 1_000_000), label="Step", doc=f"{END:,}: the end")
    pool_story = param.Parameter("shared", label="Story")
    block_size = param.Integer(4, bounds=(1, 512), label="Block size")
    pool_blocks = param.Integer(16, bounds=(1, 100_000), label="Pool size")
    pool_rules = param.Parameter("document", label="Rules")
    shared_prefix = param.Integer(REFERENCE_PREFIX_TOKEN, bounds=(0, 4_096), label="Shared prefix")
    reserve_length = param.Integer(RESERVE_TOKEN, bounds=(500, BUDGET_TOKEN))
    pool_requests = param.String(EXAMPLE, label="Your own requests")

    slug = "paged-caches"
    controls = (
        Control(
            "pool_step",
            "One event a step",
            kind="stepper",
            wide=True,
            hint="The arrow keys step too, and Home and End go to the ends.",
        ),
        Control("pool_story", "Story", options=STORIES),
        Control("block_size", "Block size", "tokens", [1, 2, 3, 4, 5, 6, 8, 12, 16, 32, 64, 128]),
        Control(
            "pool_blocks",
            "Pool size",
            "blocks",
            [4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 32, 48, 64, 256, 1_000, 10_000, 100_000],
        ),
        Control("pool_rules", "Eviction rule", options=RULES, more=True),
        Control(
            "shared_prefix",
            "Shared prefix",
            "tokens",
            [0, 1, 2, 3, 4, 6, 8, 11, 12, 13, 16, 20, 24, 28, 32, 40, 48, 64, 128, 256],
            more=True,
            hint="How many tokens the prompts of the stories have in common at their beginning.",
        ),
        Control(
            "reserve_length",
            "Reservation",
            "tokens",
            log_stops(512, BUDGET_TOKEN, 2),
            more=True,
            hint="Slots reserved for each sequence in the chart of reserved and paged memory.",
        ),
        Control(
            "pool_requests",
            "Your own requests",
            kind="text",
            limit=MAX_TEXT,
            more=True,
            wide=True,
            hint="“A: some words” asks for blocks, “A + more words” grows, “release A” ends; "
            "“A salt=team1: some words” shares only with the same salt. Words and numbers are "
            "tokens.",
        ),
        Control(
            "trace_file",
            "A trace of your own, CSV or JSONL with hash_ids",
            kind="file",
            limit=paging_trace.MAX_FILE_BYTE,
            more=True,
            wide=True,
            hint="Columns arrival_ms, prompt, output, hash_ids, or Mooncake's timestamp, "
            "input_length, output_length, hash_ids.",
        ),
    )
    presets = tuple(
        Preset(
            STORIES[name],
            {
                "pool_story": name,
                "pool_step": END,
                "block_size": 4,
                "pool_blocks": MAX_DRAWN if name == "busy" else 16,
                "pool_rules": "document",
                "shared_prefix": REFERENCE_PREFIX_TOKEN,
            },
        )
        for name in STORIES
        if name != YOURS
    )
    charts = (
        ChartSpec(
            "pool",
            "The pool",
            "A tile is a block: its number, # where its content is cached (heavy edge), the "
            "request that holds it × its references. Hatched: the empty part of a partial block. "
            "Grey: free, with content that can still be found. Framed: the block of this step.",
            height=340,
        ),
        ChartSpec(
            "tables",
            "The block tables",
            "One row a request: its blocks in the order of its tokens. Point at a block to find "
            "it in all three charts.",
            height=340,
        ),
        ChartSpec(
            "queue",
            "The free queue",
            "New blocks are taken from the head, top left; released blocks join the tail.",
            height=QUEUE_HEIGHT,
            alone=True,
        ),
        ChartSpec(
            "reserved",
            "Reserved against paged",
            "▨ holds tokens, pale: taken and empty. The dark bars are Kwon et al.'s.",
            below=True,
            height=380,
        ),
        ChartSpec(
            "reuse",
            "Prefix reuse of a trace, against the size of the cache",
            "○ is the cache that the scenario's memory holds beside the weights.",
            below=True,
            height=380,
        ),
    )
    assumptions = (
        "A request gets the blocks of its whole prompt at once or is refused; nothing is "
        "preempted.",
        "The prefill of skipped tokens is counted as a step of their own for each request, at the "
        "scenario's floor. Where it is short it is mostly the reading of the weights, which a "
        "busy server does anyway; only the arithmetic of a long prefix is really saved.",
        "Equal tokens are not enough to share: everything before them must be equal too. Contents "
        "are compared, not only their hashes.",
        "Reserved and paged memory hold the same sequences, 50 to 500 tokens each, drawn by the "
        "reference program's generator and admitted in order until one does not fit.",
        "The share in use is taken of the slots handed out. Kwon et al. measured whole servers, "
        "whose reservations also leave gaps between one another.",
        "A trace is replayed in order with one least-recently-used cache, without regard to time; "
        "an id stands for 512 tokens, the last of a prompt for what is left of it.",
        "The scenario's cache is what 0.90 of the memory leaves beside the weights, all of it for "
        "prefixes: running requests need part of it.",
    )

    def __init__(self, scenario: Scenario, **params: Any) -> None:
        self._told: tuple[tuple[Any, ...], Story] | None = None
        self._fits: Fits | None = None
        self._trace = paging_trace.synthetic()
        self._waiting: tuple[str, str] | None = None
        self._files = 0
        super().__init__(scenario, **params)

    def compute(self) -> SectionResult:
        return replace(self._result(self._trace), then=self._job())

    def _result(self, reuse: TraceReuse) -> SectionResult:
        told = self._story()
        step = min(self.pool_step, len(told.playback))
        shown = Shown(
            scenario=self.scenario,
            story=told,
            step=step,
            picture=draw(told, step),
            fits=self._fitted(),
            reuse=reuse,
            capacity_token=tokens_that_fit(self.scenario),
        )
        return SectionResult(
            summary=summary(shown),
            readouts=readouts(shown),
            tables=tables(shown),
            sentences=sentences(shown),
            data=shown,
            notes=(*self._beyond(step), *told.run.skipped, *reuse.notes),
            strips=(_operations(shown),),
        )

    def _beyond(self, step: int) -> tuple[str, ...]:
        if self.pool_step in (step, END):
            return ()
        return (
            f"The story has {counted(step, 'step')} now; step {self.pool_step:,} is shown as its "
            "end.",
        )

    def _fitted(self) -> Fits:
        asked = (self.reserve_length, self.block_size)
        if self._fits is None or (self._fits.reserve, self._fits.block_size) != asked:
            self._fits = fit_all(*asked)
        return self._fits

    def _story(self) -> Story:
        key = (
            self.pool_story,
            self.block_size,
            self.pool_blocks,
            self.pool_rules,
            self.shared_prefix,
            self.pool_requests,
        )
        if self._told is None or self._told[0] != key:
            run = run_script(
                self.operations(self.inputs()),
                num_blocks=self.pool_blocks,
                block_size=self.block_size,
                rules=RULE_SETS[self.pool_rules],
            )
            self._told = (key, tell(run))
        return self._told[1]

    @staticmethod
    def operations(inputs: Mapping[str, Any]) -> tuple[Operation, ...]:
        """What the chosen story asks of the pool."""
        if inputs["pool_story"] == YOURS:
            return parse_script(inputs["pool_requests"])
        return story(inputs["pool_story"], int(inputs["shared_prefix"]))

    def control_state(self) -> dict[str, dict[str, Any]]:
        shown: Shown = self.result.data
        trace = self._trace.name if self._trace.dropped else ""
        return {
            "pool_step": {
                "max": len(shown.story.playback),
                "value": shown.step,
                "said": event_sentence(shown),
            },
            "trace_file": {"name": trace},
        }

    def check(self, values: Mapping[str, Any]) -> None:
        text = values.get("pool_requests")
        if isinstance(text, str) and len(text) <= 100 * MAX_TEXT:
            parse_script(text)  # what is wrong in a line is said before that there is too much
        super().check(values)

    def check_together(self, inputs: Mapping[str, Any]) -> None:
        if {**inputs, "pool_step": self.pool_step} == self.inputs():
            return
        check_fits(
            self.operations(inputs),
            num_blocks=int(inputs["pool_blocks"]),
            block_size=int(inputs["block_size"]),
        )

    def apply(self, values: Mapping[str, Any]) -> None:
        """Set inputs; a text of requests alone also chooses it, for else it would not be seen.

        The last step is kept as “the end”, so that the end stays in view when the story changes.
        """
        asked = dict(values)
        if "pool_requests" in asked and "pool_story" not in asked:
            asked["pool_story"] = YOURS
        if set(asked) == {"pool_step"} and asked["pool_step"] == len(self._story().playback):
            asked["pool_step"] = END
        super().apply(asked)

    def take_file(self, key: str, name: str, text: str) -> list[str]:
        paging_trace.check_size(name, text)
        if len(text) <= MAX_AT_ONCE:
            self._trace = _measured(name, text)
            self._waiting = None
        else:
            self._waiting = (name, text)
        self._files += 1
        return []

    def _job(self) -> Job | None:
        """Reading and measuring a large file, until that has been done."""
        if self._waiting is None:
            return None
        name, text = self._waiting

        def work(report: Callable[[float], bool]) -> SectionResult | None:
            report(0.05)
            try:
                reuse = _measured(name, text)
            except ValueError:
                self._waiting = None
                raise
            return self._result(reuse) if report(1.0) else None

        return Job(f"Reading {name}", work)

    def job_done(self, result: SectionResult) -> None:
        self._trace, self._waiting = result.data.reuse, None
        super().job_done(result)

    def job_given_up(self) -> None:
        self._waiting = None

    def state_key(self) -> tuple[Any, ...]:
        return (*super().state_key(), self._files)

    def prediction(self) -> Prediction:
        return prediction()

    def prose(self) -> dict[str, str]:
        return prose()

    def snippet(self) -> str:
        shown: Shown = self.result.data
        return snippet(shown, self.inputs())


def _measured(name: str, text: str) -> TraceReuse:
    stream = paging_trace.read(name, text)
    return paging_trace.measure(stream, name, dropped=True, notes=(stream.source,))


def _operations(shown: Shown) -> Strip:
    """What is asked around the present step, in order; the present operation is marked."""
    run = shown.story.run
    now = run.operation_at(shown.step)
    first = max(0, min(now - STRIP_ITEMS // 2, len(run.operations) - STRIP_ITEMS))
    window = range(first, min(first + STRIP_ITEMS, len(run.operations)))
    items = [
        (run.operations[i].words, "past" if i < now else "now" if i == now else "next")
        for i in window
    ]
    before = [("…", "past")] if window.start else []
    after = [("…", "next")] if window.stop < len(run.operations) else []
    return Strip("story", "The story", (*before, *items, *after))


SECTION = (Paging, PagingView)
