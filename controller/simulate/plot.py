"""One picture of a scenario: what each policy had spent by when, and what its fleet was."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import matplotlib

from controller.simulate.run import Outcome

matplotlib.use("Agg")

from matplotlib import pyplot as plt


def plot(outcomes: Mapping[str, Outcome], title: str, path: Path) -> None:
    """Write the picture; the ending of `path` (svg, png, pdf) decides the format. Raises OSError."""
    figure, axes = plt.subplots(
        len(outcomes) + 1, 1, sharex=True, figsize=(10, 3 + 1.6 * len(outcomes)), layout="constrained"
    )
    figure.suptitle(title)
    flavors = sorted({flavor for outcome in outcomes.values() for moment in outcome.moments for flavor in moment.fleet})
    colours = {flavor: f"C{index % 10}" for index, flavor in enumerate(flavors)}
    for policy, outcome in outcomes.items():
        hours = [moment.at_s / 3600 for moment in outcome.moments]
        axes[0].plot(hours, [moment.spent_usd for moment in outcome.moments], label=policy)
    axes[0].set_ylabel("spent, $")
    axes[0].legend(loc="upper left", fontsize="small")
    for axis, (policy, outcome) in zip(axes[1:], outcomes.items(), strict=True):
        hours = [moment.at_s / 3600 for moment in outcome.moments]
        counts = [[moment.fleet.count(flavor) for moment in outcome.moments] for flavor in flavors]
        axis.stackplot(hours, counts, step="post", colors=[colours[flavor] for flavor in flavors], labels=flavors)
        axis.set_ylabel(f"nodes\n{policy}", fontsize="small")
    axes[1].legend(loc="upper right", fontsize="x-small", ncol=4)
    axes[-1].set_xlabel("hours")
    figure.savefig(path)
    plt.close(figure)
