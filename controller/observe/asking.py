"""Asking the nodes: the head for all, and directly those that have not reported to it.

While a training runs, each node reports its fact to the launcher on the head, which keeps the last reports in one file
(`trainer/launch/nodes.schema.json`). So a look at hundreds of nodes asks one. A node that has not reported lately is
asked itself, as every node is when the head does not answer: what is known of silent nodes is as exact as without it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from controller.domain import HeadSeen, Instance, LauncherState, NodeSeen, WorkerState
from controller.edges.ansible import Outcome
from controller.observe.reports import Report, read_reports

Ask = Callable[[Sequence[Instance]], Outcome]
"""Asks these nodes. The head is asked only where it is one of them."""


class Asking:
    """Asks look after look. Remembers who reported to the head at the last one.

    Args:
        reported: Who has reported before the first look (instance ids), as far as that is known.
    """

    def __init__(self, reported: frozenset[str] = frozenset()) -> None:
        self._reported = reported

    def ask(self, head: Instance, workers: Sequence[Instance], ask: Ask) -> Outcome:
        """Returns what the head and these workers say.

        Workers that reported last time are expected to have reported again. Where one has not, it is asked afterwards.
        """
        outcome = ask([head, *(w for w in workers if w.instance_id not in self._reported)])
        reports = _usable(outcome, workers)
        missed = [w for w in workers if w.instance_id in self._reported and w.instance_id not in reports]
        if missed:
            outcome.add(ask(missed))
        for instance_id, report in reports.items():
            if instance_id in self._reported:
                _take(outcome, instance_id, report)
        self._reported = frozenset(reports)
        return outcome


def _usable(outcome: Outcome, workers: Sequence[Instance]) -> dict[str, Report]:
    """Returns by instance id the reports that count: those to the launcher of this run, while it runs."""
    head = outcome.head
    if not isinstance(head, HeadSeen) or head.launcher is not LauncherState.RUNNING or outcome.head_clock is None:
        return {}
    return read_reports(outcome.reports, workers, head_clock=outcome.head_clock, head_ahead_s=head.clock_ahead_s)


def _take(outcome: Outcome, instance_id: str, report: Report) -> None:
    """Takes a report for the node's answer. A rank that trains is a warm worker of this run."""
    outcome.local_facts[instance_id] = {"iteration": report.fact}
    outcome.nodes[instance_id] = NodeSeen(instance_id, WorkerState.WARM, report.clock_ahead_s)
