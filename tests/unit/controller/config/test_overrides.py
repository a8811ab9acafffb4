"""Settings that come from the process environment."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from controller.config.load import load_environment
from controller.config.overrides import overridden
from controller.domain import Fleet
from controller.domain.errors import ConfigError

REPOSITORY = Path(__file__).resolve().parents[4]


def test_a_variable_takes_the_place_of_a_setting_of_the_shipped_environment() -> None:
    variables = {
        "CENTAVO__FLEET__INITIAL": "{c5.large: 2}",
        "CENTAVO__LIMITS__MIN_NODES": "1",
        "CENTAVO__CONTROLLER__TIMEOUTS__BOOT_S": "77",
        "CENTAVO_KERNELS": "not a setting",
    }
    loaded = load_environment(REPOSITORY, "aws", variables)
    plain = load_environment(REPOSITORY, "aws", {})
    assert loaded.initial_fleet == Fleet({"c5.large": 2}) and loaded.settings.limits.min_nodes == 1
    assert loaded.settings.controller.timeouts.boot_s == 77
    assert loaded.settings.controller.timeouts.join_s == plain.settings.controller.timeouts.join_s
    assert loaded.settings.limits.max_nodes == plain.settings.limits.max_nodes


def test_sections_that_the_file_leaves_out_can_be_set() -> None:
    assert overridden({"a": None}, {"CENTAVO__A__B": "1", "CENTAVO__C__D": "[x]"}) == {"a": {"b": 1}, "c": {"d": ["x"]}}


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("CENTAVO__LIMITS__MAX_NODS", "3", r"limits\.max_nods"),
        ("CENTAVO__LIMITS__MAX_NODES", "many", r"limits\.max_nodes"),
        ("CENTAVO__LIMITS__MAX_NODES", "{", "not valid YAML"),
        ("CENTAVO__AWS__REGION__NAME", "x", "no keys"),
    ],
)
def test_an_error_names_the_variable(name: str, value: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said) as caught:
        load_environment(REPOSITORY, "aws", {name: value})
    assert re.search(name, str(caught.value))
