"""`centavo optimize`: a wrong option is refused before a run is made."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from controller.cli import parser
from controller.commands.context import Context
from controller.commands.optimize import optimize
from controller.config.environment import Environment
from controller.config.settings import parse_settings
from controller.domain.errors import CentavoError
from controller.edges.clock import SystemClock
from controller.record.journal.runs import latest_run
from controller.record.live.reporter import PlainReporter
from tests.unit.controller.harness import SETTINGS


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (["--interval", "0"], "The interval is 0 s"),
        (["--interval", "-1"], "The interval is -1 s"),
        (["--interval", "nan"], "The interval is nan s"),
        (["--policy", "cheapst"], "no policy 'cheapst'"),
        (["--deadline", "soon"], "The deadline 'soon'"),
        (["--deadline", "2020-01-01T00:00:00Z"], "is not after the run's start"),
        (["--budget", "0"], "The budget '0'"),
        (["--metrics", "nowhere"], "nowhere"),
        (["--via", "pull-request", "--remote", "nowhere"], "nowhere"),
    ],
)
def test_a_wrong_option_is_refused_before_a_run_is_made(tmp_path: Path, options: list[str], error: str) -> None:
    environment = Environment("test", tmp_path, parse_settings(SETTINGS, tmp_path / "centavo.yml"))
    (tmp_path / "training.yml").write_text("model: { preset: tiny }\n")
    context = Context(environment, SystemClock(), PlainReporter())
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    with pytest.raises(CentavoError, match=error):
        optimize(context, parser().parse_args(["optimize", *options]))
    assert latest_run(tmp_path / "runs") is None
    assert not (tmp_path / "runs").exists()
