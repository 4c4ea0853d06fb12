"""The block pool as the scheduler's cache: shared prefixes skip prefill, and its state admits.

The engine asks a `CacheRoom`; this one answers out of a `core.block_pool.BlockPool`. A stream has
no tokens, only what its blocks hold, so each block of the cache is one element of the pool: blocks
of a prompt that other prompts share carry the same number, all others a number of their own.
"""

from __future__ import annotations

from collections.abc import Sequence

from core import validate
from core.block_pool import MAX_BLOCKS, BlockPool, OutOfBlocksError
from core.block_table import BlockTable
from core.kv_cache import capacity
from core.pool_rules import Rules
from core.requests import RequestStream
from core.scenario import Scenario

HASH_ID_TOKEN = 512
"""Tokens behind one hash id of the published traces (Mooncake, FAST 2025)."""


class PoolRoom:
    """A pool of blocks of `block_token` tokens that serves a stream, and remembers prefixes.

    `shared[i]` names the contents of request i's leading full blocks; equal leading names share
    blocks. What follows them, a tail that does not fill a block and the answer are the request's
    own; after a preemption its own blocks may be found again, as in vLLM. A block counts as cached
    from its admission on, a step before its tokens are computed. `skipped_token` is how many
    prompt tokens needed no prefill so far.

    Source of the rules: vLLM's design document on prefix caching. Worked value: two requests of
    48 tokens that share 32, in blocks of 16: the second skips 32 and takes one new block.
    """

    safe_byte = float("-inf")
    follows = True

    def __init__(
        self,
        num_blocks: int,
        block_token: int,
        shared: Sequence[Sequence[int]],
        *,
        caching: bool = True,
        rules: Rules = Rules.VLLM_TODAY,
    ) -> None:
        self.block_token = validate.integer("block_token", block_token, 1, 65_536)
        self.pool = BlockPool(num_blocks, 1, rules=rules, caching=caching)
        self.skipped_token = 0
        self._shared = shared
        self._tables: dict[int, BlockTable] = {}
        # Names above every shared one: request × span + position is nobody else's.
        self._own = 1 + max((max(names) for names in shared if len(names)), default=0)
        self._span = num_blocks + 1

    @classmethod
    def of(
        cls,
        stream: RequestStream,
        scenario: Scenario,
        *,
        block_token: int = 16,
        reserved_fraction: float = 0.90,
        caching: bool = True,
        shared_token: int = 0,
    ) -> PoolRoom:
        """The pool that a scenario has room for, for the prefixes of a stream.

        With hash ids (512 tokens each) those say what is shared; without them every prompt starts
        with the same `shared_token` tokens. Raises `ValueError` for a model whose layers have
        windows or states (their cache is not one length of equal blocks), for weights that do not
        fit, for a block size that does not divide 512 where ids are used, and for a request that
        is longer than the whole pool.
        """
        model = scenario.model
        if model.state_byte_per_sequence or any(g.window_token for g in model.attention):
            raise ValueError(
                f"{model.name} has layers with windows or states; prefix caching is shown for "
                "models whose layers all keep the whole context"
            )
        block_byte = model.kv_bytes_per_token(scenario.cache_byte) * block_token
        budget = capacity(scenario, 1, reserved_fraction=reserved_fraction).cache_byte
        blocks = min(int(max(budget, 0.0) // block_byte), MAX_BLOCKS)
        if blocks < 1:
            raise ValueError(f"{model.name} leaves no room for a cache on these devices")
        longest = int((stream.prompt_token + stream.output_token - 1).max())
        if -(-longest // block_token) > blocks:
            raise ValueError(
                f"a request of {longest:,} tokens is longer than the cache, which holds "
                f"{blocks * block_token:,}"
            )
        shared = block_names(stream, block_token, shared_token)
        return cls(blocks, block_token, shared, caching=caching)

    def admit(self, request: int, tokens: int, held: Sequence[int]) -> int:
        """See `CacheRoom.admit`: at most tokens − 1 are skipped; the last one gives the logits."""
        try:
            table = self.pool.allocate(self._names(request, 0, self._blocks(tokens)))
        except OutOfBlocksError:
            return -1
        self._tables[request] = table
        skipped = min(table.hit_tokens * self.block_token, tokens - 1)
        self.skipped_token += skipped
        return skipped

    def grow(self, growing: Sequence[tuple[int, int]], held: Sequence[int], steps: int) -> int:
        """See `CacheRoom.grow`: the blocks of the next step are taken, or none of them."""
        missing = {
            request: self._blocks(context) - len(self._tables[request])
            for request, context in growing
        }
        if sum(missing.values()) > self.pool.num_free:
            return 0
        room = steps
        for request, context in growing:
            table = self._tables[request]
            if missing[request] > 0:
                names = self._names(request, len(table), self._blocks(context))
                self.pool.append(table, names)
            room = min(room, len(table) * self.block_token - context + 1)
        return room

    def release(self, request: int) -> None:
        """Give the request's blocks back; what they hold can be found until it is evicted."""
        self.pool.release(self._tables.pop(request))

    def _blocks(self, tokens: int) -> int:
        return -(-tokens // self.block_token)

    def _names(self, request: int, start: int, end: int) -> list[int]:
        shared = self._shared[request] if request < len(self._shared) else ()
        own = self._own + request * self._span
        return [*shared[start:end], *range(own + max(start, len(shared)), own + end)]


def block_names(
    stream: RequestStream, block_token: int, shared_token: int = 0
) -> list[Sequence[int]]:
    """For each request, names of its prompt's leading full blocks that others may share.

    With hash ids, each stands for 512 tokens and is split into 512/`block_token` names; only full
    blocks are named. Without them, every prompt begins with the same `shared_token` tokens.
    """
    validate.integer("shared_token", shared_token, 0, 10_000_000)
    prompts = stream.prompt_token.astype(int).tolist()
    if stream.hash_ids is None:
        common = range(shared_token // block_token)
        return [common[: prompt // block_token] for prompt in prompts]
    if HASH_ID_TOKEN % block_token:
        raise ValueError(
            f"block_token must divide the {HASH_ID_TOKEN} tokens of a hash id, got {block_token}"
        )
    parts = HASH_ID_TOKEN // block_token
    return [
        [name * parts + part for name in ids for part in range(parts)][: prompt // block_token]
        for ids, prompt in zip(stream.hash_ids, prompts, strict=True)
    ]
