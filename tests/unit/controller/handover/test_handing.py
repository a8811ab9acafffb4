"""The hand-over: the head's controller has the lease at its end, or the run stays where it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from controller.cluster import LiveCluster
from controller.config.settings import WheelhouseSettings
from controller.domain.errors import AnsibleError, AwsError, CentavoError, HeadError, SupplyError
from controller.domain.lease import Lease, Place
from controller.handover.handing import Handing
from controller.handover.kit import Kit
from controller.owning.keys import JOURNAL_NAME, LEASE, head_key, of_run, public_key
from controller.owning.lease_document import to_document
from tests.unit.controller.handover.tools_in_memory import TOOLS_DIGEST, NoTools, ToolsInMemory
from tests.unit.controller.harness import Controller, new_world
from tests.unit.controller.owning.bucket_in_memory import NOW, BucketInMemory, claim
from tests.unit.controller.supplying import Builder, NoBuilder, WorldStore

PUBLIC = b"ssh-ed25519 AAAA centavo-controller\n"


class Nodes:
    """What is done on the head. `on_start` is what its controller does."""

    def __init__(self, on_start: Callable[[], None]) -> None:
        self.on_start, self.done = on_start, list[str]()
        self.placed: Mapping[str, Any] = {}
        self.fails_at = ""

    def configure(self, instances: list[object], timeout_s: float, *, with_head: bool) -> None:
        assert instances == [] and with_head
        self._do("configure")

    def place_controller(self, controller: Mapping[str, Any]) -> bytes:
        self.placed = controller
        self._do("place")
        return PUBLIC

    def start_controller(self, controller: Mapping[str, Any]) -> None:
        assert controller == self.placed
        self._do("start")
        self.on_start()

    def stop_controller(self) -> None:
        self._do("stop")

    def _do(self, step: str) -> None:
        self.done.append(step)
        if step == self.fails_at:
            raise AnsibleError(f"{step} failed")


class Cluster:
    """A cluster whose head answers at some look."""

    def __init__(self, real: LiveCluster, nodes: Nodes) -> None:
        self.nodes, self.made, self.looks = nodes, real.made, 0
        self.answers_at = 3

    def observe(self) -> Any:
        self.looks += 1
        head = object() if self.looks >= self.answers_at else None
        return type("Observation", (), {"head": head})()


class HandedRun:
    """A run that is handed over, and all that the hand-over touches."""

    def __init__(self, root: Path) -> None:
        self.world = new_world()
        self.one = Controller(self.world, root)
        self.one.bring_up()
        self.run = self.one.journal.info().run
        self.one.environment.public_key_file.write_bytes(b"ssh-ed25519 BBBB ada@desk\n")
        self.bucket, self.store, self.notes = BucketInMemory(), WorldStore(), list[str]()
        self.kit = Kit(None, self.store, NoBuilder(), NoTools(), self.notes.append)
        self.nodes = Nodes(self.take_the_lease)
        self.cluster = Cluster(self.one.cluster, self.nodes)

    def write_lease(self, **changes: Any) -> Lease:
        own = claim("there")
        lease = replace(own.first(NOW, 2), run=self.run, holder=replace(own.holder, place=Place.HEAD))
        lease = replace(lease, **changes)
        self.bucket.put(LEASE, to_document(lease), lease.generation)
        return lease

    def take_the_lease(self) -> None:
        self.write_lease()
        self.bucket.put(of_run(self.run, JOURNAL_NAME), b"", 2)

    def give_back(self) -> None:
        assert self.bucket.kept[head_key(self.run)][0] == PUBLIC, "nodes let the key in before the head needs it"
        self.nodes.done.append("give back")

    def hand_over(self) -> Lease:
        handing = Handing(
            self.one.environment, cast(LiveCluster, self.cluster), self.one.journal, self.one.clock, self.store,
            self.bucket, self.kit, 1, lambda: "a-lineage", self.give_back, self.notes.append,
        )  # fmt: skip
        return handing.hand_over()


@pytest.fixture
def handed(tmp_path: Path) -> HandedRun:
    return HandedRun(tmp_path)


def test_the_lease_is_given_back_when_all_is_placed_and_the_head_takes_it(handed: HandedRun) -> None:
    lease = handed.hand_over()
    assert lease.holder.place is Place.HEAD and lease.run == handed.run
    assert handed.nodes.done == ["configure", "place", "give back", "start"]
    assert handed.cluster.looks == 3, "the head was waited for"
    [((_, key), content)] = handed.store.objects.items()
    placed = handed.nodes.placed
    assert placed["sha256"] in key and placed["size"] == len(content) and key in placed["url"]
    assert ["--run", handed.run] == placed["options"][3:5]
    assert (placed["lineage"], placed["packages"], placed["tools"]) == ("a-lineage", None, None)


def test_the_heads_own_key_takes_the_place_of_earlier_heads_keys_and_of_no_other(handed: HandedRun) -> None:
    handed.bucket.put(head_key("run-before"), b"ssh-ed25519 OLD\n", 1)
    handed.bucket.put(head_key(handed.run), b"ssh-ed25519 OLD\n", 1)
    handed.bucket.put(public_key("desk"), b"ssh-ed25519 DESK\n", 1)
    handed.hand_over()
    offered = {key: kept[0] for key, kept in handed.bucket.kept.items() if key.startswith("control/keys/")}
    assert offered == {head_key(handed.run): PUBLIC, public_key("desk"): b"ssh-ed25519 DESK\n"}
    assert not any("identity" in name for name in handed.nodes.placed if name != "identity_on_head")


def test_a_head_with_a_wheelhouse_gets_packages_and_tools_before_the_lease_is_given_back(
    handed: HandedRun, tmp_path: Path
) -> None:
    settings = WheelhouseSettings(python="3.11", glibc="2.36")
    handed.kit = Kit(settings, handed.store, Builder(tmp_path), ToolsInMemory(tmp_path), handed.notes.append)
    handed.hand_over()
    placed = handed.nodes.placed
    assert placed["packages"]["made_for"]["python"] == "3.11" and placed["tools"]["digest"] == TOOLS_DIGEST
    assert {key.split("/")[1] for _, key in handed.store.objects if key.startswith("control/")} == {"bundles", "tools"}


def test_tools_that_can_not_be_had_leave_the_run_here(handed: HandedRun, tmp_path: Path) -> None:
    settings = WheelhouseSettings(python="3.11", glibc="2.36")
    handed.kit = Kit(settings, handed.store, Builder(tmp_path), NoTools(), handed.notes.append)
    with pytest.raises(SupplyError):
        handed.hand_over()
    assert handed.nodes.done == ["configure"]


def test_a_head_that_never_answers_changes_nothing(handed: HandedRun) -> None:
    handed.cluster.answers_at = 10_000
    with pytest.raises(HeadError, match="did not answer within 30 s"):
        handed.hand_over()
    assert handed.nodes.done == [] and handed.store.objects == {}


@pytest.mark.parametrize("step", ["configure", "place"])
def test_where_the_head_can_not_be_prepared_the_lease_is_kept(handed: HandedRun, step: str) -> None:
    handed.nodes.fails_at = step
    with pytest.raises(AnsibleError):
        handed.hand_over()
    assert "give back" not in handed.nodes.done


def test_a_controller_that_does_not_take_the_lease_is_stopped(handed: HandedRun) -> None:
    handed.nodes.on_start = lambda: None
    with pytest.raises(HeadError, match="did not take the cluster's lease within 30 s"):
        handed.hand_over()
    assert handed.nodes.done[-1] == "stop"
    assert head_key(handed.run) not in handed.bucket.kept, "its key is withdrawn"


def test_a_bucket_that_takes_no_key_leaves_the_run_here(handed: HandedRun) -> None:
    def lock(key: str) -> None:
        handed.bucket.is_reachable = False

    handed.bucket.before_write = lock
    with pytest.raises(AwsError):
        handed.hand_over()
    assert handed.nodes.done == ["configure", "place"]


@pytest.mark.parametrize(
    "otherwise",
    [{"released": True}, {"run": "another"}, {"holder": claim("machine").holder}, {"generation": 3}],
    ids=["given back", "of another run", "of a machine", "has not opened the journal"],
)
def test_a_lease_that_is_not_the_heads_for_this_run_does_not_count(
    handed: HandedRun, otherwise: dict[str, Any]
) -> None:
    def take_another() -> None:
        handed.take_the_lease()
        handed.write_lease(**otherwise)

    handed.nodes.on_start = take_another
    with pytest.raises(HeadError):
        handed.hand_over()


def test_a_start_that_fails_is_stopped_and_a_stop_that_fails_is_told(handed: HandedRun) -> None:
    def fail() -> None:
        handed.nodes.fails_at = "stop"
        raise AnsibleError("supervisor does not answer")

    handed.nodes.on_start = fail
    with pytest.raises(CentavoError, match="supervisor does not answer"):
        handed.hand_over()
    assert handed.nodes.done[-1] == "stop"
    assert any("It may still take the run over" in note for note in handed.notes)
