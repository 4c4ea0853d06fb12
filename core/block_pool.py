"""A paged KV cache: block tables, reference counts, shared prefixes, a free queue that evicts.

The rules it follows are numbered in `core.pool_rules`; each is in one method here.
"""

from __future__ import annotations

from collections.abc import Iterable

from core import validate
from core.block_table import BlockTable, Tokens, checked_salt, checked_tokens
from core.free_queue import FreeQueue
from core.pool_events import EventSink, Recorder
from core.pool_rules import Rules
from core.pool_state import PoolState
from core.prefix_cache import BlockKey, HashFunction, PrefixCache, chain_hash
from core.units import counted

MAX_BLOCKS = 10_000_000
MAX_BLOCK_SIZE = 1_000_000


class OutOfBlocksError(RuntimeError):
    """A refusal: `needed` new blocks were asked for and only `free` could be taken."""

    def __init__(self, request: str, needed: int, free: int) -> None:
        """Say who was refused and what was missing."""
        wanted, there = counted(needed, "new block"), counted(free, "is", "are")
        super().__init__(f"{request} needs {wanted} and {there} free")
        self.needed = needed
        self.free = free


class BlockPool:
    """A pool of `num_blocks` blocks of `block_size` tokens, numbered from `first_id`.

    With `caching` off nothing is shared and nothing evicted. `hash_function` finds candidates
    only: equal hashes of different contents never share. `log` (a list, say) gets every event as
    it happens; without one a pool is faster. Taking, sharing and giving back a block are O(1).

    Raises `ValueError` for sizes outside their ranges. Worked value: BlockPool(16, 4) gives a
    19-token prompt the table 0 1 2 3 4.
    """

    def __init__(
        self,
        num_blocks: int,
        block_size: int,
        *,
        rules: Rules = Rules.DESIGN_DOCUMENT,
        caching: bool = True,
        first_id: int = 0,
        hash_function: HashFunction = chain_hash,
        log: EventSink | None = None,
    ) -> None:
        """A pool with every block free and nothing cached."""
        self.num_blocks = validate.integer("num_blocks", num_blocks, 1, MAX_BLOCKS)
        self.block_size = validate.integer("block_size", block_size, 1, MAX_BLOCK_SIZE)
        self.first_id = validate.integer("first_id", first_id, 0, 1_000)
        self.rules = rules
        self.caching = caching
        self.cache_hits = 0
        self.evictions = 0
        end = self.first_id + self.num_blocks
        self._ref_counts = [0] * end
        self._queue = FreeQueue(range(self.first_id, end), end)
        self._cache = PrefixCache(end, hash_function)
        self._tables: dict[str, BlockTable] = {}
        self._requests = 0
        self._record = None if log is None else Recorder(log, self.block_size)

    @property
    def num_free(self) -> int:
        """How many blocks can be taken. O(1)."""
        return len(self._queue)

    @property
    def in_use(self) -> int:
        """How many blocks are held. O(1)."""
        return self.num_blocks - len(self._queue)

    @property
    def free_queue(self) -> list[int]:
        """The free blocks from head to tail, as a new list. O(free)."""
        return list(self._queue)

    def ref_count(self, block: int) -> int:
        """How many block tables hold `block`. Raises `ValueError` for an id that is no block."""
        return self._ref_counts[self._block_id(block)]

    def key_of(self, block: int) -> BlockKey | None:
        """What `block` is cached under, or None. Raises `ValueError` for an id that is no block."""
        return self._cache.key_of(self._block_id(block))

    def state(self) -> PoolState:
        """Everything a view shows, as it is now. O(blocks)."""
        tables = {
            request: tuple(table[: len(table) - table.given_back])
            for request, table in self._tables.items()
            if len(table) > table.given_back
        }
        blocks = range(self.first_id, self.first_id + self.num_blocks)
        keys = tuple(self._cache.key_of(block) for block in blocks)
        filled = [0 if key is None else self.block_size for key in keys]
        for request, held in tables.items():
            for block in held:
                filled[block - self.first_id] = self.block_size
            table = self._tables[request]
            if table.tail and not table.given_back:
                filled[held[-1] - self.first_id] = len(table.tail)
        return PoolState(
            self.block_size,
            self.first_id,
            tuple(self._ref_counts[self.first_id :]),
            tuple(filled),
            keys,
            tuple(self._queue),
            tables,
            self.cache_hits,
            self.evictions,
        )

    def look_up(self, tokens: Tokens, salt: str | None = None) -> list[int]:
        """The cached blocks that a prompt of `tokens` would share. Changes nothing.

        Raises `ValueError` for bad tokens or salt.
        """
        return self._look_up(checked_tokens(tokens), checked_salt(salt), None)

    def allocate(
        self,
        tokens: Tokens,
        salt: str | None = None,
        *,
        request: str | None = None,
        skip_lookup: bool = False,
    ) -> BlockTable:
        """Give a prompt its blocks: shared where its prefix is cached, new ones for the rest.

        `salt` confines sharing to requests with the same salt. `skip_lookup` takes new blocks
        throughout, as for a request that needs every prompt token computed. `request` labels
        the table; r0, r1, … where it is None. Raises `OutOfBlocksError`, having changed nothing,
        where too few blocks are free, and `ValueError` for tokens that are not whole numbers of 0
        or more, a prompt longer than the whole pool, a salt over 1,024 bytes, or a label in use.
        """
        values = checked_tokens(tokens)
        salt = checked_salt(salt)
        needed = -(-len(values) // self.block_size)
        if needed > self.num_blocks:
            raise ValueError(
                f"tokens must fit the pool: {len(values):,} tokens need {needed:,} blocks of "
                f"{self.block_size:,}, and the pool has {self.num_blocks:,}"
            )
        label = self._new_label(request)
        hits = [] if skip_lookup else self._look_up(values, salt, label)
        waiting = sum(self._ref_counts[block] == 0 for block in hits)
        self._require(label, needed - len(hits), self.num_free - waiting)
        table = BlockTable(label, salt)
        self._tables[label] = table
        for block in hits:
            self._share(table, block)
        self._write(table, values[len(hits) * self.block_size :])
        return table

    def append(self, table: BlockTable, tokens: Tokens) -> None:
        """Write tokens behind what `table` holds, as decoding does, into new blocks as needed.

        A block that fills is cached from then on, beside any block of the same content: the table
        keeps its own. Raises `OutOfBlocksError`, having changed nothing, where too few blocks are
        free, and `ValueError` for bad tokens or a table that this pool does not hold.
        """
        self._check_held(table)
        values = checked_tokens(tokens)
        room = self.block_size - len(table.tail) if table.tail else 0
        needed = -(-max(0, len(values) - room) // self.block_size)
        self._require(table.request, needed, self.num_free)
        self._write(table, values)

    def release(self, table: BlockTable) -> None:
        """Give a table's blocks back, the last one first; their content stays until evicted.

        Raises `ValueError` for a table that this pool does not hold, one released before included.
        """
        self._check_held(table)
        front = self._queue.head if self._queue else None
        for position in self._release_order(len(table)):
            block = table[position]
            self._ref_counts[block] -= 1
            table.given_back += 1
            before = self._requeue(block, front) if self._ref_counts[block] == 0 else None
            if self._record:
                self._record.release(
                    table.request,
                    position,
                    block,
                    ref_count=self._ref_counts[block],
                    key=self._cache.key_of(block),
                    before=before,
                )
        del self._tables[table.request]

    def reset(self) -> bool:
        """Drop all cached content. False, and nothing changes, while any block is in use."""
        if self.in_use:
            if self._record:
                self._record.refuse_reset(self.in_use)
            return False
        self._cache.clear()
        if self._record:
            self._record.reset()
        return True

    def _identity(
        self, parent: BlockKey | None, tokens: tuple[int, ...], salt: str | None
    ) -> tuple[BlockKey | None, tuple[int, ...], str | None]:
        # R1. The salt is in the first block's key alone: the chain carries it to the rest.
        return parent, tokens, salt if parent is None else None

    def _look_up(self, tokens: tuple[int, ...], salt: str | None, request: str | None) -> list[int]:
        record = self._record if request is not None else None
        label = request or ""
        hits: list[int] = []
        parent: BlockKey | None = None
        if not self.caching:
            return hits
        full = len(tokens) // self.block_size
        limit = (len(tokens) - self.rules.last_token_computed) // self.block_size
        for position in range(limit):
            start = position * self.block_size
            block_tokens = tokens[start : start + self.block_size]
            parent = self._cache.find(*self._identity(parent, block_tokens, salt))
            if parent is None:
                if record:
                    record.miss(label, position)
                return hits
            hits.append(parent.first_copy)
            if record:
                record.hit(label, position, parent.first_copy, parent)
        if record and limit < full:
            record.capped(label, limit)
        return hits

    def _share(self, table: BlockTable, block: int) -> None:
        self._touch(block)
        self.cache_hits += 1
        table.append(block)
        table.num_tokens += self.block_size
        table.hit_tokens += self.block_size
        table.parent = self._cache.key_of(block)
        if self._record:
            count = self._ref_counts[block]
            self._record.touch(table.request, len(table) - 1, block, count)

    def _touch(self, block: int) -> None:
        if self._ref_counts[block] == 0:
            self._leave_queue(block)
        self._ref_counts[block] += 1

    def _leave_queue(self, block: int) -> None:
        self._queue.remove(block)

    def _write(self, table: BlockTable, tokens: tuple[int, ...]) -> None:
        start = 0
        while start < len(tokens):
            held = len(table.tail)
            piece = tokens[start : start + self.block_size - held]
            start += len(piece)
            if not held:
                table.append(self._pop(table.request))
            table.tail += piece
            table.num_tokens += len(piece)
            position, block = len(table) - 1, table[-1]
            if self._record:
                if held:
                    self._record.append(table.request, position, block, held, len(piece))
                else:
                    self._record.pop(table.request, position, block, len(piece))
            if len(table.tail) == self.block_size:
                self._complete(table, position, block)

    def _complete(self, table: BlockTable, position: int, block: int) -> None:
        tokens, table.tail = table.tail, ()
        if self.caching:
            table.parent = self._cache.add(block, *self._identity(table.parent, tokens, table.salt))
            if self._record:
                self._record.hash(table.request, position, block, table.parent)

    def _pop(self, request: str) -> int:
        block = self._next_free()
        key = self._cache.key_of(block)
        if key is not None:
            self._forget(block)
            self.evictions += 1
            if self._record:
                self._record.evict(request, block, key)
        self._queue.remove(block)
        self._ref_counts[block] = 1
        return block

    def _next_free(self) -> int:
        return self._queue.head

    def _forget(self, block: int) -> None:
        self._cache.forget(block)

    def _release_order(self, num_blocks: int) -> Iterable[int]:
        # R5. The last block first, so that a prefix is evicted from its end.
        return range(num_blocks - 1, -1, -1)

    def _requeue(self, block: int, front: int | None) -> int | None:
        unshareable = self._cache.key_of(block) is None
        if self.rules.unshareable_to_front and unshareable and front is not None:
            # In front of what was the head, so that several keep the order they are given back in.
            self._queue.insert_before(front, block)
            return front
        self._queue.append(block)
        return None

    def _require(self, request: str, needed: int, free: int) -> None:
        if needed > free:
            if self._record:
                self._record.refuse(request, needed, free)
            raise OutOfBlocksError(request, needed, free)

    def _new_label(self, request: str | None) -> str:
        if request is None:
            while (label := f"r{self._requests}") in self._tables:
                self._requests += 1
            self._requests += 1
            return label
        if request in self._tables:
            raise ValueError(f"request must be a label not in use, got {request!r}")
        return request

    def _check_held(self, table: BlockTable) -> None:
        if isinstance(table, BlockTable) and self._tables.get(table.request) is table:
            return
        named = f"that of {table.request}" if isinstance(table, BlockTable) else f"{table!r:.60}"
        raise ValueError(f"table must be one that this pool gave and still holds, got {named}")

    def _block_id(self, block: int) -> int:
        return validate.integer("block", block, self.first_id, self.first_id + self.num_blocks - 1)
