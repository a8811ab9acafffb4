"""The settings under `controller.decide`: typed, and a wrong one is named with what is allowed."""

from __future__ import annotations

import copy
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from controller.config.deciding import DecideOptions, SwitchingOptions
from controller.config.environment import Environment
from controller.config.settings import parse_settings
from controller.decide import Batches, DecideSettings, Objective, SwitchingAssumptions
from controller.domain.errors import ConfigError
from controller.loop.decide_settings import decide_settings
from tests.unit.controller.harness import SETTINGS

FILE = Path("centavo.yml")


def environment(options: dict[str, Any]) -> Environment:
    """Returns an environment whose centavo.yml has these options under `controller.decide`."""
    document = copy.deepcopy(SETTINGS)
    document["controller"]["decide"] = options
    return Environment("test", Path("/nowhere"), parse_settings(document, str(FILE)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cooldwn_s": 3}, r"controller\.decide: unknown keys: cooldwn_s; the known keys are .*cooldown_s"),
        ({"truth": 1}, r"controller\.decide: unknown keys: truth"),
        ({"policy": "price-time"}, r"controller\.decide: unknown keys: policy"),
        ({"objective": "beauty"}, r"controller\.decide\.objective: .*'cost' or 'time'.*'beauty'"),
        ({"batches": "large"}, r"controller\.decide\.batches: .*'balanced' or 'equal'"),
        ({"saving_margin": -0.1}, r"controller\.decide\.saving_margin: .*greater than or equal to 0"),
        ({"probe_share": 2}, r"controller\.decide\.probe_share: .*less than or equal to 1"),
        ({"probe_steps": 2.5}, r"controller\.decide\.probe_steps: "),
        ({"count_communication": "perhaps"}, r"controller\.decide\.count_communication: "),
        ({"switching": {"boot_s": -1}}, r"controller\.decide\.switching\.boot_s: "),
        ({"switching": {"boot": 3}}, r"controller\.decide\.switching: unknown keys: boot; .*boot_s"),
        ({"hints_tokens_per_s": {"c5.large": 0}}, r"controller\.decide\.hints_tokens_per_s\.c5\.large: "),
        ({"measure_timeout_s": float("nan")}, r"controller\.decide\.measure_timeout_s: "),
    ],
)
def test_a_wrong_option_is_named_with_its_file_and_with_what_is_allowed(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=f"(?s)^centavo.yml .*{message}"):
        environment(options)


def test_every_option_reaches_the_settings_of_deciding() -> None:
    options = {
        "objective": "time",
        "batches": "equal",
        "cooldown_s": 7,
        "hints_tokens_per_s": {"c5.large": 900.0},
        "switching": {"boot_s": 10},
    }
    settings = decide_settings(environment(options), "price-time", {}, 0.5)
    assert (settings.policy, settings.head_usd_per_hour) == ("price-time", 0.5)
    assert (settings.objective, settings.batches) == (Objective.TIME, Batches.EQUAL)
    assert (settings.cooldown_s, settings.hints_tokens_per_s) == (7, {"c5.large": 900.0})
    assert settings.switching == SwitchingAssumptions(boot_s=10)


def test_without_options_the_defaults_of_deciding_hold() -> None:
    controller = environment({}).settings.controller
    times = controller.timeouts
    expected = DecideSettings(
        minimum_window=controller.minimum_window,
        cooldown_s=controller.cooldown_s,
        ending_s=controller.stop_ahead_s,
        look_s=controller.interval_s,
        attempt_s=times.boot_s + times.configure_s + times.join_s,
    )
    assert decide_settings(environment({}), "cheapest-fleet", {}, 0.0) == expected


def test_the_options_are_the_settings_of_deciding_that_nothing_else_gives() -> None:
    elsewhere = {
        "truth",
        "flavors",
        "policy",
        "head_usd_per_hour",
        "price_max_age_s",
        "ending_s",
        "look_s",
        "attempt_s",
        "zones",
        "usd_per_zones_gb",
        "spread",
    }
    assert set(DecideOptions.model_fields) == {field.name for field in fields(DecideSettings)} - elsewhere
    assert set(SwitchingOptions.model_fields) == {field.name for field in fields(SwitchingAssumptions)}
