"""The name of the cluster, and the settings of the dead man's switch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from controller.config.settings import Settings, parse_settings
from controller.domain.errors import ConfigError
from controller.domain.lease import HeadEnding, SwitchSettings
from tests.unit.controller.harness import SETTINGS

ENVIRONMENTS = Path(__file__).parents[4] / "terraform" / "environments"


def parsed(switch: dict[str, Any], **top: Any) -> Settings:
    controller = {**SETTINGS["controller"], "switch": switch}
    return parse_settings({**SETTINGS, **top, "controller": controller}, "centavo.yml")


def test_the_defaults_are_those_that_the_environment_aws_shows() -> None:
    shown = yaml.safe_load((ENVIRONMENTS / "aws" / "centavo.yml").read_text())["controller"]["switch"]
    assert parsed({}).controller.switch == parsed(shown).controller.switch
    assert parsed({}).controller.switch.settings == SwitchSettings(900, 1800, 7200, 3600, 7200, HeadEnding.STOP)


@pytest.mark.parametrize(
    ("switch", "told"),
    [
        ({"lease_s": 3600}, "worker_s must be above lease_s"),
        ({"worker_s": 900}, "worker_s must be above lease_s"),
        ({"reaper_s": 3599}, "reaper_s must not be below worker_s"),
        ({"lease_s": 19}, "controller.switch.lease_s"),
        ({"stalled_s": 0}, "controller.switch.stalled_s"),
        ({"head": "explode"}, "controller.switch.head"),
        ({"sleep_s": 1}, "controller.switch.sleep_s"),
    ],
)
def test_a_switch_that_cannot_work_is_refused(switch: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError) as error:
        parsed(switch)
    assert told in str(error.value)


def test_equal_times_of_workers_and_reaper_are_allowed() -> None:
    assert parsed({"worker_s": 1000, "reaper_s": 1000}).controller.switch.worker_s == 1000


@pytest.mark.parametrize("name", ["", "ab", "Centavo", "-abc", "abc-", "a" * 26, 7, None])
def test_a_name_that_aws_would_refuse_is_refused_here(name: object) -> None:
    with pytest.raises(ConfigError, match="cluster"):
        parsed({}, cluster=name)


def test_every_environment_names_its_cluster_in_one_place() -> None:
    for environment in ("local", "aws"):
        assert yaml.safe_load((ENVIRONMENTS / environment / "centavo.yml").read_text())["cluster"]
        declared = (ENVIRONMENTS / environment / "main.tf").read_text()
        assert 'cluster  = yamldecode(file("${path.module}/centavo.yml")).cluster' in declared


def test_a_pass_may_take_as_long_as_all_that_it_waits_for() -> None:
    controller = parsed({}).controller
    assert controller.longest_pass_s == 30 + 30 + 20 + 20 + 600 + 600 + 3600 + 60
