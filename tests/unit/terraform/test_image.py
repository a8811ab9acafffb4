"""The machine image: its Packer template is well formed, and a node of the image installs nothing."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.packer import has_plugins, own_folder, without_what_is_too_new
from tests.support.wheelhouse import PACKAGES, tiny_wheelhouse

ROOT = Path(__file__).resolve().parents[3]
IMAGE = ROOT / "terraform" / "image"
TEMPLATE = (IMAGE / "centavo.pkr.hcl").read_text()


def test_the_template_is_well_formed_hcl() -> None:
    """Packer's language is Terraform's; `terraform fmt` refuses what it can't parse."""
    done = subprocess.run(
        ["terraform", "fmt", "-check", "-diff", "-"], input=TEMPLATE, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    broken = subprocess.run(
        ["terraform", "fmt", "-"], input=TEMPLATE + "}", capture_output=True, text=True, check=False
    )
    assert broken.returncode != 0


def test_every_variable_is_declared_and_every_file_is_there() -> None:
    declared = set(re.findall(r'(?m)^variable "(\w+)"', TEMPLATE))
    assert set(re.findall(r"var\.(\w+)", TEMPLATE)) == declared
    script = (IMAGE / "build").read_text()
    without_default = {name for name in declared if not re.search(rf'variable "{name}" {{[^}}]*default', TEMPLATE)}
    assert set(re.findall(r'-var "(\w+)=', script)) == without_default
    for path in re.findall(r"\$\{var\.ansible\}/([\w./]+)", TEMPLATE):
        assert (ROOT / "ansible" / path).is_file()


def test_the_script_hands_packer_what_the_template_asks_for(tmp_path: Path) -> None:
    (tmp_path / "packer").write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >> {tmp_path}/called\n')
    answer = {
        "archive": "/a.tar",
        "digest": "d" * 64,
        "manifest": dict.fromkeys(("digest", "python", "machine", "glibc"), "x"),
    }
    program = f'case "$1" in -c) exec {sys.executable} "$@" ;; esac\ncat <<"E"\n{json.dumps(answer)}\nE\n'
    (tmp_path / "python").write_text(f"#!/bin/sh\n{program}")
    for name in ("packer", "python"):
        (tmp_path / name).chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHON": str(tmp_path / "python")}
    done = subprocess.run(
        [IMAGE / "build", "-var", "region=x"], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    called = (tmp_path / "called").read_text().splitlines()
    assert {"archive=/a.tar", f"digest={'d' * 64}", "region=x"} <= set(called)
    made_for = next(word for word in called if word.startswith("wheelhouse="))
    assert json.loads(made_for.removeprefix("wheelhouse=")) == answer["manifest"]


def test_a_machine_without_packer_is_told_what_to_install(tmp_path: Path) -> None:
    for name in ("bash", "dirname", "env"):
        (tmp_path / name).symlink_to(shutil.which(name) or name)
    done = subprocess.run([IMAGE / "build"], env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "Install Packer" in done.stderr


class Packer:
    """The real Packer, with the template as this version of it can read it."""

    def __init__(self, folder: Path) -> None:
        self.file, self.archive = folder / "centavo.pkr.hcl", folder / "wheelhouse.tar"
        self.archive.touch()
        programs = Path(sys.executable).parent  # Packer asks ansible-playbook for its version
        self.environment = {**os.environ, **own_folder(folder), "PATH": f"{programs}:{os.environ['PATH']}"}
        self.has_plugins = has_plugins(self.run("version").stdout)

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["packer", *arguments], env=self.environment, capture_output=True, text=True, timeout=600, check=False
        )

    def write(self, template: str) -> None:
        self.file.write_text(template if self.has_plugins else without_what_is_too_new(template))

    def validate(self, ansible: Path = ROOT / "ansible") -> subprocess.CompletedProcess[str]:
        given = {"ansible": ansible, "archive": self.archive, "digest": "d" * 64, "wheelhouse": '{"digest": "d"}'}
        return self.run("validate", *(f"-var={name}={value}" for name, value in given.items()), str(self.file))


@pytest.mark.needs_tool("packer")
@pytest.mark.timeout(1200)
def test_packer_accepts_the_template_and_refuses_one_with_mistakes(tmp_path: Path) -> None:
    packer = Packer(tmp_path)
    packer.write(TEMPLATE)
    if packer.has_plugins and packer.run("init", str(packer.file)).returncode != 0 and not os.environ.get("CI"):
        pytest.skip("Packer can't download the plugins that the template needs")
    accepted = packer.validate()
    assert accepted.returncode == 0, accepted.stdout + accepted.stderr
    assert packer.validate(ansible=tmp_path / "nowhere").returncode != 0, "there is no such playbook"
    for right, wrong in (("volume_type ", "volume_kind "), ('"gp3"', '"gp33"'), ("var.login_user", "var.user")):
        assert right in TEMPLATE
        packer.write(TEMPLATE.replace(right, wrong))
        assert packer.validate().returncode != 0, wrong


@pytest.mark.slow
def test_a_node_of_the_image_installs_nothing(tmp_path: Path) -> None:
    house = tiny_wheelhouse(tmp_path)
    home, variables = tmp_path / "home", tmp_path / "variables.json"
    home.mkdir()
    variables.write_text(json.dumps({"packages": [], "wheelhouse": house.made_for, "archive": str(house.archive)}))
    programs = Path(sys.executable).parent
    environment = {**os.environ, "HOME": str(home), "PATH": f"{programs}:{os.environ['PATH']}", "ANSIBLE_NOCOLOR": "1"}
    playbook = tmp_path / "ansible" / "playbooks" / "image.yml"
    shutil.copytree(ROOT / "ansible", tmp_path / "ansible")
    defaults = tmp_path / "ansible" / "roles" / "python" / "defaults" / "main.yml"
    defaults.write_text(json.dumps({"python_packages": PACKAGES, "python_archive": "/none"}))
    play = [programs / "ansible-playbook", "-i", "localhost,", "-c", "local", "-e", f"@{variables}"]
    done = subprocess.run(
        [*play, playbook], cwd=tmp_path / "ansible", env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    node = {"node_root": f"{home}/centavo", "node_python": f"{home}/centavo/venv/bin/python"}
    variables.write_text(json.dumps({"centavo": {"wheelhouse": {"made_for": house.made_for}}, **node}))
    again = tmp_path / "ansible" / "playbooks" / "again.yml"
    again.write_text("- hosts: all\n  gather_facts: false\n  roles:\n    - python\n")
    done = subprocess.run(
        [*play, again], cwd=tmp_path / "ansible", env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0 and "changed=0" in done.stdout, done.stdout + done.stderr
