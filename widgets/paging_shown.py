"""What the section knows by name, and everything that it shows at one step."""

from __future__ import annotations

import math
from dataclasses import dataclass

from core.fragmentation import Fit, lengths_needed, paged, reserved
from core.pool_rules import Rules
from core.pool_stories import reference_lengths
from core.scenario import Scenario
from widgets.paging_picture import Picture, Story
from widgets.paging_trace import BLOCK_TOKEN, TraceReuse

END = 99_999
YOURS = "yours"
BUDGET_TOKEN = 32_768
RESERVE_TOKEN = 2_048
SHORTEST_TOKEN = 50
MAX_TEXT = 4_000

STORIES = {
    "shared": "a shared prompt",
    "reuse": "reuse after release",
    "churn": "churn",
    "differs": "the first token differs",
    "salted": "salted tenants",
    "busy": "forty requests",
    YOURS: "your own requests",
}
RULES = {"document": "the design document's", "today": "today's vLLM"}
RULE_SETS = {"document": Rules.DESIGN_DOCUMENT, "today": Rules.VLLM_TODAY}

EXAMPLE = """\
A: you are a helpful assistant answer briefly what is a block
B: you are a helpful assistant answer briefly what is a page
A + it holds the keys and values of a few tokens
release A
C salt=team1: you are a helpful assistant answer briefly who am I
"""


@dataclass(frozen=True, slots=True)
class Fits:
    """The same sequences with the longest reserved for each, and in blocks of two sizes.

    `drawn` are in blocks of 16 as many as the reference program draws.
    """

    reserve: int
    block_size: int
    reserved: Fit
    sixteen: Fit
    drawn: Fit
    paged: Fit


def fit_all(reserve: int, block_size: int) -> Fits:
    """Fit the reference's lengths into its budget in each way, with more lengths than can fit."""
    needed = lengths_needed(budget_token=BUDGET_TOKEN, unit_token=SHORTEST_TOKEN)
    lengths = reference_lengths(needed)
    return Fits(
        reserve,
        block_size,
        reserved(lengths, budget_token=BUDGET_TOKEN, max_length_token=reserve),
        paged(lengths, budget_token=BUDGET_TOKEN, block_size=16),
        paged(reference_lengths(), budget_token=BUDGET_TOKEN, block_size=16),
        paged(lengths, budget_token=BUDGET_TOKEN, block_size=block_size),
    )


@dataclass(frozen=True, slots=True)
class Shown:
    """Everything that the section shows at one step."""

    scenario: Scenario
    story: Story
    step: int
    picture: Picture
    fits: Fits
    reuse: TraceReuse
    capacity_token: float

    @property
    def capacity_block(self) -> int:
        """How many blocks of the trace the scenario's cache holds; 0 where that says nothing."""
        return int(self.capacity_token // BLOCK_TOKEN) if math.isfinite(self.capacity_token) else 0

    @property
    def rate_percent(self) -> float:
        """Share of the trace's prompt tokens that the scenario's cache finds, in per cent."""
        return 100 * self.reuse.hit_tokens(self.capacity_block) / self.reuse.prompt_tokens
