"""The roofline's step time taken apart once, so that an event loop can evaluate it in plain floats.

A step over n tokens takes max((n·a + A)·f, (read(n) + C)·b) + overhead, with A the attention FLOPs
and C the cache bytes of its composition. Every coefficient here is read off `core.roofline` at unit
points, so the formula stays in one place; the tests hold the two against each other.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

import numpy as np

from core.model_spec import ModelSpec
from core.roofline import cost_of_totals, decode_attention_flop
from core.scenario import Scenario


class PerCount(dict[int, float]):
    """A function of a whole number that is worked out once for each number met."""

    def __init__(self, function: Callable[[int], float]) -> None:
        super().__init__()
        self._function = function

    def __missing__(self, count: int) -> float:
        value = self[count] = self._function(count)
        return value


@dataclass(frozen=True, slots=True, eq=False)
class StepTerms:
    """Coefficients of one scenario's step time; `plain` where no layer has a window.

    In a plain model one decoding sequence at context S adds `decode_flop`·S attention FLOPs and
    `state_byte` + `cache_byte`·S cache bytes; `decode_at` and `chunk_at` answer for any model.
    Seconds per FLOP and per byte include the number of devices and the efficiencies. `read_s[n]`
    is the time that reading the weights for n tokens takes.
    """

    second_per_flop: float
    second_per_byte: float
    overhead_s: float
    token_flop: float
    decode_flop: float
    prefill_flop: float
    cache_byte: float
    state_byte: float
    plain: bool
    read_s: PerCount
    knots: tuple[int, ...] = ()
    segments: tuple[tuple[float, float, float, float], ...] = ()
    prefill_groups: tuple[tuple[float, float], ...] = ()

    @classmethod
    def of(cls, scenario: Scenario) -> StepTerms:
        """Read the coefficients off the scenario.

        Worked value: the 8B textbook model on the textbook A100 has 1.6e10 FLOP a token, 524,288
        FLOP and 131,072 B a position, and reads its weights in 8 ms.
        """
        model, width = scenario.model, scenario.cache_byte
        knots = sorted({g.window_token for g in model.attention if g.window_token is not None})
        return cls(
            second_per_flop=float(cost_of_totals(scenario, 0, 1, 0).compute_s),
            second_per_byte=float(cost_of_totals(scenario, 0, 0, 1).memory_s),
            overhead_s=scenario.overhead_s,
            token_flop=float(cost_of_totals(scenario, 1, 0, 0).flops),
            decode_flop=float(decode_attention_flop(model, 1)),
            prefill_flop=sum(group.prefill_flop_per_pair for group in model.attention),
            cache_byte=model.kv_bytes_per_token(width),
            state_byte=float(model.kv_bytes_per_sequence(0, width)),
            plain=not knots,
            read_s=_reads(scenario),
            knots=tuple(knots),
            segments=_segments(model, width, [0, *knots]),
            prefill_groups=tuple((g.prefill_flop_per_pair, g.reach_token) for g in model.attention),
        )

    @classmethod
    def unit(cls) -> StepTerms:
        """The reference program's world: every step takes one unit, whatever is in it."""
        no_read = PerCount(lambda _: 0.0)
        return cls(0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, plain=True, read_s=no_read)

    def decode_at(self, context: int) -> tuple[float, float, float, float]:
        """Attention FLOPs and cache bytes of a decode at `context`, each with its growth a token.

        Returned as (flop, flop growth, byte, byte growth). A layer stops growing at its window.
        """
        if self.plain:
            byte = self.state_byte + self.cache_byte * context
            return self.decode_flop * context, self.decode_flop, byte, self.cache_byte
        at = bisect_right(self.knots, context)
        flop, flop_growth, byte, byte_growth = self.segments[at]
        past = context - (self.knots[at - 1] if at else 0)
        return flop + flop_growth * past, flop_growth, byte + byte_growth * past, byte_growth

    def chunk_at(self, offset: int, tokens: int) -> tuple[float, float]:
        """Attention FLOPs and cache bytes of a prefill chunk, as `prefill_attention_flop` has them.

        The pairs that a window leaves are those of `core.roofline.causal_pairs`, in plain floats.
        """
        byte = self.decode_at(offset + tokens)[2]
        if self.plain:
            return self.prefill_flop * (offset + tokens * 0.5) * tokens, byte
        flop = 0.0
        for pair_flop, window in self.prefill_groups:
            growing = min(max(window - offset, 0.0), tokens)
            flop += pair_flop * (offset + growing * 0.5) * growing
            if growing < tokens:
                flop += pair_flop * window * (tokens - growing)
        return flop, byte


