"""What uv is told of the package index is what pip is configured for."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

INSTALLER = Path(__file__).resolve().parents[3] / "requirements" / "installer.py"


@pytest.fixture(scope="module")
def installer() -> ModuleType:
    spec = importlib.util.spec_from_file_location("installer", INSTALLER)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_environment_wins_over_install_and_install_over_global(installer: ModuleType) -> None:
    listing = "\n".join([
        ":env:.timeout='180'",
        "global.index-url='https://global.example/simple'",
        "global.timeout='10'",
        "install.index-url='https://install.example/simple'",
        "freeze.timeout='20'",
        "a line that is no setting",
    ])  # fmt: skip
    assert installer.pip_settings(listing) == {"index-url": "https://install.example/simple", "timeout": "180"}


def test_a_value_with_an_equals_sign_is_read_whole(installer: ModuleType) -> None:
    settings = installer.pip_settings("global.index-url='https://host.example/simple?key=value'")
    assert settings == {"index-url": "https://host.example/simple?key=value"}


def test_the_index_its_certificate_and_its_limits_are_handed_over(installer: ModuleType) -> None:
    settings = {"index-url": "https://a.example/simple", "cert": "/etc/ca.pem", "default-timeout": "180",
                "trusted-host": "a.example b.example", "no-cache-dir": "1", "format": "columns"}  # fmt: skip
    assert installer.uv_environment(settings) == {
        "UV_DEFAULT_INDEX": "https://a.example/simple", "SSL_CERT_FILE": "/etc/ca.pem", "UV_HTTP_TIMEOUT": "180",
        "UV_INSECURE_HOST": "a.example b.example", "UV_NO_CACHE": "1"}  # fmt: skip


def test_further_indexes_are_equal_to_the_first_as_they_are_for_pip(installer: ModuleType) -> None:
    settings = {"extra-index-url": "\nhttps://b.example/simple\nfile:///srv/simple", "find-links": "/srv/wheels /opt/w"}
    assert installer.uv_environment(settings) == {
        "UV_INDEX": "https://b.example/simple file:///srv/simple",
        "UV_INDEX_STRATEGY": "unsafe-best-match",
        "UV_FIND_LINKS": "/srv/wheels,/opt/w",
    }


def test_hosts_on_several_lines_and_a_fraction_of_a_second_are_written_as_uv_reads_them(installer: ModuleType) -> None:
    settings = {"trusted-host": "\na.example\nb.example", "timeout": "2.5"}
    assert installer.uv_environment(settings) == {"UV_INSECURE_HOST": "a.example b.example", "UV_HTTP_TIMEOUT": "3"}


def test_pip_is_used_where_uv_is_not_wanted(installer: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[list[str]] = []

    def run(command: list[str], **_: object) -> object:
        called.append(command)
        return installer.subprocess.CompletedProcess(command, 0)

    monkeypatch.setenv("INSTALLER", "pip")
    monkeypatch.setattr(installer.subprocess, "run", run)
    assert installer.main(["-r", "some.txt"]) == 0
    assert called == [[sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "-qq", "-r", "some.txt"]]


def test_pip_tries_where_uv_can_not_be_had_and_the_reason_is_told(
    installer: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    called: list[list[str]] = []

    def run(command: list[str], **_: object) -> object:
        called.append(command)
        wants_uv = command[-1].startswith("uv==")
        return installer.subprocess.CompletedProcess(command, int(wants_uv), "", "ERROR: no such package")

    def no_uv(name: str) -> str:
        raise installer.PackageNotFoundError(name)

    monkeypatch.delenv("INSTALLER", raising=False)
    monkeypatch.setattr(installer.subprocess, "run", run)
    monkeypatch.setattr(installer, "version", no_uv)
    assert installer.main(["numpy"]) == 0
    assert "ERROR: no such package" in capsys.readouterr().err
    assert called[-1][-2:] == ["-qq", "numpy"]
