"""terraform/init: where providers come from. A script that notes how it was called stands in for Terraform."""

from __future__ import annotations

import json
import os
import platform
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[3] / "terraform" / "init"
MACHINE = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine().lower(), platform.machine().lower())
PLATFORM = f"{platform.system().lower()}_{MACHINE}"
CLOSED_PORT = "http://127.0.0.1:9"

FAKE_TERRAFORM = """#!{python}
import json, os, pathlib, sys
directory = pathlib.Path(next(a for a in sys.argv if a.startswith("-chdir=")).split("=", 1)[1])
named = os.environ.get("TF_CLI_CONFIG_FILE")
calls = pathlib.Path(os.environ["FAKE_CALLS"])
with calls.open("a") as log:
    log.write(json.dumps({{"arguments": sys.argv[2:], "configuration": named}}) + "\\n")
lock = directory / ".terraform.lock.hcl"
if lock.exists() and "another source" in lock.read_text():
    sys.exit("the package does not match the checksums in the dependency lock file")
lock.write_text("made here")
program = directory / ".terraform/providers/registry.terraform.io/hashicorp/aws/5.100.0/{platform}"
program.mkdir(parents=True, exist_ok=True)
(program / "terraform-provider-aws").touch()
"""

VERSIONS = """terraform {
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = "5.100.0"
    }
  }
}
"""


class Project:
    """A checkout with one environment, a stand-in for Terraform, and no way to the registry."""

    def __init__(self, root: Path) -> None:
        self.root, self.calls_file = root, root / "calls"
        self.environment = root / "terraform" / "environments" / "unit"
        self.environment.mkdir(parents=True)
        (self.environment / "main.tf").write_text(VERSIONS)
        self.command = shutil.copy(SOURCE, root / "terraform" / "init")
        programs = root / "bin"
        programs.mkdir()
        fake = programs / "terraform"
        fake.write_text(FAKE_TERRAFORM.format(python=sys.executable, platform=PLATFORM))
        fake.chmod(fake.stat().st_mode | stat.S_IEXEC)
        self.variables = {
            "PATH": f"{programs}:{os.environ['PATH']}",
            "HOME": str(root / "home"),
            "XDG_DATA_DIRS": str(root / "share"),
            "HTTPS_PROXY": CLOSED_PORT,
            "https_proxy": CLOSED_PORT,
            "FAKE_CALLS": str(self.calls_file),
        }

    def mirror(self, place: str, version: str = "5.100.0") -> Path:
        folder = self.root / place
        (folder / "registry.terraform.io/hashicorp/aws" / version / PLATFORM).mkdir(parents=True)
        return folder

    def init(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, self.command, *(arguments or ("unit",))],
            env={**self.variables, **variables},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    @property
    def calls(self) -> list[dict[str, object]]:
        return (
            [json.loads(line) for line in self.calls_file.read_text().splitlines()] if self.calls_file.exists() else []
        )

    @property
    def configuration(self) -> Path:
        return self.root / ".centavo" / "terraform.rc"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def test_a_mirror_that_is_named_is_used_and_written_down_for_later_commands(project: Project) -> None:
    mirror = project.mirror("anywhere")
    done = project.init(TF_PLUGIN_MIRROR=str(mirror))
    assert done.returncode == 0, done.stderr
    assert f'path    = "{mirror}"' in project.configuration.read_text()
    assert project.calls[0]["configuration"] == str(project.configuration)


def test_a_mirror_that_lies_where_terraform_looks_is_found_without_a_registry(project: Project) -> None:
    mirror = project.mirror("share/terraform/plugins")
    done = project.init()
    assert done.returncode == 0, done.stderr
    assert f'path    = "{mirror}"' in project.configuration.read_text()


def test_a_named_mirror_without_the_pinned_version_is_refused_by_name(project: Project) -> None:
    done = project.init(TF_PLUGIN_MIRROR=str(project.mirror("old", version="5.1.0")))
    assert done.returncode == 1
    assert "hashicorp/aws 5.100.0" in done.stderr
    assert project.calls == []


