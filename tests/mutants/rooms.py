"""Which code is mutated, and which tests have to notice."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Room:
    """A part of the code, with the tests that belong to it.

    Attributes:
        files: Patterns of the files that are mutated, from the repository's root.
        tests: The folders and files with the tests. No other test counts.
        too_slow: How the ids of those tests begin that take too long to be run for thousands of mutants.
    """

    name: str
    files: tuple[str, ...]
    tests: tuple[str, ...]
    too_slow: tuple[str, ...] = ()


_ALL_STATES = "tests/unit/controller/act/reconcile/test_all_states.py::"
_GOAL_FROM_EVERY_STATE = _ALL_STATES + "test_a_move_reaches_its_goal_from_every_state_with_any_faults_before"
_DECIDE = "tests/unit/controller/decide/"
_JOURNAL = "tests/unit/controller/record/journal/test_journal.py::"

ROOMS = (
    Room(
        "act",
        ("controller/act/*",),
        ("tests/unit/controller/act",),
        (
            _GOAL_FROM_EVERY_STATE + "[2 x a-2 x b]",
            _GOAL_FROM_EVERY_STATE + "[2 x a-1 x b]",
            _GOAL_FROM_EVERY_STATE + "[2 x a-1 x a, 1 x b]",
            _GOAL_FROM_EVERY_STATE + "[1 x a-2 x b]",
            _GOAL_FROM_EVERY_STATE + "[1 x a, 1 x b-2 x a]",
            _ALL_STATES + "test_no_invariant_breaks_when_nodes_are_taken_out_for_faults",
        ),
    ),
    Room(
        "decide",
        ("controller/decide/*",),
        ("tests/unit/controller/decide",),
        (
            _DECIDE + "test_large.py",
            _DECIDE + "policies/test_against_brute_force.py",
            _DECIDE + "health/test_false_alarms.py::test_no_sequence_of_what_is_normal_is_a_fault",
            _DECIDE + "health/test_heals.py::test_two_faults_at_any_time_are_healed_or_end_the_training",
        ),
    ),
    Room(
        "observe",
        ("controller/observe/*",),
        ("tests/unit/controller/observe",),
        ("tests/unit/controller/observe/test_facts.py::test_whatever_stands_in_a_fact",),
    ),
    Room(
        "journal",
        ("controller/record/journal/*",),
        ("tests/unit/controller/record/journal",),
        (
            _JOURNAL + "test_what_is_shown_of_a_run_is_the_same_as_if_all_of_it_were_kept",
            _JOURNAL + "test_deciding_on_the_recent_observations_sees_all_that_it_would_of_all",
        ),
    ),
)
"""The guard is `controller/act/guard.py`, and so a part of the room act."""

WORDING = (
    r"""["'][^"']*\w+ \w+ \w+[^"']*["']""",
    r"raise \w+\(",
)
"""Lines that match are not mutated: text of three words and more is for people, and no test holds each word of it."""
