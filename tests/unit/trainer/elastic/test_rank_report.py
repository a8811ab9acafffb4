"""Whose state all ranks take over when a world begins."""

from __future__ import annotations

import pytest

from trainer.elastic.rank_report import RankReport, deviating, majority, source_of


def report(step: int | None, checksum: str | None = "right") -> RankReport:
    """Returns the report of a rank that has the state of `step`; None: it has none."""
    return RankReport(step is not None, step or 0, step and checksum, 0, None, None, None, "the same")


def test_a_new_rank_is_never_the_source_of_the_state() -> None:
    assert source_of([report(None), report(7), report(7)]) == 1


def test_the_furthest_rank_is_the_source_of_the_state() -> None:
    assert source_of([report(5), report(9), report(None)]) == 1


def test_at_the_very_beginning_rank_0_is_the_source() -> None:
    assert source_of([report(None), report(None)]) == 0


def test_of_the_furthest_ranks_the_majority_is_the_source() -> None:
    reports = [report(9, "wrong"), report(5), report(9), report(None), report(9)]
    source = source_of(reports)
    assert (source, deviating(reports, source)) == (2, [0])


def test_a_rank_that_is_behind_or_new_does_not_deviate() -> None:
    assert deviating([report(9), report(5, "of step 5"), report(None)], 0) == []
    assert deviating([report(None), report(None)], 0) == []


@pytest.mark.parametrize(
    ("checksums", "expected"), [("aba", [0, 2]), ("ab", [0, 1]), ("abcb", [1, 3]), ("aabb", [0, 1, 2, 3])]
)
def test_the_majority_is_whoever_has_the_most_frequent_checksum(checksums: str, expected: list[int]) -> None:
    assert majority(dict(enumerate(checksums))) == expected
