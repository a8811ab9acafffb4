"""The journal of a run: what was observed, decided and done, and where the run is."""

from controller.record.journal.journal import Journal, create_journal
from controller.record.journal.run import RunInfo
from controller.record.journal.stage import Stage

__all__ = ["Journal", "RunInfo", "Stage", "create_journal"]
