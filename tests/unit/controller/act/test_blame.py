"""Which flavors a failed move makes unavailable for a while."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controller.act.blame import blamed
from controller.domain import Fleet, Move, MovePhase
from controller.domain.errors import (
    AnsibleError,
    AwsError,
    CapacityUnavailableError,
    CentavoError,
    NodesError,
    TerraformError,
)
from controller.domain.reasons import Said

MOVE = Move(1, 0.0, Fleet({"t2.large": 2}), Fleet({"c5.large": 1, "c5.xlarge": 1}), Said("cheaper"))


def blame(error: CentavoError, phase: MovePhase = MovePhase.GROWING) -> tuple[str, ...]:
    return blamed(Move(1, 0.0, MOVE.source, MOVE.target, MOVE.reason, phase), error, {})


def test_the_flavors_that_an_error_names_are_blamed() -> None:
    assert blame(CapacityUnavailableError("none left", flavors=("c5.xlarge",))) == ("c5.xlarge",)
    assert blame(NodesError("no answer", flavors=("c5.large",)), MovePhase.JOINING) == ("c5.large",)


def test_a_flavor_that_the_move_adds_no_node_of_is_never_blamed() -> None:
    assert blame(NodesError("no answer", flavors=("t2.large", "c5.large"))) == ("c5.large",)
    assert blame(NodesError("no answer", flavors=("t2.large",))) == ()


@pytest.mark.parametrize("error", [AnsibleError("failed"), NodesError("gone"), TerraformError("failed")])
def test_all_that_the_move_adds_are_blamed_where_no_flavor_is_named(error: CentavoError) -> None:
    assert blame(error) == ("c5.large", "c5.xlarge")


@pytest.mark.parametrize(
    ("hosts", "flavors"),
    [
        (["i-1"], ("c5.xlarge",)),
        (["i-1", "i-2"], ("c5.large", "c5.xlarge")),
        (["i-1", "i-3"], ("c5.xlarge",)),
        (["head", "i-1"], ("c5.large", "c5.xlarge")),
    ],
    ids=["one", "both", "one that the move adds", "the head as well"],
)
def test_a_playbook_that_failed_on_some_nodes_blames_their_flavors(hosts: list[str], flavors: tuple[str, ...]) -> None:
    error = AnsibleError("failed", hosts=dict.fromkeys(hosts, "no such package"))
    flavor_of = {"i-1": "c5.xlarge", "i-2": "c5.large", "i-3": "t2.large"}
    assert blamed(replace(MOVE, phase=MovePhase.GROWING), error, flavor_of) == flavors


def test_a_cloud_that_can_not_be_asked_is_no_flavors_fault() -> None:
    assert blame(AwsError("no route")) == ()


@pytest.mark.parametrize("phase", [MovePhase.PROPOSED, MovePhase.SHRINKING])
def test_nobody_is_blamed_before_nodes_are_added_or_after_they_have_joined(phase: MovePhase) -> None:
    assert blame(NodesError("gone"), phase) == ()
