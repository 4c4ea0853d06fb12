"""A stream of requests under a scenario and a policy: who waits, for how long, and for what.

Every step takes exactly what `core.roofline` says of its composition; the engine in `core.engine`
closes runs of like steps at once. Times are in seconds from the stream's own zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from core import kv_cache, validate
from core.admission import UNLIMITED, Policy
from core.cache_room import CacheRoom, CountedRoom
from core.engine import Engine, Progress, StoppedError
from core.engine_log import EngineLog, Preemption
from core.itl import ItlDistribution
from core.model_spec import MAX_TOKENS
from core.occupancy import occupancy, residences, slots
from core.requests import RequestStream
from core.scenario import Scenario
from core.step_terms import StepTerms

__all__ = ["BatchingPolicy", "Schedule", "StoppedError", "simulate"]

Floats = NDArray[np.float64]
BatchingPolicy = Literal["continuous", "static"]


@dataclass(frozen=True, slots=True, eq=False)
class Schedule:
    """What happened to every request of a stream. Arrays are in request order."""

    stream: RequestStream
    log: EngineLog

    @property
    def ttft_s(self) -> Floats:
        """Time to first token: from arrival, queue included, to the end of the last chunk."""
        return self.log.first_token - self.stream.arrival

    @property
    def e2e_s(self) -> Floats:
        """From arrival to last token."""
        return self.log.finish - self.stream.arrival

    @property
    def queue_s(self) -> Floats:
        """From arrival to the step that admitted the request first."""
        return self.log.admitted - self.stream.arrival

    @property
    def tpot_s(self) -> Floats:
        """(end to end − TTFT)/(n − 1); NaN for an answer of one token."""
        gaps = self.stream.output_token - 1.0
        return np.where(
            gaps > 0, (self.log.finish - self.log.first_token) / np.fmax(gaps, 1), np.nan
        )

    @property
    def itl_s(self) -> ItlDistribution:
        """The exact distribution of all gaps between tokens."""
        return ItlDistribution.of(self.log)

    @property
    def worst_itl_s(self) -> Floats:
        """Each request's longest gap; NaN for an answer of one token."""
        log = self.log
        if not log.start.size:
            return np.full(len(self.stream), np.nan)
        longest = np.append(log.first + log.growth * (log.steps - 1), -np.inf)
        begin = np.searchsorted(log.start, log.first_token)
        end = np.searchsorted(log.start, log.finish)
        worst = np.maximum.reduceat(longest, np.stack([begin, end], axis=1).ravel())[::2]
        if log.recomputed.size:
            request = log.recomputed[:, 0].astype(np.int64)
            np.maximum.at(worst, request, log.recomputed[:, 2] - log.recomputed[:, 1])
        return np.where(self.stream.output_token > 1, worst, np.nan)

    @property
    def duration_s(self) -> float:
        """From the first arrival to the last token."""
        return float(self.log.end - self.stream.arrival[0])

    @property
    def steps(self) -> int:
        """Forward passes in all."""
        return self.log.total_steps

    @property
    def preemptions(self) -> tuple[Preemption, ...]:
        """Who lost its cache, when, and how many tokens it had made by then."""
        return self.log.preemptions

    def itl_of(self, request: int) -> tuple[Floats, Floats]:
        """One watcher's gaps: (time at which each token but the first came, gap before it).

        Both have shape (output tokens − 1,). Raises `ValueError` for a request not in the stream.
        """
        which = validate.integer("request", request, 0, len(self.stream) - 1)
        log = self.log
        begin = int(np.searchsorted(log.start, log.first_token[which]))
        end = int(np.searchsorted(log.start, log.finish[which]))
        run = np.repeat(np.arange(begin, end), log.steps[begin:end].astype(np.intp))
        nth = np.concatenate([[0], *(np.arange(n) for n in log.steps[begin:end])])[1:]
        gap = log.first[run] + log.growth[run] * nth
        time = log.start[run] + (nth + 1) * log.first[run] + log.growth[run] * (nth + 1) * nth / 2
        for _, since, until in log.recomputed[log.recomputed[:, 0] == which]:
            # Steps begun in between were not this request's; its next token ends the last of them.
            away = (log.start[run] >= since) & (log.start[run] < until)
            back = int(np.flatnonzero(away)[-1])
            gap[back], time[back] = until - since, until
            away[back] = False
            run, gap, time = run[~away], gap[~away], time[~away]
        return time, gap

    def goodput_per_s(
        self,
        ttft_target_s: float,
        itl_target_s: float,
        *,
        judge: Literal["mean", "worst"] = "mean",
    ) -> float:
        """Requests a second that met both targets, over the whole run.

        A request's gaps are judged by their mean (TPOT, as serving benchmarks do) or by the worst
        of them. An answer of one token has no gap to miss the target with.
        """
        ttft = validate.number("ttft_target_s", ttft_target_s, 0, 1e9)
        itl = validate.number("itl_target_s", itl_target_s, 0, 1e9)
        validate.choice("judge", judge, ("mean", "worst"))
        gaps = self.tpot_s if judge == "mean" else self.worst_itl_s
        met = (self.ttft_s <= ttft) & ((self.stream.output_token == 1) | (gaps <= itl))
        return float(met.sum()) / self.duration_s

    def columns(self) -> dict[str, NDArray[Any]]:
        """One row a request: lengths, times and latencies."""
        return self.stream.columns() | {
            "admitted_s": self.log.admitted,
            "first_token_s": self.log.first_token,
            "finish_s": self.log.finish,
            "ttft_s": self.ttft_s,
            "tpot_s": self.tpot_s,
            "e2e_s": self.e2e_s,
        }

    def runs(self) -> dict[str, NDArray[Any]]:
        """One row a run of like steps: when, how many, how long each, and what is in them.

        `step_s` is the first step's time and `growth_s` what each further one adds.
        `context_token` is the sum of the decoding requests' contexts in the first step; it grows
        by `decoding` a step. A run with prefill in it is a single step.
        """
        log = self.log
        last = log.steps - 1
        return {
            "step": np.cumsum(log.steps) - log.steps,
            "start_s": log.start,
            "end_s": log.start + log.steps * log.first + log.growth * log.steps * last / 2,
            "steps": log.steps,
            "step_s": log.first,
            "growth_s": log.growth,
            "decoding": log.decoding,
            "context_token": log.context_token,
            "prefill_token": log.prefill_token,
        }

    def chunks(self) -> dict[str, NDArray[Any]]:
        """One row a prefill chunk: the step it is in, whose it is, its offset and length."""
        log = self.log
        return {
            "step": log.chunk_step,
            "request": log.chunk_request,
            "offset_token": log.chunk_offset,
            "chunk_token": log.chunk_token,
        }

    def gantt(self) -> dict[str, NDArray[Any]]:
        """One row a stretch of running: request, slot, begin and end."""
        request, begin, end = residences(self.log)
        return {"request": request, "slot": slots(begin, end), "begin_s": begin, "end_s": end}

    def occupancy(self) -> dict[str, NDArray[Any]]:
        """How many requests run (`busy`) and wait (`waiting`) from each `time` until the next."""
        return occupancy(self.stream.arrival, self.log)


