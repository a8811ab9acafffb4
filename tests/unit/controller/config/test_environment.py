"""The settings of an environment: typed, or an error that names file and key."""

from __future__ import annotations

import copy
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
import yaml

from controller.config.checks import check_limits
from controller.config.environment import Environment
from controller.config.load import load_environment
from controller.domain.errors import ConfigError
from controller.loop.decide_settings import decide_settings
from tests.unit.controller.harness import PRICES, SETTINGS

REPOSITORY = Path(__file__).resolve().parents[4]


def environment(tmp_path: Path, changes: dict[str, Any] | None = None) -> Environment:
    """An environment whose settings have the changed keys (`a.b.c`: value)."""
    document = copy.deepcopy(SETTINGS)
    for key, value in (changes or {}).items():
        *path, last = key.split(".")
        place = document
        for part in path:
            place = place.setdefault(part, {})
        place[last] = value
    directory = tmp_path / "terraform" / "environments" / "test"
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "centavo.yml").write_text(yaml.safe_dump(document))
    return load_environment(tmp_path, "test")


@pytest.mark.parametrize("name", ["local", "aws"])
def test_the_shipped_environments_can_be_read(name: str) -> None:
    loaded = load_environment(REPOSITORY, name)
    assert loaded.initial_fleet.size >= 1
    assert decide_settings(loaded, loaded.settings.controller.policy, {}, 0.0).flavors == {}


def test_relative_paths_count_from_the_root(tmp_path: Path) -> None:
    loaded = environment(tmp_path, {"ssh.identity_file": ".centavo/key", "training.config": "/abs/training.yml"})
    assert loaded.identity_file == tmp_path / ".centavo/key"
    assert loaded.path(loaded.settings.training.config) == Path("/abs/training.yml")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"controller.interval_s": 0}, "controller.interval_s"),
        ({"controller.interval_s": "soon"}, "controller.interval_s"),
        ({"fleet.initial": {"c5.large": -1}}, r"fleet.initial.c5.large: .*greater than or equal to 0"),
        ({"fleet.initial": {"c5.large": 1.5}}, "fleet.initial.c5.large"),
        ({"fleet.initial": {"c5.large": 10**9}}, "fleet.initial.c5.large"),
        ({"limits.max_usd_per_hour": -1}, "limits.max_usd_per_hour"),
        ({"limits.max_nods": 3}, "limits.max_nods"),
        ({"ssh": {"user": "u"}}, "ssh.identity_file"),
        ({"ssh.port": 70000}, "ssh.port"),
    ],
)
def test_a_wrong_key_is_named_with_its_file(tmp_path: Path, changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(ConfigError, match=reason) as error:
        environment(tmp_path, changes)
    assert "centavo.yml" in error.value.what


@pytest.mark.parametrize(
    "given",
    ["2027-01-15T08:00:00Z", "2027-01-15T09:00:00+01:00", datetime(2027, 1, 15, 8, tzinfo=timezone.utc), 1_800_000_000],
)
def test_a_deadline_is_a_time_with_its_zone_or_seconds_since_the_epoch(tmp_path: Path, given: Any) -> None:
    assert environment(tmp_path, {"limits.deadline_at": given}).limits().deadline_at == 1_800_000_000.0


@pytest.mark.parametrize("given", ["soon", "10m", "2027-01-15T08:00:00", datetime(2027, 1, 15, 8)])
def test_a_deadline_without_a_zone_is_an_error(tmp_path: Path, given: Any) -> None:
    with pytest.raises(ConfigError, match=r"limits\.deadline_at"):
        environment(tmp_path, {"limits.deadline_at": given})


def test_all_wrong_keys_are_named_at_once(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as error:
        environment(tmp_path, {"ssh.port": 0, "controller.interval_s": -1})
    assert "ssh.port" in error.value.what
    assert "controller.interval_s" in error.value.what


def test_an_environment_that_there_is_not_is_answered_with_those_that_there_are(tmp_path: Path) -> None:
    environment(tmp_path)
    with pytest.raises(ConfigError, match="no environment 'tset'") as error:
        load_environment(tmp_path, "tset")
    assert "Choose one of test" in error.value.next_step


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"limits.min_nodes": 4}, r"limits.max_nodes \(3\) is below min_nodes \(4\)"),
        ({"limits.max_nodes_per_flavor": {"t2.medium": 0, "c5.large": 1, "c5.xlarge": 1}}, "allow no fleet.*at most 2"),
        ({"limits.exclude": ["t2.medium", "c5.large", "c5.xlarge"]}, "allow no fleet"),
        ({"limits.max_usd_per_hour": 0.1}, r"3 nodes cost at least \$0.139"),
        ({"limits.max_usd_per_hour": 0.2}, r"fleet.initial costs \$0.301"),
        ({"fleet.initial": {"c5.large": 0, "t2.medium": 0}}, "fleet.initial has no nodes"),
        ({"limits.max_nodes_per_flavor": {"c5.large": 9, "c5.xlarge": 0}}, "fleet.initial.c5.xlarge is 1, above"),
    ],
)
def test_limits_that_allow_no_fleet_are_an_error_before_anything_starts(
    tmp_path: Path,
    changes: dict[str, Any],
    reason: str,
) -> None:
    with pytest.raises(ConfigError, match=reason):
        check_limits(environment(tmp_path, changes), PRICES)


def test_limits_that_allow_the_initial_fleet_are_fine(tmp_path: Path) -> None:
    check_limits(environment(tmp_path, {"limits.max_usd_per_hour": 0.5}), PRICES)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"cooldwn_s": 3}, "unknown keys: cooldwn_s"),
        ({"objective": "beauty"}, "beauty"),
        ({"switching": {"boot": 3}}, "boot"),
        ({"truth": 1}, "unknown keys: truth"),
    ],
)
def test_an_unknown_option_of_the_policy_is_named(tmp_path: Path, options: dict[str, Any], reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        decide_settings(environment(tmp_path, {"controller.decide": options}), "cheapest-fleet", {}, 0.0)


def test_files_that_speeds_depend_on_have_to_exist(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"speeds_depend_on names nowhere\.yml, which is no file"):
        environment(tmp_path, {"training.speeds_depend_on": ["nowhere.yml"]})
    (tmp_path / "somewhere.yml").write_text("")
    loaded = environment(tmp_path, {"training.speeds_depend_on": ["somewhere.yml"]})
    assert loaded.settings.training.speeds_depend_on == (Path("somewhere.yml"),)


def test_on_local_known_speeds_depend_on_how_fast_localcloud_makes_each_flavor() -> None:
    depend_on = load_environment(REPOSITORY, "local").settings.training.speeds_depend_on
    assert depend_on == (Path("terraform/environments/local/localcloud.yml"),)
    assert load_environment(REPOSITORY, "aws").settings.training.speeds_depend_on == ()


@pytest.mark.parametrize("interval_s", [0.0, -5.0, float("nan"), float("inf")])
def test_an_interval_that_is_no_number_of_seconds_above_zero_is_refused(tmp_path: Path, interval_s: float) -> None:
    with pytest.raises(ConfigError, match="The interval is"):
        environment(tmp_path).with_interval(interval_s)
    assert environment(tmp_path).with_interval(2.5).settings.controller.interval_s == 2.5
