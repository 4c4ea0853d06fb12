"""The one request engine: from event to event, with every run of like steps closed at once.

A step takes every running request that decodes one token further and fills what is left of the
token budget with prefill: first the prompts already begun, then the queue in order of arrival.
Between events (an arrival that can be admitted, a chunk, a finish, a window reached, the roofline's
bound changing sides, the cache running full) the composition stays the same and each step takes a
constant amount longer than the one before, so that a run of k steps is an arithmetic series.

Conventions. Output token j of a prompt of p tokens is produced by a step that sees p + j − 1
cached positions: the last prefill chunk makes token 1, and the first decode has context p + 1.
When the cache is full, the request admitted last is preempted: its cache is dropped, it goes back
to the front of the queue with its answer so far, and its next prefill recomputes prompt and answer.
No request is admitted in the step of a preemption. Source: vLLM's documentation and v1 scheduler.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from math import ceil, inf, sqrt
from typing import TypeAlias

from core.admission import UNLIMITED, Admission
from core.engine_log import EngineLog

_TURNS_BETWEEN_CALLS = 4096

Progress: TypeAlias = Callable[[int, int], bool | None]
"""Called now and then with requests finished and requests in all; False stops the run."""

_Frame: TypeAlias = tuple[float, int, int, int, int, int, int, float, float, bool]


class StoppedError(Exception):
    """The progress hook asked the engine to stop; there is no result."""


class Engine(Admission):
    """Runs one stream once. `run` returns the log of what happened."""

    __slots__ = ()

    def run(self, progress: Progress | None = None) -> EngineLog:
        """Run to the end. Raises `StoppedError` where `progress` returns False."""
        while True:
            running = self._turns(_TURNS_BETWEEN_CALLS)
            self.log.pack()
            finished = self.head - self.live - len(self.resumed)
            if progress is not None and progress(finished, self.requests) is False and running:
                raise StoppedError(f"stopped after {finished:,} of {self.requests:,} requests")
            if not running:
                return self.log.build(self.now, self.step)

    # One function, because a call for each event would take as long as the event: the clock and
    # the counts live in local variables, and what is rare is a method, between _save and _load.
    def _turns(self, count: int) -> bool:  # noqa: PLR0912, PLR0915
        """Up to `count` turns of the loop; False once everything has finished."""
        terms, windows, room, log = self.terms, self.windows, self.room, self.log
        prompt, output, arrival, final_byte = (
            self.prompt,
            self.output,
            self.arrival,
            self.final_byte,
        )
        finishing, pending, emitting, kept = self.finishing, self.pending, self.emitting, self.kept
        order, finish = self.order, log.finish
        runs, chunks, admitted, first_token = log.runs, log.chunks, log.admitted, log.first_token
        bits, mask = self.bits, (1 << self.bits) - 1
        budget, most, safe_byte = (
            self.policy.token_budget,
            self.policy.max_sequences,
            self.safe_byte,
        )
        flop_s, byte_s, overhead_s, read_s = (
            terms.second_per_flop,
            terms.second_per_byte,
            terms.overhead_s,
            terms.read_s,
        )
        prefill_flop, state_byte, cache_byte = (
            terms.prefill_flop,
            terms.state_byte,
            terms.cache_byte,
        )
        token_s, decode_s = terms.token_flop * flop_s, terms.decode_flop * flop_s
        state_s, cache_s = state_byte * byte_s, cache_byte * byte_s
        rare = self._is_rare()
        now, step, stop, batch, context, head, live, open_at, commit, blocked = self._load()
        for _ in range(count):
            tokens = 0
            if open_at <= now or pending:
                left, flop, byte = budget - batch, 0.0, 0.0
                while open_at <= now and left > 0 and live < most and not rare:
                    commit += final_byte[head]
                    if commit > safe_byte:
                        commit -= final_byte[head]
                        rare = True
                        break
                    target = prompt[head]
                    chunk = target if target < left else left
                    if windows is None:
                        flop += prefill_flop * (chunk * 0.5) * chunk
                        byte += state_byte + cache_byte * chunk
                    else:
                        chunk_flop, chunk_byte = terms.chunk_at(0, chunk)
                        flop += chunk_flop
                        byte += chunk_byte
                    chunks += (step, head, 0, chunk)
                    tokens += chunk
                    left -= chunk
                    if chunk == target:
                        emitting.append(head)
                    else:
                        pending.append([head, chunk, target])
                        rare = True
                    order.append(head)
                    admitted[head] = now
                    live += 1
                    head += 1
                    open_at = arrival[head]
                if rare and left > 0:
                    self._save(
                        now, step, stop, batch, context, head, live, open_at, commit, blocked
                    )
                    self.step_token, self.step_flop, self.step_byte = tokens, flop, byte
                    self.schedule(left)
                    tokens, flop, byte = self.step_token, self.step_flop, self.step_byte
                    _, _, stop, batch, context, head, live, open_at, commit, blocked = self._load()
                    rare = self._is_rare()
                if not tokens:
                    blocked, open_at = True, inf
            if tokens:
                total = batch + tokens
                compute = total * token_s + context * decode_s + flop * flop_s
                memory = read_s[total] + batch * state_s + context * cache_s + byte * byte_s
                if windows is not None:
                    compute -= windows.flop * flop_s
                    memory -= windows.byte * byte_s
                    windows.advance(1)
                first = (compute if compute > memory else memory) + overhead_s
                runs += (now, first, 0.0, 1, batch, context, tokens)
                now += first
                step += 1
                context += batch
                for request in emitting:
                    if kept and request in kept:
                        made = self.take_up(request, now)
                    else:
                        made = 1
                        first_token[request] = now
                    batch += 1
                    context += prompt[request] + made
                    last_step = step + output[request] - made
                    heappush(finishing, last_step << bits | request)
                    if last_step < stop:  # noqa: PLR1730 - a call to min costs more than the step
                        stop = last_step
                    if windows is not None:
                        windows.join(request, prompt[request] + made, last_step - step, step)
                        stop = windows.next_step(stop)
                emitting.clear()
            elif batch:
                compute = batch * token_s + context * decode_s
                memory = read_s[batch] + batch * state_s + context * cache_s
                growth, other_growth = batch * decode_s, batch * cache_s
                if windows is not None:
                    compute -= windows.flop * flop_s
                    memory -= windows.byte * byte_s
                    growth -= windows.flop_growth * flop_s
                    other_growth -= windows.byte_growth * byte_s
                if compute > memory:
                    first, lead = compute, compute - memory
                else:
                    first, lead = memory, memory - compute
                    growth, other_growth = other_growth, growth
                steps = stop - step
                if other_growth > growth and (steps - 1) * (other_growth - growth) > lead:
                    steps = ceil(lead / (other_growth - growth)) or 1
                first += overhead_s
                end = now + (steps * first + growth * (steps * (steps - 1) * 0.5))
                if end > open_at and steps > 1:
                    wait, half = open_at - now, first - growth * 0.5
                    root = 2.0 * wait / (half + sqrt(half * half + 2.0 * growth * wait))
                    # Only a root near a whole number could be rounded to the wrong side of it.
                    steps = int(root) + (root % 1.0 > 1e-6) or 1
                    end = now + (steps * first + growth * (steps * (steps - 1) * 0.5))
                    while end < open_at:
                        steps += 1
                        end = now + (steps * first + growth * (steps * (steps - 1) * 0.5))
                if commit > safe_byte:
                    self._save(
                        now, step, stop, batch, context, head, live, open_at, commit, blocked
                    )
                    fits = self.secure(steps)
                    if not fits:
                        _, _, stop, batch, context, head, live, open_at, commit, blocked = (
                            self._load()
                        )
                        rare = True
                        continue
                    if fits < steps:
                        steps = fits
                        end = now + (steps * first + growth * (steps * (steps - 1) * 0.5))
                runs += (now, first, growth, steps, batch, context, 0)
                now = end
                step += steps
                context += steps * batch
                if windows is not None:
                    windows.advance(steps)
            elif now < open_at < inf:
                now = open_at
            else:
                break
            if step >= stop:
                if windows is not None:
                    windows.settle(step)
                stop = finishing[0] >> bits if finishing else UNLIMITED
                while stop <= step:
                    request = heappop(finishing) & mask
                    stop = finishing[0] >> bits if finishing else UNLIMITED
                    batch -= 1
                    context -= prompt[request] + output[request]
                    live -= 1
                    commit -= final_byte[request]
                    finish[request] = now
                    if windows is not None:
                        windows.leave(prompt[request] + output[request])
                    if room is not None and room.follows:
                        room.release(request)
                if windows is not None:
                    stop = windows.next_step(stop)
                if blocked and (self.policy.continuous or not live):
                    blocked = False
                    open_at = -1.0 if self.resumed else arrival[head]
        else:
            self._save(now, step, stop, batch, context, head, live, open_at, commit, blocked)
            return True
        self._save(now, step, stop, batch, context, head, live, open_at, commit, blocked)
        if live or self.resumed or head < self.requests:
            raise ValueError(
                f"the cache refuses request {self.resumed[-1] if self.resumed else head} "
                "although nothing else runs"
            )
        return False

    def _is_rare(self) -> bool:
        """Whether the next prefill step needs more than fresh prompts admitted in order."""
        policy, room = self.policy, self.room
        return (
            not (policy.continuous and policy.chunked and policy.max_chunk_token == UNLIMITED)
            or (room is not None and room.follows)
            or bool(self.pending or self.resumed or self.commit > self.safe_byte)
        )

    def _load(self) -> _Frame:
        return (
            self.now,
            self.step,
            self.stop,
            self.batch,
            self.context,
            self.head,
            self.live,
            self.open_at,
            self.commit,
            self.blocked,
        )

    def _save(
        self,
        now: float,
        step: int,
        stop: int,
        batch: int,
        context: int,
        head: int,
        live: int,
        open_at: float,
        commit: float,
        blocked: bool,
    ) -> None:
        self.now, self.step, self.stop, self.batch, self.context = now, step, stop, batch, context
        self.head, self.live, self.open_at = head, live, open_at
        self.commit, self.blocked = commit, blocked