def _reads(scenario: Scenario) -> PerCount:
    """Seconds of reading weights by token count; a dense model reads the same for any."""
    if scenario.model.experts is None:
        dense_s = float(cost_of_totals(scenario, 1, 0, 0).memory_s)
        return PerCount(lambda _: dense_s)
    return PerCount(lambda tokens: float(cost_of_totals(scenario, tokens, 0, 0).memory_s))


def _segments(
    model: ModelSpec, width: float, starts: list[int]
) -> tuple[tuple[float, float, float, float], ...]:
    """(flop, growth, byte, growth) at the start of each stretch between windows."""
    here = np.asarray(starts, dtype=np.float64)
    flop, next_flop = decode_attention_flop(model, here), decode_attention_flop(model, here + 1)
    byte = model.kv_bytes_per_sequence(here, width)
    next_byte = model.kv_bytes_per_sequence(here + 1, width)
    rows = zip(flop, next_flop - flop, byte, next_byte - byte, strict=True)
    return tuple((float(a), float(b), float(c), float(d)) for a, b, c, d in rows)


class WindowExcess:
    """What windows spare the decoding requests of a step, and when the next one is reached.

    `flop` and `byte` are how much less the next step does than it would without windows, and the
    growths are what each further step adds to that. FLOPs and bytes are whole-valued floats, so
    the running sums stay exact.
    """

    __slots__ = ("_bends", "_terms", "byte", "byte_growth", "flop", "flop_growth")

    def __init__(self, terms: StepTerms) -> None:
        self._terms = terms
        self._bends: list[tuple[int, int, float, float]] = []
        self.flop = self.byte = self.flop_growth = self.byte_growth = 0.0

    def join(self, request: int, context: int, more: int, step: int) -> None:
        """A request decodes from step `step` on, `more` times, first at `context`."""
        self._add(context, 1)
        _, flop_growth, _, byte_growth = self._terms.decode_at(context)
        for window in self._terms.knots:
            if context < window <= context + more:
                _, flop_after, _, byte_after = self._terms.decode_at(window)
                spared = (flop_growth - flop_after, byte_growth - byte_after)
                heappush(self._bends, (step + window - context, request, *spared))
                flop_growth, byte_growth = flop_after, byte_after

    def leave(self, context: int) -> None:
        """A request whose next step would have had `context` no longer decodes."""
        self._add(context, -1)

    def drop(self, request: int) -> None:
        """Forget the windows that a preempted request has still ahead of it."""
        self._bends = [bend for bend in self._bends if bend[1] != request]
        heapify(self._bends)

    def advance(self, steps: int) -> None:
        """Let `steps` steps pass in which no window is reached before the last one ends."""
        self.flop += steps * self.flop_growth
        self.byte += steps * self.byte_growth

    def settle(self, step: int) -> None:
        """Account for the windows that are full at step `step`."""
        while self._bends and self._bends[0][0] <= step:
            _, _, flop, byte = heappop(self._bends)
            self.flop_growth += flop
            self.byte_growth += byte

    def next_step(self, otherwise: int) -> int:
        """The next step at which a window is full, or `otherwise` where that is sooner."""
        return min(self._bends[0][0], otherwise) if self._bends else otherwise

    def _add(self, context: int, sign: int) -> None:
        terms = self._terms
        flop, flop_growth, byte, byte_growth = terms.decode_at(context)
        self.flop += sign * (terms.decode_flop * context - flop)
        self.byte += sign * (terms.state_byte + terms.cache_byte * context - byte)
        self.flop_growth += sign * (terms.decode_flop - flop_growth)
        self.byte_growth += sign * (terms.cache_byte - byte_growth)
