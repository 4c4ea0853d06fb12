"""A server simulated one step and one request at a time, the slow and obvious way.

Shares no code with core: it reads the fields of a Scenario and works out the roofline, the blocks
and the queue for itself. Every quantity is recomputed from scratch in every step.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field


@dataclass
class Job:
    index: int
    arrival: float
    prompt: int
    output: int
    made: int = 0
    computed: int = 0  # tokens whose keys and values are in the cache
    held: int = 0  # tokens that the cache is reserved for
    decoding: bool = False
    admitted: float | None = None
    token_times: list[float] = field(default_factory=list)

    @property
    def target(self) -> int:
        return self.prompt + self.made


@dataclass
class Step:
    start: float
    duration: float
    contexts: list[int]
    chunks: list[tuple[int, int, int]]


@dataclass
class Outcome:
    jobs: list[Job]
    steps: list[Step]
    preempted: list[tuple[int, int, int]]
    end: float


def step_seconds(scenario, contexts, chunks):
    model = scenario.model
    tokens = len(contexts) + sum(length for _, _, length in chunks)
    active = model.active_parameters - model.lookup_parameters
    flop = 2.0 * active * tokens
    byte = 0.0
    for group in model.attention:
        window = math.inf if group.window_token is None else group.window_token
        elements = group.layers * group.cache_elements_per_token
        for context in contexts:
            flop += 4.0 * group.layers * group.heads * group.decode_dim * min(context, window)
            byte += scenario.cache_byte * elements * min(context, window)
        for _, offset, length in chunks:
            # The area under min(x, window) from offset to offset + length.
            before = min(offset, window) ** 2 / 2 + max(offset - window, 0.0) * window_or(window)
            end = offset + length
            after = min(end, window) ** 2 / 2 + max(end - window, 0.0) * window_or(window)
            flop += 4.0 * group.layers * group.heads * group.prefill_dim * (after - before)
            byte += scenario.cache_byte * elements * min(end, window)
    byte += model.state_byte_per_sequence * (len(contexts) + len(chunks))
    weights = float(model.parameters - model.lookup_parameters)
    if model.experts is not None:
        e = model.experts
        routed = e.layers * e.experts * e.parameters_per_expert
        missed = (1 - e.experts_per_token / e.experts) ** tokens
        weights = weights - routed + routed * (1 - missed)
    byte += scenario.weight_byte * weights
    device = scenario.device
    compute = flop / (scenario.devices * device.peak_flop_per_s * scenario.compute_efficiency)
    memory = byte / (scenario.devices * device.bandwidth_byte_per_s * scenario.bandwidth_efficiency)
    return max(compute, memory) + scenario.overhead_s


def window_or(window):
    return 0.0 if math.isinf(window) else window


def cache_bytes(scenario, tokens, block):
    rounded = math.ceil(tokens / block) * block
    total = scenario.model.state_byte_per_sequence
    for group in scenario.model.attention:
        window = math.inf if group.window_token is None else group.window_token
        elements = group.layers * group.cache_elements_per_token
        total += scenario.cache_byte * elements * min(rounded, window)
    return total


class Server:
    """`requests` are (arrival, prompt, output); without a scenario each step takes one unit."""

    def __init__(
        self,
        requests,
        scenario,
        *,
        continuous=True,
        budget=math.inf,
        chunked=True,
        max_sequences=math.inf,
        cap=math.inf,
        capacity_byte=math.inf,
        block=1,
        skip=lambda job: 0,
    ):
        self.jobs = [Job(i, *request) for i, request in enumerate(requests)]
        self.waiting, self.running = list(self.jobs), []
        self.scenario, self.continuous, self.budget, self.chunked = (
            scenario,
            continuous,
            budget,
            chunked,
        )
        self.max_sequences, self.cap, self.skip = max_sequences, cap, skip
        self.capacity_byte, self.block = capacity_byte, block
        self.steps, self.preempted, self.now = [], [], 0.0

    def size(self, tokens):
        return 0.0 if self.scenario is None else cache_bytes(self.scenario, tokens, self.block)

    def used(self):
        return sum(self.size(job.held) for job in self.running)

    def grow(self):
        """Each decode takes the cache it needs, oldest first, from the youngest; True if it did."""
        before = len(self.preempted)
        for job in [job for job in self.running if job.decoding]:
            while job in self.running:
                if self.used() - self.size(job.held) + self.size(job.target) <= self.capacity_byte:
                    job.held = job.target
                    break
                victim = self.running.pop()
                self.preempted.append((len(self.steps), victim.index, victim.made))
                victim.computed = victim.held = 0
                victim.decoding = False
                self.waiting.insert(0, victim)
        return len(self.preempted) > before

    def give(self, job):
        """The job's next chunk; False where it must not be split and does not fit."""
        want = job.target - job.computed
        if self.left <= 0 or (not self.chunked and want > self.left):
            return False
        length = int(min(want, self.left, self.cap))
        self.chunks.append((job.index, job.computed, length))
        self.left -= length
        job.computed += length
        if length == want:
            self.ends.append(job)
        return True

    def admit(self):
        joined = []
        while (
            self.waiting
            and self.waiting[0].arrival <= self.now
            and len(self.running) < self.max_sequences
        ):
            job = self.waiting[0]
            if self.continuous and (
                self.left <= 0 or not (self.chunked or job.target <= self.left)
            ):
                break
            if self.used() + self.size(job.target) > self.capacity_byte:
                break
            self.running.append(self.waiting.pop(0))
            job.held, job.computed = job.target, self.skip(job)
            job.admitted = self.now if job.admitted is None else job.admitted
            if self.continuous:
                self.give(job)
            joined.append(job)
        if not self.continuous:
            any(not self.give(job) for job in joined)

    def step(self):
        self.chunks, self.ends, self.left = [], [], self.budget
        empty = not self.running
        lost = self.grow()
        self.ends = [job for job in self.running if job.decoding]
        contexts = sorted(job.target for job in self.ends)
        self.left -= len(contexts)
        begun = [job for job in self.running if not job.decoding]
        stuck = any(not self.give(job) for job in begun)
        if not lost and not stuck and (self.continuous or empty):
            self.admit()
        assert contexts or self.chunks
        chunks = sorted(self.chunks)
        unit = self.scenario is None
        duration = 1.0 if unit else step_seconds(self.scenario, contexts, chunks)
        self.steps.append(Step(self.now, duration, contexts, chunks))
        self.now += duration
        for job in self.ends:
            job.computed, job.decoding = job.target, True
            job.made += 1
            job.token_times.append(self.now)
            if job.made == job.output:
                self.running.remove(job)


def run(requests, scenario, **options):
    """The whole run of a `Server`."""
    server = Server(requests, scenario, **options)
    while server.waiting or server.running:
        if not server.running:
            server.now = max(server.now, server.waiting[0].arrival)
        server.step()
    return Outcome(server.jobs, server.steps, server.preempted, server.now)
