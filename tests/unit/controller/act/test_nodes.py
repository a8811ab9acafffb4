"""What each playbook is run with: on which nodes, with which variables, and only by the run's writer."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from controller.act.nodes import Nodes
from controller.config.settings import WheelhouseSettings
from controller.domain import Fleet, Instance
from controller.domain.errors import AnsibleError, SupersededError
from controller.domain.reasons import Said
from controller.domain.reasons.moving import ConfiguringFailed
from controller.edges.ansible import Outcome
from controller.edges.connecting.ssh import SshAccess, config_for_people
from controller.observe.reaching import Reaching
from controller.supply.supplies import Supplies
from controller.supply.wheelhouse import UPLOAD_S, archive_key
from tests.unit.controller.harness import Controller, new_world
from tests.unit.controller.supplying import Builder, NoBuilder, WorldStore, manifest

BUILT_FOR = {"python": "3.11", "glibc": "2.36"}
FROM_HEAD = manifest(b"from the head")


class Playbooks:
    """Notes each playbook that is run, and with what. A playbook that is asked for a manifest writes one."""

    def __init__(self) -> None:
        self.played: list[dict[str, Any]] = []
        self.error: AnsibleError | None = None

    def play(
        self,
        playbook: str,
        access: SshAccess,
        instances: Sequence[Instance],
        variables: Mapping[str, Any],
        limit: Sequence[str] | None = None,
        timeout_s: float | None = None,
    ) -> Outcome:
        nodes = [instance.instance_id for instance in instances]
        self.played.append(
            {
                "playbook": playbook,
                "access": access,
                "nodes": nodes,
                "limit": limit,
                "timeout_s": timeout_s,
                **variables,
            }
        )
        if self.error is not None:
            raise self.error
        if "manifest" in variables:
            assert Path(variables["sources"]).read_bytes() == b"sources"
            Path(variables["manifest"]).write_text(json.dumps(FROM_HEAD), encoding="utf-8")
        if "public" in variables.get("controller", {}):
            Path(variables["controller"]["public"]).write_bytes(b"ssh-ed25519 AAAA\n")
        return Outcome()


class Desk:
    """The nodes of a run with two workers and a head. Where packages are built, only the head can build them."""

    def __init__(self, root: Path, is_built: bool = False) -> None:
        world = new_world(is_up=True, desired=dict(Fleet({"c5.large": 2})))
        world.scale()
        world.advance(10.0)
        self.cluster = cluster = Controller(world, root).cluster
        environment = cluster.observer._reaching.environment
        if is_built:
            nodes = environment.settings.nodes.model_copy(update={"wheelhouse": WheelhouseSettings(**BUILT_FOR)})
            environment = replace(environment, settings=environment.settings.model_copy(update={"nodes": nodes}))
        self.made, self.store = cluster.made, WorldStore()
        builder = Builder(root, "another glibc") if is_built else NoBuilder()
        self.reaching = Reaching(environment, cluster.made, cluster.instances, "a-run", root / "a-run")
        self.reaching.run_directory.mkdir()
        self.workers = cluster.workers()
        self.ids = [worker.instance_id for worker in self.workers]
        self.head = cluster.instances.head().instance_id
        self.playbooks, self.members = Playbooks(), list[frozenset[str]]()
        self.is_superseded = False
        self.supplies = Supplies(
            environment, cluster.made, self.reaching.run_directory, self.store, builder, lambda message: None
        )
        self.nodes = Nodes(
            self.playbooks, cluster.instances, self.reaching, self.supplies, self.members.append, self.check
        )

    def check(self) -> None:
        if self.is_superseded:
            raise SupersededError("taken over")

    @property
    def played(self) -> dict[str, Any]:
        """The only playbook that was run."""
        [played] = self.playbooks.played
        return played


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_every_playbook_is_told_how_to_reach_the_nodes_and_what_to_know_of_the_run(desk: Desk) -> None:
    for act in (desk.nodes.start_training, desk.nodes.stop_training, desk.nodes.fetch_results):
        desk.playbooks.played.clear()
        act()
        assert desk.played["access"] == desk.reaching.access()
        assert desk.played["centavo"] == desk.reaching.variables()
        assert (desk.played["nodes"], desk.played["limit"], desk.played["timeout_s"]) == ([desk.head], None, None)


def test_start_and_stop_have_a_playbook_each(desk: Desk) -> None:
    desk.nodes.start_training()
    desk.nodes.stop_training()
    assert [played["playbook"] for played in desk.playbooks.played] == ["start.yml", "stop.yml"]


def test_only_the_nodes_asked_for_are_configured_within_the_time(desk: Desk) -> None:
    desk.nodes.configure(desk.workers[:1], 40.0)
    assert (desk.played["playbook"], desk.played["timeout_s"]) == ("site.yml", 40.0)
    assert desk.played["nodes"] == [desk.head, desk.ids[0]], "the head is the way in"
    assert desk.played["limit"] == [desk.ids[0]]
    assert desk.played["centavo"] == {**desk.reaching.variables(), **desk.supplies.variables()}


def test_the_head_is_configured_where_that_is_asked_for(desk: Desk) -> None:
    desk.nodes.configure(desk.workers, 40.0, with_head=True)
    assert desk.played["limit"] == [*desk.ids, desk.head]


def test_nodes_that_can_not_be_configured_are_named_with_what_they_said(desk: Desk) -> None:
    desk.playbooks.error = AnsibleError("site.yml failed", "Look.", {"i-1": "no room"}, reason=Said("it failed"))
    with pytest.raises(AnsibleError) as raised:
        desk.nodes.configure(desk.workers, 40.0)
    assert (raised.value.what, raised.value.next_step) == ("site.yml failed", "Look.")
    assert raised.value.hosts == {"i-1": "no room"}
    assert raised.value.reason == ConfiguringFailed(Said("it failed"))


def test_all_that_runs_is_configured_within_the_settings_time(desk: Desk) -> None:
    assert isinstance(desk.nodes.configure_all(), Outcome)
    assert (desk.played["playbook"], desk.played["nodes"]) == ("site.yml", [desk.head, *desk.ids])
    timeouts = desk.reaching.environment.settings.controller.timeouts
    assert (desk.played["timeout_s"], desk.played["limit"]) == (timeouts.configure_s, None)


def test_the_hosts_file_gets_the_addresses_and_the_journal_knows_of_the_members_first(desk: Desk) -> None:
    desk.playbooks.error = AnsibleError("hosts.yml failed")
    with pytest.raises(AnsibleError):
        desk.nodes.set_hosts(desk.workers)
    assert desk.members == [frozenset(desk.ids)]
    assert desk.played["playbook"] == "hosts.yml"
    assert desk.played["addresses"] == [worker.private_ip for worker in desk.workers]
    assert desk.played["nodes"] == [desk.head], "only the head has a hosts file"


def test_results_come_into_the_runs_folder_again_and_again(desk: Desk) -> None:
    results = desk.reaching.run_directory / "results"
    assert desk.nodes.fetch_results() is False and results.is_dir()
    (results / "scores.json").touch()
    assert desk.nodes.fetch_results() is True
    assert [(p["playbook"], p["destination"]) for p in desk.playbooks.played] == [("fetch.yml", str(results))] * 2


@pytest.mark.parametrize("configure_again", ["configure", "configure_all"])
def test_nodes_that_join_later_get_the_training_config_that_the_first_ones_got(
    desk: Desk, configure_again: str
) -> None:
    original = desk.reaching.environment.path(desk.reaching.environment.settings.training.config)
    first = original.read_bytes()
    desk.nodes.configure_all()
    assert desk.reaching.training_config.read_bytes() == first
    desk.reaching.training_config.write_bytes(b"what the first ones got")
    if configure_again == "configure":
        desk.nodes.configure(desk.workers, 40.0)
    else:
        desk.nodes.configure_all()
    assert desk.reaching.training_config.read_bytes() == b"what the first ones got"


def test_the_first_nodes_get_a_copy_of_the_training_config(desk: Desk) -> None:
    desk.nodes.configure(desk.workers, 40.0)
    original = desk.reaching.environment.path(desk.reaching.environment.settings.training.config)
    assert desk.reaching.training_config.read_bytes() == original.read_bytes()


def test_nodes_that_come_later_can_prepare_themselves_as_the_first_ones_were_prepared(tmp_path: Path) -> None:
    desk = Desk(tmp_path, is_built=True)
    run = desk.reaching.run_directory
    (desk.reaching.environment.root / "ansible").symlink_to(Path(__file__).resolve().parents[4] / "ansible")
    (run / "head_key.pub").write_text("ssh-ed25519 AAAA\n")
    desk.playbooks.error = AnsibleError("site.yml failed")
    for configure in (lambda: desk.nodes.configure(desk.workers, 40.0), desk.nodes.configure_all):
        with pytest.raises(AnsibleError):
            configure()
        assert not (run / "boot.json").exists(), "what has not prepared a node prepares no other one"
    desk.playbooks.error = None
    desk.nodes.configure(desk.workers, 40.0)
    pointer = json.loads((run / "boot.json").read_text())
    desk.nodes.configure_all()
    assert json.loads((run / "boot.json").read_text()) == pointer
    with tarfile.open(run / "boot.tar.gz") as archive:
        file = archive.extractfile("variables.json")
        assert file is not None
        variables = json.load(file)
    head = desk.cluster.instances.head()
    assert variables["head"] == {
        "instance_id": head.instance_id,
        "private_ip": head.private_ip,
        "flavor": head.flavor,
    }
    assert head.private_ip is not None
    assert variables["centavo"]["wheelhouse"]["key"] == archive_key(FROM_HEAD)
    assert "url" not in variables["centavo"]["wheelhouse"], "a signed URL would be of no use later"


def test_packages_that_only_the_head_can_build_are_built_there_and_uploaded_once(tmp_path: Path) -> None:
    desk = Desk(tmp_path, is_built=True)
    desk.nodes.configure(desk.workers, 40.0)
    desk.nodes.configure_all()
    first, second, *prepared = desk.playbooks.played
    assert [played["playbook"] for played in (first, second, *prepared)] == [*["wheelhouse.yml"] * 2, *["site.yml"] * 2]
    url = desk.store.url_to_write(desk.made.outputs.bucket, archive_key(FROM_HEAD), UPLOAD_S)
    assert (first["upload_url"], second["upload_url"]) == ("", url)
    for played in (first, second):
        assert (played["nodes"], played["built_for"]) == ([desk.head], BUILT_FOR)
        assert played["manifest"] == str(Path(played["sources"]).with_name("manifest.json"))
        assert played["centavo"] == desk.reaching.variables()
    for played in prepared:
        assert played["centavo"]["wheelhouse"]["sha256"] == FROM_HEAD["sha256"]


def test_people_get_an_ssh_config_and_can_do_without_where_the_disk_does_not_take_it(desk: Desk) -> None:
    file = desk.reaching.environment.state_directory / "ssh_config"
    desk.nodes.configure(desk.workers, 40.0)
    assert file.read_text() == config_for_people(desk.reaching.access())
    file.unlink()
    file.mkdir()
    assert desk.nodes.configure_all() == Outcome()


def test_a_controller_that_was_superseded_runs_no_playbook(desk: Desk) -> None:
    desk.is_superseded = True
    with pytest.raises(SupersededError):
        desk.nodes.start_training()
    assert desk.playbooks.played == []


def test_a_placed_controller_gives_the_public_half_of_its_key_and_is_started_with_the_same_variables(
    tmp_path: Path,
) -> None:
    desk = Desk(tmp_path)
    assert desk.nodes.place_controller({"name": "test"}) == b"ssh-ed25519 AAAA\n"
    desk.nodes.start_controller({"name": "test"})
    placed, started = desk.playbooks.played
    for played in (placed, started):
        assert (played["playbook"], played["nodes"]) == ("controller.yml", [desk.head])
    assert (placed["controller_step"], started["controller_step"]) == ("place", "start")
    assert not Path(placed["controller"].pop("public")).exists()
    assert placed["controller"] == started["controller"] == {"name": "test"}


def test_a_controller_is_stopped_on_the_head_alone(desk: Desk) -> None:
    desk.nodes.stop_controller()
    assert (desk.played["playbook"], desk.played["nodes"]) == ("controller.yml", [desk.head])
    assert desk.played["controller_step"] == "stop"
