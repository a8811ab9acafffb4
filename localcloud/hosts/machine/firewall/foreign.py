"""Other firewalls on this machine that drop what machines send to each other, as Docker's does."""

from __future__ import annotations

import json
from typing import Any

from localcloud.hosts.machine.tools import MachineError, run

OURS = "cv"
"""What the names of all clouds' links begin with."""


def check_lets_pass() -> None:
    """Checks that no other firewall drops packets between machines.

    Raises:
        MachineError: one does. The message has the commands that let machines' packets pass.
    """
    ruleset = json.loads(run("nft", "-j", "list", "ruleset"))["nftables"]
    for family, table, chain in dropping_chains(ruleset):
        commands = [
            f"nft insert rule {family} {table} {chain} {side} '\"{OURS}*\"' accept" for side in ("iifname", "oifname")
        ]
        raise MachineError(
            f"another firewall drops packets between machines (table {family} {table}, chain {chain}: policy drop, as "
            f"Docker sets it). Let them pass: {'; '.join(commands)}"
        )


def dropping_chains(ruleset: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    """Returns the chains that drop forwarded packets unless a rule accepts them, and have no such rule for machines.

    Args:
        ruleset: what `nft -j list ruleset` prints, the list within `nftables`.

    Returns:
        Family, table and name of each chain.
    """
    chains = [one["chain"] for one in ruleset if "chain" in one]
    rules = [one["rule"] for one in ruleset if "rule" in one]
    found = []
    for chain in chains:
        place = (chain["family"], chain["table"], chain["name"])
        if chain.get("hook") != "forward" or chain.get("policy") != "drop" or chain["family"] not in ("ip", "inet"):
            continue
        accepted = {
            side
            for rule in rules
            if (rule["family"], rule["table"], rule["chain"]) == place and _has(rule, "accept")
            for side in ("iifname", "oifname")
            if _matches(rule, side)
        }
        if accepted != {"iifname", "oifname"}:
            found.append(place)
    return found


def _has(rule: dict[str, Any], verdict: str) -> bool:
    return any(verdict in expression for expression in rule.get("expr", []))


def _matches(rule: dict[str, Any], side: str) -> bool:
    """Returns whether a rule is about links whose names begin as ours do."""
    matches = [expression["match"] for expression in rule.get("expr", []) if "match" in expression]
    return any(
        match.get("left") == {"meta": {"key": side}} and str(match.get("right")).startswith(OURS) for match in matches
    )
