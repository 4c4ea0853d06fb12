"""Section 8: where serving numbers mislead. Which number would you quote, and to whom?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import param

from core.devices import DEVICES
from core.measured_bands import A100_KERNELS, efficiencies
from core.models import MODELS
from core.ngram import pieces
from core.scenario import Scenario
from core.streaming import answer_timeline, cache_hit_timing
from core.units import quantity, significant
from widgets import caveats_prose, caveats_words
from widgets.base import ChartSpec, Control, Job, Preset, SectionModel, SectionResult, log_stops
from widgets.caveats_readouts import readouts
from widgets.caveats_run import (
    BLOCK_TOKEN,
    CONTEXT,
    OWN_TOKEN,
    PROMPT,
    Runs,
    Settings,
    figures,
    run_stream,
)
from widgets.caveats_view import CHART_HEIGHT, CaveatsView
from widgets.predict import Prediction
from widgets.prose import CONTENT

MAX_ANSWER, MAX_PREFIX = 1500, 8192
PIECES = tuple(pieces((CONTENT / "corpora" / "prose.txt").read_text(encoding="utf-8"))[:MAX_ANSWER])
EXAMPLE = Scenario(MODELS["8B"], DEVICES["A100"])

_OFF, _ON = "off", "on"


def kernel_choices() -> dict[str, float]:
    """The scenario's efficiencies, in per cent, at which the example takes as measured."""
    e_c, e_b = efficiencies(EXAMPLE, A100_KERNELS, batch=32, context=CONTEXT, prompt=PROMPT)
    return {"overhead": 0, "compute": round(100 * e_c, 1), "bandwidth": round(100 * e_b, 1)}


_PLAIN = {
    "model": "8B",
    "device": "A100",
    "devices": 1,
    "weights": "bf16",
    "cache": "bf16",
    "arithmetic": "bf16",
}


