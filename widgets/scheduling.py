"""Section 5: scheduling prefill against decode. Who waits when a long prompt arrives?"""

from __future__ import annotations

from typing import Any

import param

from core.scenario import Scenario
from core.units import counted
from widgets import scheduling_prose, scheduling_snippet, scheduling_tables, scheduling_text
from widgets.base import (
    ChartSpec,
    Control,
    Job,
    Preset,
    SectionModel,
    SectionResult,
    log_stops,
)
from widgets.predict import Prediction
from widgets.scheduling_prompt import NO_LIMIT, PromptPart, Question, prompt_part
from widgets.scheduling_stream import (
    Drawn,
    Outcome,
    Plan,
    Refused,
    Report,
    Sweeps,
    Trace,
    serve,
    sweep,
)
from widgets.scheduling_text import Shown, Targets
from widgets.scheduling_view import SchedulingView
from widgets.share import printable

MAX_PROMPT = MAX_CONTEXT = 131_072
MAX_DECODING = 512
MAX_REQUESTS = 1_000_000
FILE_LIMIT = 10_000_000
KNOWN_SWEEPS = 64

CHUNKS, WHOLE = "chunks", "whole"
CACHE_OFF, CACHE_ON = "off", "on"
AS_GIVEN, PACED, DRAWN = "given", "paced", "drawn"

_BUDGET_STOPS = [*log_stops(64, 16_384), NO_LIMIT]
_BUDGET_WORDS = {NO_LIMIT: "no limit"}
_RATES = [0.1, 0.2, 0.5, 1, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 18, 20]
_RATES += [25, 30, 40, 50, 75, 100, 150, 200]
_TARGETS_MS = [10, 15, 20, 30, 40, 50, 75, 100, 150, 200, 300, 500, 750, 1000, 1500, 2000, 3000]
_TARGETS_MS += [5000, 10_000, 20_000, 60_000]

_COUNTS = [200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000]
_COUNTS += [MAX_REQUESTS]

_REFERENCE: dict[str, Any] = {
    "budget": 2048,
    "decoding": 32,
    "arriving": 4096,
    "arrivals": 8.0,
    "overhead": 0,
    "decode_context": 2048,
    "second_budget": NO_LIMIT,
    "chunking": CHUNKS,
    "burstiness": 1.0,
    "mean_prompt": 1024,
    "mean_answer": 128,
    "memory_share": 0.9,
    "prefix_caching": CACHE_OFF,
    "ttft_target": 1000,
    "itl_target": 200,
}


