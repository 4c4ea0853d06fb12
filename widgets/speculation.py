"""Section 6: speculative decoding by formula, by simulation and on real text.

When does guessing beat waiting?
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import param

from core.ngram import MAX_TEXT_BYTE, MIN_TEXT_TOKEN
from core.speculation import expected_tokens, speedup
from core.units import counted, significant
from widgets.base import ChartSpec, Control, Job, Preset, SectionModel, SectionResult, log_stops
from widgets.predict import Prediction
from widgets.speculation_prose import prose_numbers
from widgets.speculation_readouts import Settings
from widgets.speculation_result import MAX_BATCH, result_of
from widgets.speculation_snippet import snippet
from widgets.speculation_sources import DOT_GAMMAS, FORMULA, SIMULATION, SOURCE_WORDS, TEXT
from widgets.speculation_text import (
    CORPUS_WORDS,
    DRAFTER_WORDS,
    LOOKUP,
    MAX_GAMMA,
    OWN,
    TextChoice,
    TextRun,
    own_corpus,
    text_run,
)
from widgets.speculation_view import SpeculationView

MAX_CONTEXT, MAX_COST, MAX_RUN_TOKENS = 131_072, 10.0, 5_000
SAMPLED, GREEDY = "sampled", "greedy"
FIXED, ADAPTIVE = "fixed", "adaptive"
_ALPHAS = [round(0.05 * i, 2) for i in range(21)]
_COSTS = [0, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.125, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.75, 1]

_BATCH = {"spec_batch": 32, "spec_context": 2_048}


class Speculation(SectionModel):
    """A draft proposes, the target verifies: what that yields, and when it stops paying."""

    alpha = param.Number(0.8, bounds=(0, 1), label="Acceptance α")
    gamma = param.Integer(4, bounds=(0, MAX_GAMMA), label="Draft length γ")
    draft_cost = param.Number(0.1, bounds=(0, MAX_COST), label="Draft cost c")
    spec_source = param.Parameter(FORMULA, label="Source")
    spec_batch = param.Integer(_BATCH["spec_batch"], bounds=(1, MAX_BATCH), label="Batch")
    spec_context = param.Integer(_BATCH["spec_context"], bounds=(1, MAX_CONTEXT), label="Context")
    corpus = param.Parameter("prose", label="Text")
    drafter = param.Parameter("2", label="Draft")
    sampling = param.Parameter(SAMPLED, label="Choice")
    adaptive = param.Parameter(FIXED, label="γ from pass to pass")
    target_order = param.Parameter(4, label="Target")
    run_tokens = param.Integer(500, bounds=(100, MAX_RUN_TOKENS), label="Tokens of a run")
    own_text = param.String("", label="Your own text")
    spec_pass = param.Integer(1, bounds=(0, MAX_RUN_TOKENS), label="Pass")

    slug = "speculation"
    controls = (
        Control(
            "alpha",
            "Acceptance α",
            "",
            _ALPHAS,
            hint="The chance that the target keeps a draft token. On real text it is measured, "
            "and this moves the formula's line only.",
        ),
        Control("gamma", "Draft length γ", "", list(range(MAX_GAMMA + 1))),
        Control(
            "draft_cost",
            "Draft cost c",
            "",
            _COSTS,
            hint="The time of one draft pass over the time of one target pass.",
        ),
        Control("spec_source", "Source", options=SOURCE_WORDS),
        Control("spec_batch", "Batch", "", log_stops(1, MAX_BATCH), more=True),
        Control("spec_context", "Context", "tokens", log_stops(128, MAX_CONTEXT), more=True),
        Control(
            "adaptive",
            "γ from pass to pass",
            options={FIXED: "fixed", ADAPTIVE: "adaptive: 5, +2, −1"},
            more=True,
            hint="Adaptive: starts at 5 (on text at γ), two more after a full match, one fewer "
            "otherwise, never below 1.",
        ),
        Control("corpus", "Text", options=CORPUS_WORDS, more=True),
        Control("drafter", "Draft", options=DRAFTER_WORDS, more=True),
        Control(
            "target_order",
            "Target",
            options={order: f"n-gram of order {order}" for order in range(2, 7)},
            more=True,
        ),
        Control(
            "sampling",
            "Choice of a token",
            options={SAMPLED: "sampled", GREEDY: "greedy: the likeliest"},
            more=True,
        ),
        Control("run_tokens", "Tokens of a run", "", [500, 1_000, 2_000, 3_000, 5_000], more=True),
        Control(
            "own_text",
            "Your own text, for target and draft",
            kind="text",
            limit=MAX_TEXT_BYTE,
            more=True,
            wide=True,
            linked=False,
            hint="At least 100 tokens. It stays out of links, and in the server's memory only.",
        ),
        Control(
            "spec_pass", "Step through the passes", kind="stepper", more=True, with_strips=True
        ),
    )
    presets = (
        Preset(
            "Leviathan's translation",
            {**_BATCH, "spec_source": FORMULA, "alpha": 0.75, "gamma": 7, "draft_cost": 0.02},
        ),
        Preset(
            "weak draft",
            {**_BATCH, "spec_source": FORMULA, "alpha": 0.2, "gamma": 4, "draft_cost": 0.2},
        ),
        Preset(
            "big batch",
            {
                "spec_source": FORMULA,
                "alpha": 0.8,
                "gamma": 4,
                "draft_cost": 0.1,
                "spec_batch": 256,
                "spec_context": 512,
            },
        ),
        Preset(
            "long context",
            {
                "spec_source": FORMULA,
                "alpha": 0.8,
                "gamma": 4,
                "draft_cost": 0.1,
                "spec_batch": 12,
                "spec_context": 32_768,
            },
        ),
        Preset(
            "the reference's draws",
            {**_BATCH, "spec_source": SIMULATION, "alpha": 0.8, "gamma": 4, "draft_cost": 0.1},
        ),
        Preset(
            "prose, sampled",
            {
                **_BATCH,
                "spec_source": TEXT,
                "corpus": "prose",
                "drafter": "2",
                "sampling": SAMPLED,
                "run_tokens": 2_000,
                "gamma": 4,
                "draft_cost": 0.1,
            },
        ),
        Preset(
            "code by look-up",
            {
                **_BATCH,
                "spec_source": TEXT,
                "corpus": "code",
                "drafter": LOOKUP,
                "sampling": GREEDY,
                "run_tokens": 500,
                "gamma": 8,
                "draft_cost": 0,
            },
        ),
    )
    charts = (
        ChartSpec(
            "speedup-gamma",
            "Speedup against the length of the draft",
            "Line: the formula at the α set. ● simulated, ◆ on real text, each with 2 standard "
            "errors either way; dashes: the formula at the α measured there. ○ is the present "
            "choice.",
        ),
        ChartSpec(
            "speedup-batch",
            "Speedup against batch",
            "Line: the model at this context; hatched: batches that do not fit. ◆ measured for 8B "
            "models by the authors of EAGLE-3, read from secondary copies. Those servers draft "
            "with trained heads of unknown α and c, and pay for launches, sampling and scheduling, "
            "which the model leaves out.",
        ),
        ChartSpec(
            "acceptance",
            "Acceptance by position in the draft",
            "Among drafts whose earlier tokens were all kept. Line: one α for every position.",
            height=240,
        ),
    )
    assumptions = (
        "The formula takes each draft token to be accepted with the same chance α, whatever "
        "happened before it.",
        "Against batch, a pass scores γ + 1 tokens for each sequence and costs what section 1's "
        "floor says; all sequences draft equally many tokens and have the same context.",
        "A draft pass takes c times a plain step of the same batch, and draft and target take "
        "turns. The draft's own weights and cache take no memory here.",
        "On text, target and draft are n-gram models over words, marks and spaces with one "
        "vocabulary and one set of counts. They stand for a large and a small model; a look-up "
        "drafts what followed the last tokens when they last appeared.",
        "A run continues the first 200 tokens of its text; sampled runs use one fixed seed, so "
        "they come out the same each time.",
        "Standard errors take passes as independent, which on text they are only roughly.",
    )

    # The runs made so far for one choice of text; another choice starts a new, empty store, so a
    # job that is given up writes into one that nobody reads.
    _store: tuple[TextChoice, dict[tuple[int, bool], TextRun]] | None = None

    def compute(self) -> SectionResult | Job:
        settings = self._settings()
        if settings.source != TEXT:
            return result_of(self.scenario, settings, {})
        return self._on_text(settings)

    def _on_text(self, settings: Settings) -> SectionResult | Job:
        """At once where one run is quick; the runs at other γ follow as a job, and are kept."""
        scenario, choice, runs = self.scenario, settings.text, self._runs(settings.text)
        chosen = (settings.gamma, settings.adaptive)
        wanted = [chosen, *((gamma, False) for gamma in DOT_GAMMAS)]
        if choice.quick and chosen not in runs:
            runs[chosen] = text_run(choice, *chosen)
        missing = [key for key in dict.fromkeys(wanted) if key not in runs]

        def work(report: Callable[[float], bool]) -> SectionResult | None:
            for done, key in enumerate(missing):
                if not report(done / len(missing)):
                    return None
                runs[key] = text_run(choice, *key)
            return result_of(scenario, settings, runs)

        job = Job(f"Runs of {counted(choice.tokens, 'token')} at every γ", work)
        if chosen not in runs:
            return job
        return replace(result_of(scenario, settings, runs), then=job if missing else None)

    def _runs(self, choice: TextChoice) -> dict[tuple[int, bool], TextRun]:
        if self._store is None or self._store[0] != choice:
            self._store = (choice, {})
        return self._store[1]

    def _settings(self) -> Settings:
        return Settings(
            source=self.spec_source,
            alpha=float(self.alpha),
            gamma=self.gamma,
            cost=float(self.draft_cost),
            batch=self.spec_batch,
            context=self.spec_context,
            adaptive=self.adaptive == ADAPTIVE,
            text=TextChoice(
                corpus=self.corpus,
                own_text=self.own_text if self.corpus == OWN else "",
                target_order=self.target_order,
                drafter=self.drafter,
                sampled=self.sampling == SAMPLED,
                tokens=self.run_tokens,
            ),
            at_pass=self.spec_pass,
        )

    def control_state(self) -> dict[str, dict[str, Any]]:
        run = None
        if self.spec_source == TEXT and self._store is not None:
            run = self._store[1].get((self.gamma, self.adaptive == ADAPTIVE))
        last = run.passes if run is not None else 0
        return {"spec_pass": {"value": min(self.spec_pass, last), "max": last}}

    def check(self, values: Mapping[str, Any]) -> None:
        """As every section; a text of one's own must be one that a model can be fitted on."""
        super().check(values)
        text = values.get("own_text", self.own_text)
        if values.get("own_text"):
            try:
                own_corpus(text)
            except ValueError as error:
                reason = str(error).removeprefix("text ")
                raise ValueError(f"Your own text was not taken: it {reason}") from error
        if values.get("corpus") == OWN and not text:
            raise ValueError(
                "there is no text of your own here yet; paste one under “More controls”. "
                "A link does not carry it"
            )

    def apply(self, values: Mapping[str, Any]) -> None:
        """Set inputs; a text that is handed in is also chosen, and one taken back is left."""
        if dict(values) == {"own_text": ""} and not self.own_text:
            raise ValueError(f"there is no text in the box; paste at least {MIN_TEXT_TOKEN} tokens")
        self.check(values)
        chosen: dict[str, Any] = {}
        if values.get("own_text"):
            chosen = {"corpus": OWN, "spec_source": TEXT}
        elif values.get("own_text") == "" and self.corpus == OWN:
            chosen = {"corpus": "prose"}
        super().apply({**chosen, **values})

    def prediction(self) -> Prediction:
        alpha, cost, few, many = 0.8, 0.1, 4, 16
        now, then = (float(speedup(alpha, gamma, cost)) for gamma in (few, many))
        free = float(expected_tokens(alpha, many))

        def option(value: float) -> str:
            word = "faster" if value > now else "slower" if value < now else "the same"
            return f"{word}, {value:.2f}×"

        return Prediction(
            question=f"The target keeps a draft token with chance {alpha}, and a draft pass costs "
            f"a tenth of a target pass. With γ = {few} decoding is {significant(now)}× as fast. "
            f"And with γ = {many}?",
            options=tuple(option(value) for value in (free, now, then, 1.0)),
            answer=option(then),
            because=f"All {many} drafts are paid for, and a pass costs {many * cost + 1:g} steps; "
            f"but few of them survive, so it yields {significant(free)} tokens. Only if drafts "
            "cost nothing would that be the speedup.",
            covers=("speedup-gamma", "speedup-batch", "speedup", "best", "batch", "summary"),
        )

    def prose(self) -> dict[str, str]:
        return prose_numbers()

    def snippet(self) -> str:
        return snippet(self.scenario, self._settings())


SECTION = (Speculation, SpeculationView)
