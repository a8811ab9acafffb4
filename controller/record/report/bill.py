"""The bill of a run: what was paid for what, from the first look to the last.

It ends when everything is given back. What the cluster costs until it is destroyed (head, gateways, addresses, volume)
is in it only as long as the controller looked.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from controller.domain import SECONDS_PER_HOUR
from controller.domain.prices.bill import NOT_ITEMISED
from controller.record.journal.summary import Summary


def bill(summaries: Sequence[Summary], unseen_usd: Mapping[str, float], until: float) -> dict[str, float]:
    """Returns by line the US dollars that were paid, the largest first.

    Args:
        summaries: The observations, oldest first. What one finds is paid until the next.
        unseen_usd: By line what was paid before a look found it, or is not paid by the hour.
        until: Until when what the last observation found is paid.
    """
    lines: defaultdict[str, float] = defaultdict(float, unseen_usd)
    ends = [*(following.at for following in summaries[1:]), until]
    for found, end in zip(summaries, ends, strict=False):
        hours = (max(end, found.at) - found.at) / SECONDS_PER_HOUR
        itemised = found.paid_usd_per_hour
        for line, usd_per_hour in itemised.items():
            lines[line] += usd_per_hour * hours
        rest = found.usd_per_hour - sum(itemised.values())
        if abs(rest) > 1e-9:
            lines[NOT_ITEMISED] += rest * hours
    return {line: usd for line, usd in sorted(lines.items(), key=lambda one: (-one[1], one[0])) if usd}
