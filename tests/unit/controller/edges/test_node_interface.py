"""The interface that a node's ranks listen on, as the playbooks work it out: t2 calls it eth0, c5 ens5."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from jinja2 import Environment, StrictUndefined

PLAYBOOKS = Path(__file__).resolve().parents[4] / "ansible" / "playbooks"


def interface(setting: str | None, facts: dict[str, str]) -> str:
    variables = yaml.safe_load((PLAYBOOKS / "group_vars" / "all.yml").read_text())
    template = Environment(undefined=StrictUndefined).from_string(variables["node_interface"])
    return template.render(centavo={"network_interface": setting}, ansible_default_ipv4=facts)


@pytest.mark.parametrize("name", ["eth0", "ens5"])
def test_each_node_listens_on_the_interface_of_its_own_default_route(name: str) -> None:
    assert interface(None, {"interface": name}) == name


def test_an_interface_that_the_environment_names_is_taken_without_a_default_route() -> None:
    assert interface("lo", {}) == "lo"


def test_the_playbook_gathers_what_the_interface_is_worked_out_from() -> None:
    plays = {play["name"]: play for play in yaml.safe_load((PLAYBOOKS / "prepare.yml").read_text())}
    assert "network" in plays["Prepare every node"]["gather_subset"]
