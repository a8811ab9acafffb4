"""Plots of money and fleet over time in one scenario, and of the policies' cost over many scenarios."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib

from controller.simulate.run import Outcome

matplotlib.use("Agg")

from matplotlib import pyplot as plt


def plot(outcomes: Mapping[str, Outcome], title: str, path: Path) -> None:
    """Writes money and fleet over time. The ending of `path` (svg, png, pdf) decides the format. Raises OSError."""
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


def plot_shares(over_oracle: Mapping[str, Sequence[float]], title: str, path: Path) -> None:
    """Writes, for each policy, the share of scenarios in which it costs at most so many times what the oracle does.

    Raises OSError.
    """
    figure, axis = plt.subplots(figsize=(8, 5), layout="constrained")
    for policy, values in over_oracle.items():
        ordered = sorted(values)
        axis.step(
            ordered, [100 * (rank + 1) / len(ordered) for rank in range(len(ordered))], where="post", label=policy
        )
    axis.set(title=title, xscale="log", xlim=(0.9, 10), ylim=(0, 100))
    axis.set(xlabel="cost over the oracle's", ylabel="share of the scenarios, %")
    axis.set_xticks([1, 1.2, 1.5, 2, 3, 5, 10], labels=["1", "1.2", "1.5", "2", "3", "5", "10"])
    axis.minorticks_off()
    axis.grid(alpha=0.3)
    axis.legend(loc="lower right")
    figure.savefig(path)
    plt.close(figure)
