"""The pool's claims hold, and each fault of the reference that its assertions miss is noticed."""

from __future__ import annotations

from functools import partial

import pytest

from core.block_pool import BlockPool
from core.pool_claims import CLAIMS, Claim, Finding, check
from core.pool_rules import Rules


class UnchainedHash(BlockPool):
    def _identity(self, parent, tokens, salt):
        return super()._identity(None, tokens, salt)


class EvictNewest(BlockPool):
    def _next_free(self):
        return self._queue.tail


class ForwardRelease(BlockPool):
    def _release_order(self, num_blocks):
        return range(num_blocks)


class NoDequeueOnReuse(BlockPool):
    def _leave_queue(self, block):
        pass


class StaleHashAfterEviction(BlockPool):
    def _forget(self, block):
        pass


class SkippedReferenceCount(BlockPool):
    def _touch(self, block):
        if self._ref_counts[block] == 0:
            self._leave_queue(block)


BY_NAME = {claim.name: claim for claim in CLAIMS}


def observed(name, factory):
    finding = check(BY_NAME[name], factory)
    assert not finding.holds
    return finding.observed


@pytest.mark.parametrize("rules", [Rules.DESIGN_DOCUMENT, Rules.VLLM_TODAY], ids=lambda r: r.name)
@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.name)
def test_every_claim_holds_under_both_rule_sets_at_any_seed(claim, rules):
    for seed in (9, 0, 1, 2**32):
        finding = check(claim, partial(BlockPool, rules=rules), seed)
        assert finding.holds, f"{claim.statement} {finding}"


def test_an_unchained_hash_is_caught_by_the_claim_that_the_whole_prefix_counts():
    assert observed("whole prefix", UnchainedHash) == 2


def test_evicting_the_newest_is_caught_by_the_claim_that_the_oldest_goes_first():
    assert observed("oldest first", EvictNewest) == [0, 0, 0, 0]


def test_a_forward_release_is_caught_by_the_claim_that_a_prompt_is_forgotten_from_its_end():
    assert observed("end first", ForwardRelease) == 0


def test_no_dequeue_on_reuse_is_caught_by_the_claim_that_no_block_is_in_two_hands():
    handed_out, different = observed("never in two hands", NoDequeueOnReuse)
    assert handed_out > different == 4


def test_a_stale_hash_after_eviction_is_caught_by_the_claim_that_evicted_content_is_gone():
    assert observed("evicted is gone", StaleHashAfterEviction) == (1, [0])


def test_a_skipped_reference_count_is_caught_by_the_claim_that_the_last_user_frees():
    assert observed("last user frees", SkippedReferenceCount) == [4, 1, 0]


@pytest.mark.parametrize(
    "broken",
    [
        UnchainedHash,
        EvictNewest,
        ForwardRelease,
        NoDequeueOnReuse,
        StaleHashAfterEviction,
        SkippedReferenceCount,
    ],
)
def test_a_random_history_catches_every_fault_as_well(broken):
    assert not check(BY_NAME["sound through any history"], broken).holds


@pytest.mark.parametrize(
    "broken", [UnchainedHash, EvictNewest, ForwardRelease, NoDequeueOnReuse, StaleHashAfterEviction]
)
def test_the_reference_programs_own_claim_of_a_shared_prefix_misses_all_five(broken):
    assert check(BY_NAME["shared prefix"], broken).holds


def test_a_pool_that_breaks_down_refutes_the_claim_and_says_how():
    def explode(factory, rng):
        raise KeyError("gone")

    finding = check(Claim("explodes", "It never explodes.", explode))
    assert finding == Finding("no error", "KeyError: 'gone'")
    assert not finding.holds


def test_claims_have_names_of_their_own_and_sentences():
    assert len(BY_NAME) == len(CLAIMS)
    assert all(claim.statement.endswith(".") for claim in CLAIMS)
