"""Images: their recipe, what they take over from this machine, and how they are kept."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from localcloud.hosts.machine.image import store
from localcloud.hosts.machine.image.from_here import apt_settings, pip_settings, recipe_from
from localcloud.hosts.machine.image.recipe import Recipe
from localcloud.hosts.machine.image.store import image_of, mmdebstrap_command
from localcloud.hosts.machine.tools import MachineError

RECIPE = Recipe(sources="", files={})


def _build(recipe: Recipe, target: Path) -> None:
    target.mkdir()
    (target / "made").touch()


def _fail(recipe: Recipe, target: Path) -> None:
    _build(recipe, target)
    raise MachineError("mmdebstrap failed")


def test_another_recipe_has_another_digest() -> None:
    changes = [{"sources": "deb x"}, {"files": {"etc/pip.conf": ""}}, {"packages": ("a",)}, {"customize": "true"}]
    assert len({RECIPE.digest, *(dataclasses.replace(RECIPE, **change).digest for change in changes)}) == 5


def test_an_image_is_made_once(tmp_path: Path) -> None:
    told: list[str] = []
    image = image_of(RECIPE, tmp_path / "images", _build, told.append)
    assert (image / "made").exists() and len(told) == 1
    assert image_of(RECIPE, tmp_path / "images", _fail, told.append) == image


def test_an_image_that_cannot_be_made_leaves_nothing_half_made(tmp_path: Path) -> None:
    with pytest.raises(MachineError, match="mmdebstrap failed"):
        image_of(RECIPE, tmp_path, _fail, lambda _: None)
    assert [path.name for path in tmp_path.iterdir()] == ["lock"]


def test_what_a_killed_process_left_is_made_anew(tmp_path: Path) -> None:
    (tmp_path / f"{RECIPE.digest}.new").mkdir()
    assert (image_of(RECIPE, tmp_path, _build, lambda _: None) / "made").exists()


def test_a_disk_without_room_is_refused_before_anything_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "NEEDED_BYTES", 10**18)
    with pytest.raises(MachineError, match="GB left, and the image needs"):
        image_of(RECIPE, tmp_path, _fail, lambda _: None)


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(MachineError, match=f"cannot be kept in {tmp_path}/file/images"):
        image_of(RECIPE, tmp_path / "file" / "images", _build, lambda _: None)


def test_apts_way_to_its_sources_is_taken_over_and_nothing_else() -> None:
    dump = 'APT "";\nAcquire::http::Proxy "http://proxy:3128";\nAcquire::https::CaInfo "";\nDir "/";\n'
    assert apt_settings(dump) == 'Acquire::http::Proxy "http://proxy:3128";\n'


def test_pips_configuration_is_taken_over_without_folders_of_this_machine() -> None:
    one = "[global]\nindex-url = https://index.example/simple\ncert = /etc/ssl/certs/ca-certificates.crt\n"
    other = "[global]\nfind-links = /opt/wheels\nextra-index-url = file:///opt/simple https://more.example/simple\n"
    assert pip_settings([one, other]).split("\n") == [
        "[global]",
        "index-url = https://index.example/simple",
        "cert = /etc/ssl/certs/ca-certificates.crt",
        "extra-index-url = https://more.example/simple",
        "", "",
    ]  # fmt: skip
    assert pip_settings(["[global]\nfind-links = /opt/wheels\n"]) == ""


def test_certificates_pip_and_sources_come_from_this_machine(tmp_path: Path) -> None:
    for name, text in {
        "etc/os-release": 'ID=debian\nVERSION_CODENAME="bookworm"\n',
        "etc/apt/sources.list.d/debian.sources": "Types: deb\n",
        "etc/apt/sources.list.d/other.list": "deb https://other.example x main\n",
        "etc/pip.conf": "[global]\ntimeout = 60\n",
        "usr/local/share/ca-certificates/own.crt": "CERTIFICATE",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    recipe = recipe_from(tmp_path)
    assert recipe.sources == "Types: deb\n"
    assert recipe.files["usr/local/share/ca-certificates/own.crt"] == "CERTIFICATE"
    assert "timeout = 60" in recipe.files["etc/pip.conf"]


def test_a_machine_with_another_release_uses_debians_own_sources(tmp_path: Path) -> None:
    (tmp_path / "etc" / "apt").mkdir(parents=True)
    (tmp_path / "etc" / "os-release").write_text("ID=ubuntu\nVERSION_CODENAME=jammy\n")
    (tmp_path / "etc" / "apt" / "sources.list").write_text("deb http://archive.example jammy main\n")
    assert recipe_from(tmp_path).sources == ""


def test_mmdebstrap_gets_the_recipe(tmp_path: Path) -> None:
    recipe = Recipe(sources="Types: deb\n", files={"etc/apt/apt.conf.d/99localcloud": "x"}, packages=("a", "b"))
    command = mmdebstrap_command(recipe, Path("/images/new"), tmp_path)
    assert "--include=a,b" in command and command[-3:] == ["bookworm", "/images/new", str(tmp_path / "apt.sources")]
    assert f"--aptopt={tmp_path}/files/etc/apt/apt.conf.d/99localcloud" in command