class Scheduling(SectionModel):
    """A token budget between those who decode and those who wait for their first token."""

    budget = param.Integer(2048, bounds=(64, NO_LIMIT))
    decoding = param.Integer(32, bounds=(1, MAX_DECODING))
    arriving = param.Integer(4096, bounds=(1, MAX_PROMPT))
    arrivals = param.Number(8.0, bounds=(0.01, 1000))
    second_budget = param.Integer(NO_LIMIT, bounds=(64, NO_LIMIT))
    decode_context = param.Integer(2048, bounds=(1, MAX_CONTEXT))
    chunking = param.Parameter(CHUNKS)
    burstiness = param.Number(1.0, bounds=(0.0, 20.0))
    mean_prompt = param.Integer(1024, bounds=(1, MAX_PROMPT))
    mean_answer = param.Integer(128, bounds=(1, 16_384))
    length_spread = param.Number(1.0, bounds=(0.0, 5.0))
    load_requests = param.Integer(1000, bounds=(10, MAX_REQUESTS))
    ttft_target = param.Number(1000, bounds=(1, 600_000))
    itl_target = param.Number(200, bounds=(1, 600_000))
    judged_by = param.Parameter("worst")
    memory_share = param.Number(0.9, bounds=(0.1, 1.0))
    load_seed = param.Integer(9, bounds=(0, 2**32 - 1))
    stream_from = param.Parameter(AS_GIVEN)
    prefix_caching = param.Parameter(CACHE_OFF)
    common_prefix = param.Integer(512, bounds=(0, MAX_PROMPT))

    slug = "scheduling"
    controls = (
        Control("budget", "Token budget", "", _BUDGET_STOPS, words=_BUDGET_WORDS),
        Control("decoding", "Decoding sequences", "", log_stops(1, MAX_DECODING)),
        Control("arriving", "Prompt", "tokens", log_stops(128, MAX_PROMPT)),
        Control("arrivals", "Arrivals", "a second", _RATES),
        Control(
            "second_budget",
            "Second budget",
            "",
            _BUDGET_STOPS,
            more=True,
            words=_BUDGET_WORDS,
        ),
        Control(
            "overhead",
            "Overhead per step",
            "ms",
            [0, 0.5, 1, 1.5, 2, 3, 4, 5, 7.5, 10],
            scope="scenario",
            more=True,
            hint="What launching, sampling and scheduling add to every step.",
        ),
        Control(
            "chunking",
            "Prompts",
            options={CHUNKS: "split into chunks", WHOLE: "whole or not at all"},
            more=True,
        ),
        Control(
            "decode_context",
            "Context of decodes",
            "tokens",
            log_stops(128, MAX_CONTEXT),
            more=True,
        ),
        Control(
            "ttft_target",
            "First token within",
            "ms",
            _TARGETS_MS,
            more=True,
            hint="A request is in time when it meets both targets.",
        ),
        Control("itl_target", "Gap within", "ms", _TARGETS_MS, more=True),
        Control(
            "judged_by",
            "Gaps judged by",
            options={"worst": "worst gap", "mean": "mean gap"},
            more=True,
        ),
        Control(
            "memory_share",
            "Memory used",
            "",
            [0.22, 0.23, 0.24, *[round(0.25 + 0.05 * i, 2) for i in range(16)]],
            more=True,
            hint="The share for weights and cache; with less, the cache runs out sooner.",
        ),
        Control("mean_prompt", "Mean prompt", "tokens", log_stops(64, MAX_PROMPT), more=True),
        Control("mean_answer", "Mean answer", "tokens", log_stops(8, 4096), more=True),
        Control(
            "length_spread",
            "Spread of lengths",
            "",
            [0, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 2, 3],
            more=True,
            hint="Standard deviation over mean, of lognormal lengths; 0: all equal.",
        ),
        Control(
            "burstiness",
            "Burstiness",
            "",
            [0, 0.25, 0.5, 0.75, 1, 1.5, 2, 3, 4, 6, 8, 10, 14],
            more=True,
            hint="Standard deviation over mean of the times between arrivals; 1: Poisson.",
        ),
        Control(
            "load_requests",
            "Requests",
            "",
            _COUNTS,
            more=True,
        ),
        Control("load_seed", "Seed", "", list(range(1, 21)), more=True),
        Control(
            "prefix_caching",
            "Prefix caching",
            options={CACHE_OFF: "off", CACHE_ON: "on: section 4's pool holds the cache"},
            more=True,
            hint="What hits needs no prefill, and the pool's free blocks decide who is admitted.",
        ),
        Control(
            "common_prefix",
            "Common beginning",
            "tokens",
            [0, *log_stops(64, 16_384)],
            more=True,
            hint="With prefix caching, what all prompts begin with; a trace with hash ids says so "
            "itself.",
        ),
        Control(
            "stream_from",
            "Stream from",
            options={AS_GIVEN: "drawn as set here"},
            more=True,
            linked=False,
        ),
        Control(
            "stream_file",
            "Your own trace",
            kind="file",
            limit=FILE_LIMIT,
            more=True,
            hint="CSV or JSONL with an arrival, a prompt and an output column.",
        ),
    )
    presets = (
        Preset("reference case", _REFERENCE),
        Preset("latency", {**_REFERENCE, "budget": 512, "second_budget": 2048, "itl_target": 50}),
        Preset("throughput", {**_REFERENCE, "budget": 16_384, "second_budget": 2048}),
        Preset(
            "a shared system prompt",
            {**_REFERENCE, "prefix_caching": CACHE_ON, "common_prefix": 1024, "mean_prompt": 2048},
            "stream-waits",
        ),
        Preset(
            "overhead of 2 ms",
            {**_REFERENCE, "budget": 128, "second_budget": 512, "overhead": 2},
        ),
        Preset(
            "long document in a busy chat",
            {
                **_REFERENCE,
                "decoding": 128,
                "arriving": 32_768,
                "decode_context": 1024,
                "arrivals": 2.0,
                "mean_prompt": 4096,
                "mean_answer": 512,
                "memory_share": 0.5,
                "ttft_target": 10_000,
            },
        ),
    )
    charts = (
        ChartSpec(
            "watcher",
            "What somebody who is decoding sees",
            "Each bar is a step, as wide as it is long. Green: the step without the prompt; "
            "hatched: what the prompt adds. Dashed: under the second budget.",
        ),
        ChartSpec(
            "trade-off",
            "First token against longest gap, over budgets",
            "One point a budget; ○ is the chosen one. Dotted: the same with another overhead.",
        ),
        ChartSpec(
            "stream-gaps",
            "A whole stream: gaps between tokens",
            "Share of all gaps up to a length. Solid: the chosen budget, dashed: the second; ○ is "
            "the 99th percentile.",
        ),
        ChartSpec(
            "stream-waits",
            "A whole stream: first token and whole answer",
            "Share of requests. Solid: the chosen budget, dashed: the second; ▨ is the 99th "
            "percentile of the first token.",
        ),
        ChartSpec(
            "stream-server",
            "The same stream: who runs and who waits",
            "Requests running and waiting over time; × marks preemptions.",
        ),
        ChartSpec(
            "goodput",
            "Requests in time against arrivals",
            "The first 1,000 requests of the stream at each rate. ▼ is the knee: nine in ten are "
            "still in time. ○ is the present rate.",
        ),
    )
    assumptions = (
        "Every step takes what section 1 says of exactly what is in it: a floor, plus the overhead "
        "that you set.",
        "Decodes go first and prefill takes what is left of the budget, in order of arrival; "
        "nobody overtakes. At most 256 requests run at once.",
        "For the one prompt everybody decodes at the same context, which does not grow. In the "
        "stream every context grows by one a step.",
        "A chunk reads the cache of all that came before it in its prompt.",
        "When the cache runs out, the request admitted last loses its cache and waits at the front "
        "of the queue; then its prompt and its answer so far are computed again. Blocks hold 16 "
        "tokens; nothing is shared between requests.",
        "A drawn stream has independent lognormal lengths and gamma-distributed times between "
        "arrivals. Other rates stretch or squeeze the same arrivals.",
        "Runs end: past the knee the queue of a longer stream would be longer still.",
    )

    def __init__(self, scenario: Scenario, **params: Any) -> None:
        self._trace: Trace | None = None
        self._arriving: Trace | None = None
        self._prompted: PromptPart | None = None
        self._served: tuple[Plan, Outcome] | None = None
        self._swept: tuple[Plan, Sweeps] | None = None
        self._known_sweeps: dict[Plan, Sweeps] = {}
        self._judged: Targets | None = None
        super().__init__(scenario, **params)

    def control_options(self) -> dict[str, dict[str, Any]]:
        options = super().control_options()
        if self._trace is not None:
            options["stream_from"] = {
                AS_GIVEN: f"{self._trace.name}, as it came",
                PACED: f"{self._trace.name}, at the rate above",
                DRAWN: "drawn as set here",
            }
        return options

    def control_state(self) -> dict[str, dict[str, Any]]:
        return {"stream_file": {"name": self._trace.name if self._trace else ""}}

    def take_file(self, key: str, name: str, text: str) -> list[str]:
        if len(text) > FILE_LIMIT:
            raise ValueError(
                f"{name} has {len(text) / 1e6:.1f} MB; at most {FILE_LIMIT / 1e6:.0f} MB are read"
            )
        self._arriving = Trace(printable(name), text)
        return []

    def job_done(self, result: SectionResult) -> None:
        """A trace that could be read is the stream from now on."""
        shown: Shown = result.data
        self._served, self._judged = (shown.plan, shown.served), shown.targets
        self._swept = (shown.plan.sweep, shown.sweeps) if shown.sweeps else None
        self._remember()
        if self._arriving is not None and shown.plan.source is self._arriving:
            self._trace, self._arriving = self._arriving, None
            if self.stream_from == DRAWN:  # dropping a file chooses it
                self.stream_from = AS_GIVEN
        super().job_done(result)

    def job_given_up(self) -> None:
        """The stream stays what it was."""
        self._arriving = None

    def state_key(self) -> tuple[Any, ...]:
        return (*super().state_key(), self._arriving or self._trace)

    def compute(self) -> SectionResult:
        question = self._question()
        moved = self._prompted is None or self._prompted.question != question
        prompted = self._prompted = prompt_part(question) if moved else self._prompted
        plan, targets = self._plan(), self._targets()
        # What the reader moves is answered at once; the rest follows from a job.
        last = self._served[0] if self._served else None
        same = last is not None and last.scenario == plan.scenario
        if last is None:
            self._run(plan.quickly)
        elif plan.is_quick and last != plan and (same or not moved):
            self._run(plan)
        served_plan, served = self._served
        if plan.sweep in self._known_sweeps:
            self._swept = (plan.sweep, self._known_sweeps[plan.sweep])
        swept_plan, sweeps = self._swept or (None, None)
        # A stream that is still the last one is held against the targets that it was run for.
        self._judged = self._judged if served_plan != plan and self._judged else targets
        shown = Shown(prompted, served_plan, served, sweeps, self._judged)
        if (served_plan, swept_plan) == (plan, plan.sweep):
            return _result(shown)
        job = _job(prompted, plan, targets, self._served, self._swept)
        return _result(shown, then=job)

    def _remember(self) -> None:
        """A slider that comes back to a budget finds its load sweep done."""
        if self._swept is None or not isinstance(self._swept[0].source, Drawn):
            return
        plan, sweeps = self._swept
        self._known_sweeps[plan] = sweeps
        if len(self._known_sweeps) > KNOWN_SWEEPS:
            del self._known_sweeps[next(iter(self._known_sweeps))]

    def _run(self, plan: Plan) -> None:
        outcome = serve(plan, lambda _: True)
        assert outcome is not None, "nobody asked it to stop"
        self._served = (plan, outcome)

    def _question(self) -> Question:
        return Question(
            scenario=self.scenario,
            prompt=self.arriving,
            decoding=self.decoding,
            context=self.decode_context,
            budget=self.budget,
            second=self.second_budget,
            chunked=self.chunking == CHUNKS,
        )

    def _plan(self) -> Plan:
        trace = self._arriving or (None if self.stream_from == DRAWN else self._trace)
        drawn = Drawn(
            requests=self.load_requests,
            gap_cv=self.burstiness,
            mean_prompt=self.mean_prompt,
            mean_answer=self.mean_answer,
            length_cv=self.length_spread,
            seed=self.load_seed,
        )
        as_given = trace is not None and self.stream_from != PACED
        return Plan(
            scenario=self.scenario,
            source=trace or drawn,
            rate=None if as_given else self.arrivals,
            budgets=(self.budget, self.second_budget),
            chunked=self.chunking == CHUNKS,
            memory_share=self.memory_share,
            common_prefix=self.common_prefix if self.prefix_caching == CACHE_ON else None,
        )

    def _targets(self) -> Targets:
        return Targets(self.ttft_target / 1e3, self.itl_target / 1e3, self.judged_by)

    def prediction(self) -> Prediction:
        return scheduling_prose.prediction()

    def prose(self) -> dict[str, str]:
        return scheduling_prose.numbers()

    def snippet(self) -> str:
        plan = self._plan()
        outcome = self._served[1][0] if self._served and self._served[0] == plan else None
        never = outcome.why if isinstance(outcome, Refused) else ""
        return scheduling_snippet.snippet(self._question(), plan, self._targets(), never)


