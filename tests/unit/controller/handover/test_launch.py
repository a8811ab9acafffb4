"""How the controller on the head is started: its variables are read by the same program as settings of the head."""

from __future__ import annotations

from pathlib import Path

import yaml

from controller.config.load import load_environment
from controller.handover.launch import options_on_head, variables_for_ansible, variables_on_head
from tests.unit.controller.harness import SETTINGS

EXPORTED = {"AWS_ENDPOINT_URL": "http://127.0.0.1:1", "AWS_EC2_METADATA_DISABLED": "true", "GOGC": "400"}


def environment_at(root: Path, name: str = "test") -> None:
    settings = yaml.safe_load(yaml.safe_dump(SETTINGS))
    settings["aws"] |= {"credentials_file": "credentials", "environment": EXPORTED}
    settings["ssh"] |= {"jump_through_head": True, "identity_file": "/home/ada/.ssh/id"}
    settings["controller"]["detach"] = True
    folder = root / "terraform" / "environments" / name
    folder.mkdir(parents=True)
    (folder / "centavo.yml").write_text(yaml.safe_dump(settings))


def test_on_the_head_its_own_role_key_and_way_to_the_nodes_hold(tmp_path: Path) -> None:
    environment_at(tmp_path)
    here = load_environment(tmp_path, "test", {}).with_interval(7.0)
    there = load_environment(tmp_path, "test", variables_on_head(here, {})).settings
    assert there.aws.credentials_file is None and there.aws.environment == {"GOGC": "400"}
    assert not there.ssh.jump_through_head and str(there.ssh.identity_file) == ".centavo/test/controller_key"
    assert not there.controller.detach, "a controller on the head hands nothing over"
    assert there.controller.interval_s == 7.0
    assert there.limits == here.settings.limits


def test_what_a_person_has_set_by_variables_holds_there_too_and_other_variables_do_not(tmp_path: Path) -> None:
    environment_at(tmp_path)
    given = {"CENTAVO__LIMITS__MAX_NODES": "2", "CENTAVO__AWS__CREDENTIALS_FILE": "mine", "AWS_SECRET_ACCESS_KEY": "s"}
    here = load_environment(tmp_path, "test", given)
    variables = variables_on_head(here, given)
    there = load_environment(tmp_path, "test", variables).settings
    assert there.limits.max_nodes == 2 and there.aws.credentials_file is None
    assert "AWS_SECRET_ACCESS_KEY" not in variables and variables["CENTAVO_PLACE"] == "head"


def test_it_goes_on_with_this_run_and_begins_none(tmp_path: Path) -> None:
    environment_at(tmp_path)
    options = options_on_head(load_environment(tmp_path, "test", {}), "20261123T000000Z", "list-price")
    assert options == ["--env", "test", "optimize", "--run", "20261123T000000Z", "--policy", "list-price", "--plain"]


def test_terraform_plans_the_same_cluster_there(tmp_path: Path) -> None:
    environment_at(tmp_path)
    given = {"TF_VAR_flavors": "{}", "TF_VAR_ssh_public_key": "mine", "TF_VAR_instance_credentials": "false"}
    variables = variables_on_head(load_environment(tmp_path, "test", {}), given)
    assert variables["TF_VAR_flavors"] == "{}" and variables["TF_VAR_instance_credentials"] == "true"
    assert "TF_VAR_ssh_public_key" not in variables, "the head's controller sets the cluster's own"


def test_a_head_with_a_wheelhouse_has_a_python_for_the_controller_alone(tmp_path: Path) -> None:
    environment_at(tmp_path)
    file = tmp_path / "terraform" / "environments" / "test" / "centavo.yml"
    assert variables_for_ansible(load_environment(tmp_path, "test", {}), "r", "p", {})["python"] == "python3"
    settings = yaml.safe_load(file.read_text())
    settings["nodes"]["wheelhouse"] = {"python": "3.11", "glibc": "2.36"}
    file.write_text(yaml.safe_dump(settings))
    told = variables_for_ansible(load_environment(tmp_path, "test", {}), "r", "p", {})
    assert not any("/home/ada/.ssh/id" in str(value) for value in told.values()), "no way to the person's key"
    assert (told["python"], told["name"]) == ("~/c/controller-python/bin/python", "test")