def simulate(
    stream: RequestStream,
    scenario: Scenario,
    *,
    token_budget: int | None = 2048,
    chunked: bool = True,
    policy: BatchingPolicy = "continuous",
    max_sequences: int = 256,
    max_chunk_token: int | None = None,
    reserved_fraction: float | None = 0.90,
    cache_token: int | None = None,
    block_token: int = 16,
    room: CacheRoom | None = None,
    progress: Progress | None = None,
) -> Schedule:
    """Run a stream in seconds through a server.

    `token_budget` caps the tokens of a step (None: no cap); decodes come first. `chunked` lets a
    prompt be split over steps; without it a prompt waits until it fits whole. `policy` is
    "continuous" or "static" (a batch is formed when nothing runs, and runs until its last answer
    ends; a slot whose answer has ended stays empty and costs nothing). `max_chunk_token` caps one
    request's chunk in a step.

    The cache is what `reserved_fraction` of memory leaves beside the weights, or `cache_token`
    tokens, in blocks of `block_token`; with both None it has no end. A prompt's blocks are taken
    at admission, an answer's as it grows; when they run out, the request admitted last is
    preempted and recomputed. `room` puts another owner of the cache in their place (a block pool
    with prefix sharing). `progress(finished, requests)` is called now and then; when it returns
    False the run ends with `StoppedError`.

    Raises `ValueError` that names the request for one that could never run: longer than the cache,
    or longer than the token budget where nothing is chunked. Source of the rules: vLLM's
    optimization and tuning documentation.
    """
    validate.choice("unit of the stream", stream.unit, ("s",))
    validate.choice("policy", policy, ("continuous", "static"))
    budget = _limit("token_budget", token_budget, MAX_TOKENS)
    cap = _limit("max_chunk_token", max_chunk_token, MAX_TOKENS)
    if cap < UNLIMITED and not chunked:
        raise ValueError("max_chunk_token needs chunked, because it splits prompts; got both")
    if not chunked:
        # A recomputed prefill covers the answer so far too, so this is what vLLM asks for as well.
        _refuse_longer(stream, budget, "token_budget without chunked prefill is")
    terms = StepTerms.of(scenario)
    if room is None and not (reserved_fraction is None and cache_token is None):
        room = _counted_room(scenario, terms, reserved_fraction, cache_token, block_token)
        _refuse_too_large(stream, room)
    rules = Policy(
        continuous=policy == "continuous",
        token_budget=budget,
        chunked=chunked,
        max_sequences=validate.integer("max_sequences", max_sequences, 1, 10_000_000),
        max_chunk_token=cap,
    )
    return Schedule(stream, Engine(stream, terms, rules, room).run(progress))


