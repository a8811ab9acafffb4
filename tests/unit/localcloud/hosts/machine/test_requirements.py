"""What is missing for machines is said before anything is made."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from localcloud.cli import main
from localcloud.hosts.machine import requirements
from localcloud.hosts.machine.requirements import check, missing_packages
from localcloud.hosts.machine.tools import MachineError, run
from tests.support.local_cloud import free_port


@pytest.fixture
def root(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets the check believe in root rights and in all programs."""
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(requirements, "missing_packages", lambda: [])


def test_without_root_rights_the_way_out_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(MachineError, match=r"machines need root rights.*`--hosts loopback`"):
        check(tmp_path)


def test_up_says_so_and_makes_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    (tmp_path / "localcloud.yml").write_text(f"port: {free_port()}\n")
    arguments = ["--config", str(tmp_path / "localcloud.yml"), "--state-dir", str(tmp_path / "state")]
    assert main(["up", "--hosts", "machine", *arguments]) == 1
    assert "localcloud did not start: machines need root rights" in capsys.readouterr().err
    assert not (tmp_path / "state").exists()


def test_missing_programs_are_named_by_their_packages(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(requirements, "missing_packages", lambda: ["mmdebstrap", "nftables"])
    with pytest.raises(MachineError, match="apt-get install mmdebstrap nftables"):
        check(tmp_path)


def test_a_program_that_is_not_on_the_path_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requirements, "PROGRAMS", {"no-such-program": "a-package", "sh": "dash"})
    assert missing_packages() == ["a-package"]


@pytest.mark.usefixtures("root")
def test_a_path_that_mounts_do_not_take_is_refused() -> None:
    with pytest.raises(MachineError, match="characters that mounts do not take"):
        check(Path("/tmp/a:b"))


@pytest.mark.usefixtures("root")
def test_a_trial_overlay_that_fails_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def refuse(*words: str, **_: object) -> str:
        if words[0] == "mount":
            raise MachineError("`mount` failed: operation not permitted")
        return ""

    monkeypatch.setattr(requirements, "run", refuse)
    with pytest.raises(MachineError, match=r"overlayfs and loop devices, and a trial failed.*not permitted"):
        check(tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("root")
def test_a_kernel_without_nftables_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(requirements, "_check_overlay", lambda _: None)
    monkeypatch.setattr(requirements, "succeeds", lambda *_: False)
    with pytest.raises(MachineError, match="no nftables"):
        check(tmp_path)


def test_a_program_that_fails_is_quoted_with_what_it_said() -> None:
    with pytest.raises(MachineError, match="`sh -c echo no >&2; exit 3` failed: no"):
        run("sh", "-c", "echo no >&2; exit 3")
    with pytest.raises(MachineError, match="`false` failed: it ended with status 1"):
        run("false")
    with pytest.raises(MachineError, match="no-such-program was not found"):
        run("no-such-program")
    with pytest.raises(MachineError, match="did not end within"):
        run("sleep", "10", limit_s=0.05)
