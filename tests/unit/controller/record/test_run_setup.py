"""What a run is repeated from: its settings without secrets, its versions, its commit."""

from __future__ import annotations

from pathlib import Path

import pytest

from controller.config.environment import Environment
from controller.config.settings import parse_settings
from controller.record.run_setup import keep_setup, read_setup, without_secrets
from tests.unit.controller.harness import SETTINGS


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    environment = Environment("test", tmp_path, parse_settings(SETTINGS, tmp_path / "centavo.yml"))
    environment.directory.mkdir(parents=True)
    environment.settings_file.write_text("aws:\n  environment:\n    AWS_SECRET_ACCESS_KEY: hush\n")
    environment.prices_file.write_text("c5.large: 0.085\n")
    return environment


def test_settings_versions_and_what_was_asked_for_are_kept(environment: Environment, tmp_path: Path) -> None:
    keep_setup(environment, tmp_path, {"POLICY": "price-time", "INTERVAL": None})
    setup = read_setup(tmp_path)
    assert setup["command"] == {"POLICY": "price-time", "INTERVAL": None}
    assert setup["files"]["terraform/environments/test/prices.yml"] == "c5.large: 0.085\n"
    assert "hush" not in (tmp_path / "setup.json").read_text()
    assert setup["versions"]["python"].startswith("3.1")
    assert "scipy" in setup["versions"]


def test_a_run_that_is_carried_on_keeps_what_it_began_with(environment: Environment, tmp_path: Path) -> None:
    keep_setup(environment, tmp_path, {"POLICY": "price-time"})
    environment.prices_file.write_text("c5.large: 9.99\n")
    keep_setup(environment, tmp_path, {"POLICY": "other"})
    setup = read_setup(tmp_path)
    assert setup["command"] == {"POLICY": "price-time"}
    assert "9.99" not in str(setup["files"])


def test_a_run_of_before_has_none(tmp_path: Path) -> None:
    assert read_setup(tmp_path) == {}
    (tmp_path / "setup.json").write_text("{torn")
    assert read_setup(tmp_path) == {}


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("    AWS_SECRET_ACCESS_KEY: test", "    AWS_SECRET_ACCESS_KEY: (not shown)"),
        ("AWS_SESSION_TOKEN: abc", "AWS_SESSION_TOKEN: (not shown)"),
        ('  password = "abc"', "  password = (not shown)"),
        ('  "github_token": "abc",', '  "github_token": (not shown)'),
        ("batch: {tokens: 4096}", "batch: {tokens: 4096}"),
        ("  max_tokens: 200", "  max_tokens: 200"),
        ("  tokenize: none", "  tokenize: none"),
        ("c5.large: 0.085", "c5.large: 0.085"),
    ],
)
def test_secrets_are_not_shown_and_everything_else_is(line: str, shown: str) -> None:
    assert without_secrets(line) == shown
