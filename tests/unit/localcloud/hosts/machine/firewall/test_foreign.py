"""Another firewall that drops machines' packets is named, with what to do."""

from __future__ import annotations

import json
from typing import Any

import pytest

from localcloud.hosts.machine.firewall import foreign
from localcloud.hosts.machine.firewall.foreign import check_lets_pass, dropping_chains
from localcloud.hosts.machine.tools import MachineError


def _chain(**entries: Any) -> dict[str, Any]:
    return {
        "chain": {
            "family": "ip", "table": "filter", "name": "FORWARD", "hook": "forward", "policy": "drop", **entries,
        }
    }  # fmt: skip


def _rule(side: str, name: str = "cv*", verdict: str = "accept") -> dict[str, Any]:
    match = {"match": {"op": "==", "left": {"meta": {"key": side}}, "right": name}}
    return {"rule": {"family": "ip", "table": "filter", "chain": "FORWARD", "expr": [match, {verdict: None}]}}


def test_a_chain_that_drops_by_its_policy_is_found() -> None:
    assert dropping_chains([{"metainfo": {}}, _chain()]) == [("ip", "filter", "FORWARD")]


@pytest.mark.parametrize("chain", [{"policy": "accept"}, {"hook": "input"}, {"family": "ip6"}])
def test_a_chain_that_does_not_drop_what_machines_send_is_not_found(chain: dict[str, str]) -> None:
    assert dropping_chains([_chain(**chain)]) == []


def test_a_chain_that_accepts_machines_in_both_directions_is_not_found() -> None:
    assert dropping_chains([_chain(), _rule("iifname"), _rule("oifname")]) == []
    for rule in (_rule("oifname", "docker0"), _rule("oifname", verdict="drop")):
        assert dropping_chains([_chain(), _rule("iifname"), rule]) == [("ip", "filter", "FORWARD")]


def test_the_message_has_the_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(foreign, "run", lambda *_: json.dumps({"nftables": [_chain()]}))
    with pytest.raises(MachineError, match="nft insert rule ip filter FORWARD iifname") as caught:
        check_lets_pass()
    assert "policy drop, as Docker sets it" in str(caught.value)