def _result(shown: Shown, then: Job | None = None) -> SectionResult:
    return SectionResult(
        summary=scheduling_text.summary(shown),
        readouts=scheduling_text.readouts(shown),
        tables=scheduling_tables.tables(shown),
        sentences=scheduling_text.sentences(shown),
        data=shown,
        notes=scheduling_text.notes(shown),
        strips=scheduling_text.strips(shown),
        then=then,
    )


def _job(
    prompted: PromptPart,
    plan: Plan,
    targets: Targets,
    served: tuple[Plan, Outcome],
    swept: tuple[Plan, Sweeps] | None,
) -> Job:
    """Run the stream, then run it at every rate; what is known of either is kept."""

    def work(report: Report) -> SectionResult | None:
        outcome = served[1]
        if served[0] != plan:
            ran = serve(plan, lambda part: report(0.5 * part))
            if ran is None:
                return None
            outcome = ran
        known = swept is not None and swept[0] == plan.sweep
        sweeps = swept[1] if known else sweep(plan.sweep, lambda part: report(0.5 + 0.5 * part))
        return None if sweeps is None else _result(Shown(prompted, plan, outcome, sweeps, targets))

    source = plan.source
    words = source.name if isinstance(source, Trace) else counted(source.requests, "request")
    return Job(f"Running {words} at every rate; the last stream stays until then", work)


SECTION = (Scheduling, SchedulingView)
