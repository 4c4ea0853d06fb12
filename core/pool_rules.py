"""The rules of a paged cache, and the two named sets of them.

The rules are numbered as everywhere in this project's tests:
R1 only full blocks are cached, under a key of parent, tokens and salt · R2 a look-up stops at the
first miss · R3 the blocks it hits are touched before any new block is taken · R4 new blocks come
from the head of the free queue, and cached content found there is evicted · R5 a release walks
the table backwards, and blocks that nobody holds join the tail · R6 (today's vLLM) those without
a key join the front instead · R7 (today's vLLM) at most length − 1 tokens may hit · R8 a request
gets all its blocks or none · R9 a block table only grows.
Sources: vLLM's design document "Automatic Prefix Caching" for R1–R5, R9 and the salt; vLLM's
kv_cache_manager.py and block_pool.py for R6–R8.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class Rules:
    """Where servers differ. `Rules.DESIGN_DOCUMENT` and `Rules.VLLM_TODAY` are the named sets."""

    name: str
    unshareable_to_front: bool
    """R6: a released block without a key goes to the front of the free queue."""
    last_token_computed: bool
    """R7: the prompt's last token never hits, so that there is something to compute."""

    DESIGN_DOCUMENT: ClassVar[Rules]
    VLLM_TODAY: ClassVar[Rules]


Rules.DESIGN_DOCUMENT = Rules("the design document", False, False)
Rules.VLLM_TODAY = Rules("today's vLLM", True, True)
