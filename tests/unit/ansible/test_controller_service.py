"""The program that runs the controller on the head: what it starts again, after which pause, and when it leaves."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from pathlib import Path

import jinja2
import pytest
import yaml

ROLE = Path(__file__).resolve().parents[3] / "ansible" / "roles" / "controller"
VARIABLES = yaml.safe_load((ROLE / "vars" / "main.yml").read_text())


class Service:
    """The program in a folder of its own, with a controller that ends with the code that is asked for."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for name in ("bin", "wanted", "facts.d"):
            (root / name).mkdir()
        (root / "wanted" / "controller").touch()
        self._script("bin/controller", 'exit "$CODE"')
        self._script("bin/sleep", f'echo "$1" >> {root}/slept')
        environment = jinja2.Environment()
        environment.filters |= {"quote": shlex.quote, "regex_replace": lambda text, old, new: re.sub(old, new, text)}
        variables = {
            **{name: value for name, value in VARIABLES.items() if isinstance(value, int)},
            "controller": {"environment": {}, "tools": None, "options": ["optimize"]},
            "controller_python": str(root / "bin" / "controller"),
            "controller_root": str(root),
            "node_root": str(root),
            "node_fact_path": str(root / "facts.d"),
        }
        for template, file in (("controller", "program"), ("controller.environment", "bin/controller.environment")):
            text = (ROLE / "templates" / f"{template}.j2").read_text()
            (root / file).write_text(environment.from_string(text).render(variables))

    def _script(self, name: str, line: str) -> None:
        (self.root / name).write_text(f"#!/bin/sh\n{line}\n")
        (self.root / name).chmod(0o755)

    def step(self, step: int) -> None:
        (self.root / "facts.d" / "launcher.fact").write_text(f'{{"attempt": 1, "step": {step}, "hosts": []}}')

    def run(self, code: int) -> subprocess.CompletedProcess[str]:
        environment = {"PATH": f"{self.root}/bin:{os.environ['PATH']}", "CODE": str(code)}
        return subprocess.run(
            ["sh", self.root / "program"], env=environment, capture_output=True, text=True, timeout=60, check=False
        )

    @property
    def is_wanted(self) -> bool:
        return (self.root / "wanted" / "controller").exists()

    def slept(self) -> list[int]:
        return [int(line) for line in (self.root / "slept").read_text().split()]


@pytest.fixture
def service(tmp_path: Path) -> Service:
    return Service(tmp_path)


@pytest.mark.parametrize("code", [0, 12, 13, 14, 15, 17])
def test_a_controller_that_is_done_or_not_the_runs_any_more_is_not_started_again(service: Service, code: int) -> None:
    done = service.run(code)
    assert done.returncode == 0 and not service.is_wanted
    assert f"({code})" in done.stdout and "not started again" in done.stdout


@pytest.mark.parametrize("code", [1, 3, 16, 18, 19, 137])
def test_a_controller_that_failed_or_was_refused_is_started_again(service: Service, code: int) -> None:
    done = service.run(code)
    assert done.returncode == code and service.is_wanted
    assert f"ended with {code}. It is started again in 5 s" in done.stderr


def test_one_that_always_fails_is_started_ever_more_seldom_and_leaves_at_last(service: Service) -> None:
    service.step(7)
    most = VARIABLES["controller_failures"]
    for _ in range(most - 1):
        assert service.run(1).returncode == 1
    assert service.slept()[:8] == [5, 10, 20, 40, 80, 160, 300, 300]
    done = service.run(4)
    assert done.returncode == 0 and not service.is_wanted
    assert f"failed {most} times in a row, the last time with 4, and the training made no step" in done.stdout
    assert len(service.slept()) == most - 1
    assert service.run(1).returncode == 1, "another start counts anew"


def test_while_the_training_makes_steps_it_is_tried_on_with_long_pauses(service: Service) -> None:
    for step in range(VARIABLES["controller_failures"] + 2):
        service.step(step)
        assert service.run(1).returncode == 1 and service.is_wanted
    assert service.slept()[-1] == 300