def _limit(field: str, value: int | None, high: int) -> int:
    return UNLIMITED if value is None else validate.integer(field, value, 1, high)


def _counted_room(
    scenario: Scenario,
    terms: StepTerms,
    reserved_fraction: float | None,
    cache_token: int | None,
    block_token: int,
) -> CountedRoom:
    """The scenario's cache, or `cache_token` tokens of it where that is given."""
    if cache_token is not None:
        tokens = validate.integer("cache_token", cache_token, 1, 10**12)
        return CountedRoom(terms, tokens * terms.cache_byte, block_token)
    share = 0.90 if reserved_fraction is None else reserved_fraction
    room = kv_cache.capacity(scenario, 1, reserved_fraction=share)
    if not room.fits:
        raise ValueError(
            f"{scenario.model.name} does not fit: {room.weights_byte / 1e9:,.4g} GB of weights "
            f"into {room.usable_byte / 1e9:,.4g} GB"
        )
    return CountedRoom(terms, room.cache_byte, block_token)


def _refuse_longer(stream: RequestStream, limit: int, what: str) -> None:
    longest = stream.prompt_token + stream.output_token - 1
    if np.any(longest > limit):
        worst = int(np.argmax(longest > limit))
        raise ValueError(
            f"request {worst} comes to {longest[worst]:,} tokens, but {what} {limit:,}"
        )


def _refuse_too_large(stream: RequestStream, room: CountedRoom) -> None:
    longest = stream.prompt_token + stream.output_token - 1
    worst = int(np.argmax(longest))
    need = room.byte(int(longest[worst]))
    if need > room.safe_byte:
        raise ValueError(
            f"request {worst} comes to {longest[worst]:,} tokens and {need / 1e9:,.4g} GB of "
            f"cache, but the cache holds {room.safe_byte / 1e9:,.4g} GB"
        )
