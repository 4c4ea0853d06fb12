"""The engine's rare cases: queues that hold more than fresh prompts, and a cache that runs full.

`core.engine` handles what is common in its loop and calls these methods for the rest. The rules
are the same in both: prompts already begun go first, then the queue in order of arrival.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heapify
from math import inf

import numpy as np

from core.cache_room import CacheRoom
from core.engine_log import LogBuilder, Preemption
from core.requests import RequestStream
from core.step_terms import StepTerms, WindowExcess

UNLIMITED = 1 << 60


@dataclass(frozen=True, slots=True)
class Policy:
    """Who may join a step. The defaults are continuous batching without a token budget.

    With `continuous` False a batch is formed from what has arrived once nothing runs any more.
    `chunked` False puts a prompt whole into one step. `max_chunk_token` caps one request's chunk.
    """

    continuous: bool = True
    token_budget: int = UNLIMITED
    chunked: bool = True
    max_sequences: int = UNLIMITED
    max_chunk_token: int = UNLIMITED


class Admission:
    """The state of one run, and what decides who joins a step and who is put off.

    The clock: `now` in time, `step` in steps; `stop` is the step at which somebody leaves or a
    window fills. Who decodes: `batch` of them, `context` the sum of their contexts in the next
    step, `finishing` their last steps as step << bits | request (so the heap compares integers).
    The queue: fresh requests from `head` on, behind those `resumed`; `open_at` is when its front
    may be admitted, inf while that must wait for somebody to leave (`blocked`). Who runs: `live`
    of them, `order` by admission; `pending` prefills as [request, offset, target]. The cache:
    `commit` bounds what everybody running can come to hold.
    """

    __slots__ = (
        "arrival",
        "batch",
        "bits",
        "blocked",
        "commit",
        "context",
        "emitting",
        "final_byte",
        "final_token",
        "finishing",
        "fits_until",
        "head",
        "kept",
        "live",
        "log",
        "now",
        "open_at",
        "order",
        "output",
        "pending",
        "policy",
        "prompt",
        "requests",
        "resumed",
        "room",
        "safe_byte",
        "step",
        "step_byte",
        "step_flop",
        "step_token",
        "stop",
        "tail_byte",
        "terms",
        "windows",
    )

    def __init__(
        self, stream: RequestStream, terms: StepTerms, policy: Policy, room: CacheRoom | None = None
    ) -> None:
        self.terms, self.policy, self.room = terms, policy, room
        self.requests = len(stream)
        self.arrival: list[float] = [*stream.arrival.tolist(), inf]
        self.prompt: list[int] = stream.prompt_token.tolist()
        self.output: list[int] = stream.output_token.tolist()
        self.log = LogBuilder(self.requests)
        self.windows = None if terms.plain else WindowExcess(terms)
        self.now, self.step, self.stop = 0.0, 0, UNLIMITED
        self.batch, self.context = 0, 0
        self.finishing: list[int] = []
        self.bits = self.requests.bit_length()
        self.head, self.open_at, self.blocked = 0, self.arrival[0], False
        self.resumed: list[int] = []
        # For each preempted request: tokens made, and when the last of them came.
        self.kept: dict[int, tuple[int, float]] = {}
        self.live = 0
        self.order: list[int] = []
        self.pending: list[list[int]] = []
        # The step being put together: its prefill, and who completes a prompt in it.
        self.emitting: list[int] = []
        self.step_token, self.step_flop, self.step_byte = 0, 0.0, 0.0
        self.safe_byte = inf if room is None else room.safe_byte
        self.tail_byte = 0.0 if room is None else (room.block_token - 1) * terms.cache_byte
        final_token = stream.prompt_token + stream.output_token
        self.final_token: list[int] = final_token.tolist()
        final_byte = self.tail_byte + terms.state_byte + terms.cache_byte * final_token
        self.final_byte: list[float] = [*np.asarray(final_byte).tolist(), 0.0]
        self.commit, self.fits_until = 0.0, 0

    def schedule(self, left: int) -> None:
        """Put prefill of up to `left` tokens into the step being put together.

        The running requests are served first: where the cache is full, they take it from whoever
        was admitted last.
        """
        policy = self.policy
        if self.commit > self.safe_byte and not self.secure(1):
            left = policy.token_budget - self.batch
        if not policy.continuous:
            self._form_batch()
        if self.pending:
            left = self._continue_prefills(left)
        while self.open_at <= self.now and left > 0 and self.live < policy.max_sequences:
            request, target = self._front()
            if not policy.chunked and target > left:
                break
            offset = self._admit(request, target)
            if offset < 0:
                break
            done = self._chunk(request, offset, target, left)
            left -= done
            if offset + done < target:
                self.pending.append([request, offset + done, target])
        self.fits_until = 0

    def secure(self, steps: int) -> int:
        """For how many of the next `steps` steps those decoding may grow; 0 after a preemption.

        After a preemption the composition is no longer what it was, and one step fits.
        """
        if self.step + steps <= self.fits_until:
            return steps
        growth_byte = self.terms.cache_byte * (steps - 1) * self.batch
        if self._used()[1] + growth_byte <= self.safe_byte:
            return steps
        assert self.room is not None
        fits = self.room.grow(self._growing(), self._prefilling(), steps)
        self.fits_until = self.step + fits
        if fits:
            return fits
        while not fits:
            if self.live < 2:
                raise ValueError(
                    f"the cache cannot hold request {self.order[-1]} although nothing else runs"
                )
            self._preempt()
            fits = self.room.grow(self._growing(), self._prefilling(), 1)
        self.fits_until = self.step + 1
        return 0

    def take_up(self, request: int, now: float) -> int:
        """A preempted request has its next token at `now`; returns how many that makes."""
        made, last_token = self.kept.pop(request)
        if made:
            self.log.recomputed += (request, last_token, now)
        else:
            self.log.first_token[request] = now
        return made + 1

    def _front(self) -> tuple[int, int]:
        """The request at the front of the queue, and how many tokens its prefill must cover."""
        if not self.resumed:
            return self.head, self.prompt[self.head]
        request = self.resumed[-1]
        return request, self.prompt[request] + self.kept[request][0]

    def _form_batch(self) -> None:
        """Static batching: what has arrived joins, up to slots and cache; then the door closes.

        It opens again (`open_at`) once nobody runs.
        """
        while self.open_at <= self.now and self.live < self.policy.max_sequences:
            request, target = self._front()
            offset = self._admit(request, target)
            if offset < 0:
                break
            self.pending.append([request, offset, target])
        self.blocked, self.open_at = True, inf

    def _continue_prefills(self, left: int) -> int:
        """Give the prompts already begun their next chunks, in order; returns what is left."""
        unfinished = []
        for item in self.pending:
            request, offset, target = item
            if not self.policy.chunked and target - offset > left:
                left = 0
            if left > 0:
                done = self._chunk(request, offset, target, left)
                left -= done
                item[1] += done
            if item[1] < target:
                unfinished.append(item)
        self.pending[:] = unfinished
        return left

    def _chunk(self, request: int, offset: int, target: int, left: int) -> int:
        """Put a request's next chunk into the step; returns its tokens."""
        tokens = min(target - offset, left, self.policy.max_chunk_token)
        flop, byte = self.terms.chunk_at(offset, tokens)
        self.step_flop += flop
        self.step_byte += byte
        self.step_token += tokens
        self.log.chunks += (self.step, request, offset, tokens)
        if offset + tokens == target:
            self.emitting.append(request)
        return tokens

    def _admit(self, request: int, target: int) -> int:
        """Admit the front of the queue; returns where its prefill starts, or −1 if it cannot."""
        offset = 0
        need_byte = self.terms.state_byte + self.terms.cache_byte * target
        if self.commit + self.final_byte[request] > self.safe_byte:
            least, most = self._used()
            if least + need_byte > self.safe_byte:
                return -1
            close = most + need_byte + self.tail_byte > self.safe_byte
        else:
            close = False
        if close:
            assert self.room is not None
            held = [context for _, context in self._growing()] + self._prefilling()
            offset = self.room.admit(request, target, held)
            if offset < 0:
                return -1
        self.commit += self.final_byte[request]
        self.live += 1
        self.order.append(request)
        if self.resumed:
            self.resumed.pop()
            self.log.resumptions += (self.step, request, self.now)
        else:
            self.head += 1
            self.log.admitted[request] = self.now
        self.open_at = -1.0 if self.resumed else self.arrival[self.head]
        return offset

    def _growing(self) -> list[tuple[int, int]]:
        """(request, context in the next step) of everybody decoding."""
        bits, mask, final, step = self.bits, (1 << self.bits) - 1, self.final_token, self.step
        return [(key & mask, final[key & mask] - (key >> bits) + step) for key in self.finishing]

    def _prefilling(self) -> list[int]:
        """Tokens that requests still in prefill have reserved, those ending in this step too."""
        ending = [self.prompt[i] + self.kept.get(i, (0, 0.0))[0] for i in self.emitting]
        return [item[2] for item in self.pending] + ending

    def _used(self) -> tuple[float, float]:
        """No more and no less than the bytes in use in the next step; cheap, so not exact.

        Nothing can be said from below where tokens are shared or fall out of a window.
        """
        reserved = self._prefilling()
        held = self.batch + len(reserved)
        tokens = self.context + sum(reserved)
        least = self.terms.cache_byte * tokens + self.terms.state_byte * held
        most = least + self.tail_byte * held
        counted = self.terms.plain and self.room is not None and not self.room.follows
        return (least if counted else -inf), most

    def _preempt(self) -> None:
        """Drop the request that was admitted last, and put it at the front of the queue."""
        request = self.order.pop()
        while self.log.finish[request] >= 0:
            request = self.order.pop()
        made, last_token = self.kept.get(request, (0, self.now))
        for item in self.pending:
            if item[0] == request:
                self.pending.remove(item)
                break
        else:
            made, last_token = self._stop_decoding(request), self.now
        self.kept[request] = (made, last_token)
        self.live -= 1
        self.commit -= self.final_byte[request]
        self.resumed.append(request)
        # Nobody is admitted in the step of a preemption: the queue opens again after it.
        self.blocked, self.open_at, self.stop = True, inf, self.step + 1
        self.log.preemptions.append(Preemption(self.step, self.now, request, made))
        if self.room is not None and self.room.follows:
            self.room.release(request)

    def _stop_decoding(self, request: int) -> int:
        """Take a request out of those decoding; returns how many tokens it has made."""
        mask = (1 << self.bits) - 1
        key = next(key for key in self.finishing if key & mask == request)
        made = self.output[request] - ((key >> self.bits) - self.step)
        self.finishing.remove(key)
        heapify(self.finishing)
        self.batch -= 1
        self.context -= self.prompt[request] + made
        if self.windows is not None:
            self.windows.leave(self.prompt[request] + made)
            self.windows.drop(request)
        return made