class Caveats(SectionModel):
    """A floor and what was measured, an answer streamed and whole, a cache that gives away."""

    reading_rate = param.Number(100, bounds=(0.5, 1000), label="Answer speed")
    wait_noise = param.Number(50, bounds=(1, 5000), label="Noise in the wait")
    salt = param.Selector(default=_OFF, objects=[_OFF, _ON], label="Cache salts")
    played_tokens = param.Integer(1000, bounds=(1, MAX_ANSWER), label="Answer")
    known_prefix = param.Integer(2048, bounds=(0, MAX_PREFIX), label="Shared prefix")
    salt_groups = param.Integer(10, bounds=(2, 50), label="Groups with a salt each")
    stream_rate = param.Number(4, bounds=(0.1, 200), label="Arrivals")
    quoted_batch = param.Integer(32, bounds=(1, 512), label="Decode batch")

    slug = "caveats"
    player_pieces = PIECES
    controls = (
        Control(
            "overhead",
            "Overhead per step",
            "ms",
            [0, 0.5, 1, 2, 3, 5, 7.5, 10, 15, 20, 30, 50],
            scope="scenario",
        ),
        Control(
            "reading_rate",
            "Answer speed",
            "tokens/s",
            [1, 2, 5, 10, 20, 30, 50, 75, 100, 150, 200, 300],
        ),
        Control("wait_noise", "Noise in the wait", "ms", [*range(5, 50, 5), *range(50, 501, 10)]),
        Control(
            "salt", "Cache salts", options={_OFF: "none: all share", _ON: "one for each group"}
        ),
        Control(
            "compute",
            "Efficiency of compute",
            "%",
            list(range(20, 101)),
            scope="scenario",
            more=True,
        ),
        Control(
            "bandwidth",
            "Efficiency of bandwidth",
            "%",
            list(range(20, 101)),
            scope="scenario",
            more=True,
        ),
        Control("played_tokens", "Answer", "tokens", [50, 100, 200, 500, 1000, 1500], more=True),
        Control("known_prefix", "Shared prefix", "tokens", log_stops(64, MAX_PREFIX, 2), more=True),
        Control("salt_groups", "Groups with a salt each", "", [2, 3, 5, 10, 20, 50], more=True),
        Control(
            "stream_rate",
            "Arrivals",
            "requests/s",
            [0.1, 0.2, 0.5, 1, 2, 3, 4, 5, 6, 8, 10, 20, 50, 100, 200],
            more=True,
        ),
        Control("quoted_batch", "Decode batch", "", log_stops(1, 512, 2), more=True),
    )
    presets = (
        Preset(
            "measured A100 kernels",
            {**_PLAIN, **kernel_choices(), "quoted_batch": 32},
            "own-band",
        ),
        Preset("back to the floor", {"overhead": 0, "compute": 100, "bandwidth": 100}, "own-band"),
        Preset("at reading pace", {"reading_rate": 5, "played_tokens": 100}, "player"),
        Preset(
            "a quiet observer",
            {"wait_noise": 10, "salt": _OFF, "known_prefix": 2048},
            "side-channel",
        ),
        Preset("salted", {"salt": _ON, "salt_groups": 10, "known_prefix": 2048}, "side-channel"),
        Preset(
            "near overload", {"stream_rate": 8, "known_prefix": 2048, "salt": _OFF}, "side-channel"
        ),
    )
    charts = (
        ChartSpec(
            "own-band",
            "This page's decode step, and where a served one would lie",
            "Hatched: floor times the measured band of a served 70B on as many devices.",
        ),
        ChartSpec(
            "side-channel",
            "Time to first token of a hit and of a miss",
            "Outlined: the prefix is cached. Hatched: it is not. Dashed: where an observer draws "
            "the line.",
        ),
        ChartSpec(
            "bands",
            "Measured time over the floor",
            "Bars: the middle 80 % of measured points; ◆ their median. × rows that beat the floor. "
            "Solid line: the floor. Dashed: the setting of this page.",
            below=True,
            height=CHART_HEIGHT,
            wide=True,
        ),
    )
    assumptions = (
        "Bands are measured time over this project's floor at data-sheet peaks: tenth, fiftieth "
        "and ninetieth percentile. They were measured on other models and chips than yours may "
        "be, so the band around your step is a guide.",
        "Served 70B: 8-bit weights, mean gap between tokens over the floor of a decode step. The "
        "gaps contain other requests' prefills. Beyond 8 devices the band of 8 is shown.",
        "The steps are at a context of 2,048 and, with the prompt, 4,096 tokens more.",
        "A token of the played answer is a word or a mark. Its first token comes when its prompt "
        "is prefilled on an idle server, all others at one pace.",
        f"A prompt is the shared prefix and {OWN_TOKEN} tokens of its own. A hit skips full blocks "
        f"of {BLOCK_TOKEN} tokens.",
        "The observer sees one time to first token, hits and misses are equally likely, and the "
        "wait on top is gamma distributed with shape 4: never negative, mean twice its deviation.",
        "The stream is 100 requests with Poisson arrivals, answers of 128 tokens and own parts of "
        f"{OWN_TOKEN} on average, under a token budget of 2,048; groups take turns. “Warm” and "
        "“cold” are the same requests.",
    )

    def __init__(self, scenario: Scenario, **params: Any) -> None:
        self._runs: tuple[Any, Runs] | None = None
        super().__init__(scenario, **params)

    def compute(self) -> SectionResult:
        """Everything but the runs takes a millisecond or two, and charts need nothing else.

        Where a reader is looking, the runs follow as a job: until they are done, some 15 ms later,
        the readouts keep what the last ones said.
        """
        key = self._run_key()
        if self._runs is not None and self._runs[0] == key:
            return self._shown(self._runs[1])
        if self._runs is None or self.runner is None:
            self._runs = (key, run_stream(self.scenario, self.settings()))
            return self._shown(self._runs[1])
        return replace(self._shown(self._runs[1]), then=self._job(key))

    def _job(self, key: tuple[Any, ...]) -> Job:
        scenario, settings = self.scenario, self.settings()

        def work(report: Callable[[float], bool]) -> SectionResult | None:
            runs = run_stream(scenario, settings)
            if not report(1.0):
                return None
            self._runs = (key, runs)
            return self._shown(runs)

        return Job("Running the stream again", work)

    def job_given_up(self) -> None:
        self.result = self._shown(Runs(None, None, ("The stream was not run again.",)))

    def _shown(self, runs: Runs) -> SectionResult:
        found = figures(self.scenario, self.settings(), runs)
        return SectionResult(
            summary=caveats_words.summary(found),
            readouts=readouts(found),
            tables=caveats_words.tables(found),
            sentences=caveats_words.sentences(found),
            data=found,
            notes=found.runs.notes,
            player=caveats_words.player(found),
        )

    def settings(self) -> Settings:
        """The inputs in base units."""
        return Settings(
            batch=self.quoted_batch,
            token_per_s=self.reading_rate,
            answer_token=self.played_tokens,
            noise_s=self.wait_noise / 1e3,
            salted=self.salt == _ON,
            groups=self.salt_groups,
            prefix_token=self.known_prefix,
            rate_per_s=self.stream_rate,
        )

    def _run_key(self) -> tuple[Any, ...]:
        """What the runs hang on: they are made anew only where some of it has moved."""
        settings = self.settings()
        return (self.scenario, settings.traffic, settings.groups if settings.salted else 1)

    def prediction(self) -> Prediction:
        timing = cache_hit_timing(EXAMPLE, 2048, OWN_TOKEN)
        answer = answer_timeline(timing.miss_s, 100, 1000)
        first = f"after {answer.ttft_s:.1g} s"
        end = f"after {significant(answer.e2e_s, 2)} s"
        return Prediction(
            question="An answer of 1,000 tokens is made at 100 a second: ten seconds of work. If "
            "it is streamed, when can its first word be read?",
            options=(first, "after 1 s", "after 5 s", end),
            answer=first,
            because=f"The first token is there when the prompt is: {timing.prompt_token:,} tokens "
            f"take {quantity(timing.miss_s, 's')} on an idle A100, as a floor. The last one comes "
            f"{end} either way.",
            covers=("player", "first"),
        )

    def prose(self) -> dict[str, str]:
        return caveats_prose.numbers()

    def snippet(self) -> str:
        return caveats_prose.snippet(self.scenario, self.settings(), self.result.data.runs)


SECTION = (Caveats, CaveatsView)
