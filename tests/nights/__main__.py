"""`python -m tests.nights [--nights N] [--seed S] [--real N]`: plays nights, and prints how long money ran, and why."""

from __future__ import annotations

import argparse
import sys

from controller.words.numbers import duration, usd
from tests.nights.kinds import KINDS, Outcome, play
from tests.nights.real import play_real

NIGHTS = 200


def main(arguments: list[str] | None = None) -> int:
    """Plays the nights. Returns 1 where money ran for longer than was said."""
    parser = argparse.ArgumentParser(prog="python -m tests.nights", description=__doc__)
    parser.add_argument("--nights", type=int, default=NIGHTS, help=f"how many (default: {NIGHTS})")
    parser.add_argument("--seed", type=int, help="play this night only, and print who fired")
    parser.add_argument("--real", type=int, metavar="N", help="play N nights on localcloud instead, each in minutes")
    options = parser.parse_args(arguments)
    if options.real is not None:
        return _play_real(options.real)
    if options.seed is not None:
        outcome = play(options.seed)
        for at_s, by, why in outcome.night.fired:
            print(f"{duration(at_s):>14}  {by}: {why}")
        print(f"{outcome.kind.name}: {outcome.wrong or 'as said'}")
        return int(bool(outcome.wrong))
    outcomes = [play(seed) for seed in range(options.nights)]
    for kind in KINDS:
        _print_kind([one for one in outcomes if one.kind is kind])
    wrong = [(seed, one) for seed, one in enumerate(outcomes) if one.wrong]
    for seed, one in wrong:
        print(f"seed {seed}, {one.kind.name}: {one.wrong}")
    print(f"{len(outcomes)} nights, {len(wrong)} in which money ran for longer than was said")
    return int(bool(wrong))


def _play_real(nights: int) -> int:
    """Plays real nights one after the other. Returns 1 where money ran for longer, or cost more, than was said."""
    wrong = 0
    print("beside the controller fails", flush=True)
    for number in range(nights):
        outcome = play_real(number)
        wrong += not outcome.is_as_said
        print(f"{number + 1:3}  {outcome}", flush=True)
    print(f"{nights} real nights, {wrong} in which money ran for longer, or cost more, than was said")
    return int(bool(wrong))


def _print_kind(outcomes: list[Outcome]) -> None:
    if not outcomes:
        return
    longest, cost = max(one.ran_s for one in outcomes), max(one.cost_usd for one in outcomes)
    mean = sum(one.cost_usd for one in outcomes) / len(outcomes)
    ran = "nobody fires" if outcomes[0].kind.workers is None else f"workers run for {duration(longest)} at most"
    print(f"{outcomes[0].kind.name:64} {len(outcomes):3} nights  {ran:38} {usd(mean):>8} a night, {usd(cost)} at most")


if __name__ == "__main__":
    sys.exit(main())
