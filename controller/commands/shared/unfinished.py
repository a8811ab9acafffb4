"""The unfinished run of a checkout, unless the head went on with it."""

from __future__ import annotations

from controller.commands.shared.owned import Owner
from controller.config.environment import Environment
from controller.domain.errors import LockedError
from controller.record.journal import Journal, Stage
from controller.record.journal.runs import unfinished_run
from controller.record.report.ended import HANDED_OVER


def unfinished_here(environment: Environment, owner: Owner, now: float) -> Journal | None:
    """Returns the journal of the unfinished run, if there is one that goes on in this checkout.

    The cluster's lease tells whether a controller on the head has had the run since: the journal here is old then.

    Raises:
        LockedError: The head went on with it and did not finish it.
    """
    journal = unfinished_run(environment.runs_directory, environment.name)
    left = None if journal is None else owner.was_handed_over(journal.info().run)
    if journal is None or left is None:
        return journal
    if left.stage != Stage.ENDED.value:
        raise LockedError(
            f"The run {left.run} went on at the head, whose controller has ended without finishing it.",
            f"`centavo --env {environment.name} take-over` goes on with it here.",
        )
    keep_handed_over(journal, now)
    return None


def keep_handed_over(journal: Journal, now: float) -> None:
    """Keeps that a run has ended in this checkout, because the head goes on with it."""
    journal.end(HANDED_OVER, None, now)
    journal.set_stage(Stage.ENDED)
