"""Ranks learn the totals of a step from the sum of their vectors."""

from __future__ import annotations

from trainer.record.step_totals import StepShare, StepTotals, Sums


def share(loss: float, tokens: float, wait_s: float, compute_time_s: float, **asked: bool) -> StepShare:
    known = [asked.get(name, False) for name in ("pending", "stop", "checkpoint")]
    return StepShare(Sums(loss, tokens, 2 * tokens, tokens / 2, wait_s, *known), compute_time_s)


def totals(*shares: StepShare) -> StepTotals:
    vectors = [one.to_vector(rank, len(shares)) for rank, one in enumerate(shares)]
    return StepTotals.from_vector(sum(vectors[1:], vectors[0]), len(shares))


def test_the_totals_are_sums_and_each_rank_s_own_numbers() -> None:
    both = totals(share(30.0, 10, 0.2, 1.5), share(60.0, 20, 0.4, 2.5))
    assert (both.loss_sum, both.tokens, both.ids, both.padding, both.loss) == (90.0, 30, 60, 15.0, 3.0)
    assert (both.tokens_by_rank, both.compute_time_s_by_rank) == ([10.0, 20.0], [1.5, 2.5])
    assert round(both.data_wait_s, 9) == 0.3
    assert not both.is_change_due and not both.is_stop_due and not both.is_checkpoint_due


def test_what_one_rank_knows_all_learn() -> None:
    assert totals(share(1, 1, 0, 1), share(1, 1, 0, 1, pending=True)).is_change_due
    assert totals(share(1, 1, 0, 1, stop=True), share(1, 1, 0, 1)).is_stop_due
    assert totals(share(1, 1, 0, 1), share(1, 1, 0, 1, checkpoint=True)).is_checkpoint_due