def test_a_packed_mirror_counts_too(project: Project) -> None:
    folder = project.root / "packed" / "registry.terraform.io/hashicorp/aws"
    folder.mkdir(parents=True)
    (folder / f"terraform-provider-aws_5.100.0_{PLATFORM}.zip").touch()
    assert project.init(TF_PLUGIN_MIRROR=str(project.root / "packed")).returncode == 0


def test_a_second_time_nothing_is_done_and_nothing_is_said(project: Project) -> None:
    mirror = str(project.mirror("anywhere"))
    project.init(TF_PLUGIN_MIRROR=mirror)
    again = project.init(TF_PLUGIN_MIRROR=mirror)
    assert (again.returncode, again.stdout, again.stderr) == (0, "", "")
    assert len(project.calls) == 1


def test_it_runs_again_when_a_module_or_version_changes(project: Project) -> None:
    mirror = str(project.mirror("anywhere"))
    project.init(TF_PLUGIN_MIRROR=mirror)
    (project.environment / "more.tf").write_text('module "more" {\n  source = "../more"\n}\n')
    project.init(TF_PLUGIN_MIRROR=mirror)
    assert len(project.calls) == 2


def test_it_runs_again_when_the_provider_s_program_has_gone(project: Project) -> None:
    mirror = str(project.mirror("anywhere"))
    project.init(TF_PLUGIN_MIRROR=mirror)
    shutil.rmtree(project.environment / ".terraform" / "providers")
    project.init(TF_PLUGIN_MIRROR=mirror)
    assert len(project.calls) == 2


def test_a_configuration_of_one_s_own_is_left_in_charge(project: Project) -> None:
    own = project.root / "own.rc"
    own.write_text("provider_installation {\n}\n")
    done = project.init(TF_CLI_CONFIG_FILE=str(own))
    assert done.returncode == 0, done.stderr
    assert project.calls[0]["configuration"] == str(own)
    assert not project.configuration.exists()


def test_a_configuration_that_does_not_exist_is_dropped(project: Project) -> None:
    project.mirror("share/terraform/plugins")
    done = project.init(TF_CLI_CONFIG_FILE=str(project.root / "missing.rc"))
    assert done.returncode == 0, done.stderr
    assert project.calls[0]["configuration"] == str(project.configuration)


def test_a_lock_file_of_another_source_does_not_stand_in_the_way(project: Project) -> None:
    (project.environment / ".terraform.lock.hcl").write_text("another source")
    done = project.init(TF_PLUGIN_MIRROR=str(project.mirror("anywhere")))
    assert done.returncode == 0, done.stderr
    assert len(project.calls) == 2


def test_with_neither_registry_nor_mirror_it_says_what_to_do(project: Project) -> None:
    (project.environment / "main.tf").write_text(VERSIONS.replace("5.100.0", "999.0.0"))
    done = project.init()
    assert done.returncode == 1
    assert "hashicorp/aws 999.0.0" in done.stderr
    assert "export TF_PLUGIN_MIRROR=" in done.stderr
    assert project.calls == []


def test_s3_state_wants_the_bucket_named(project: Project) -> None:
    (project.environment / "main.tf").write_text(VERSIONS + 'terraform {\n  backend "s3" {}\n}\n')
    mirror = str(project.mirror("anywhere"))
    refused = project.init(TF_PLUGIN_MIRROR=mirror)
    assert refused.returncode == 1
    assert "backend.hcl.example" in refused.stderr
    (project.environment / "backend.hcl").write_text('bucket = "unit"\n')
    assert project.init(TF_PLUGIN_MIRROR=mirror).returncode == 0
    assert "-backend-config=backend.hcl" in str(project.calls[0]["arguments"])


def test_an_unknown_environment_is_named_with_those_that_there_are(project: Project) -> None:
    done = project.init("nowhere")
    assert done.returncode == 1
    assert "nowhere" in done.stderr
    assert "unit" in done.stderr
