"""The fused kernels: found again once compiled, and done without where they cannot be compiled."""

from __future__ import annotations

import logging
import sys
from pathlib import Path

import pytest

from trainer.model import build as model
from trainer.model.kernels import compiler, library, processor
from trainer.model.kernels.compiler import CompileError
from trainer.settings.model import ModelSettings


@pytest.fixture
def nowhere_compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Gives a new Python environment, in which nothing has been compiled yet."""
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "environment"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


def test_a_compiled_library_is_found_again(nowhere_compiled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler, "compile_to", lambda path: path.write_text("library"))
    path = compiler.compiled()
    assert path.parent == nowhere_compiled / "environment" / "lib" / "centavo"
    monkeypatch.setattr(compiler, "compile_to", lambda _: pytest.fail("compiled again"))
    assert compiler.compiled() == path


def test_the_users_cache_serves_where_the_environment_may_not_be_written(
    nowhere_compiled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (nowhere_compiled / "environment").write_text("a file, in which no folder can be made")
    monkeypatch.setattr(compiler, "compile_to", lambda path: path.write_text("library"))
    assert compiler.compiled().parent == nowhere_compiled / "cache" / "centavo"


def test_another_processor_gets_a_library_of_its_own(nowhere_compiled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler, "compile_to", lambda path: path.write_text("library"))
    first = compiler.compiled()
    monkeypatch.setattr(processor, "description", lambda: "flags: sse2")
    assert compiler.compiled() != first


@pytest.mark.parametrize(
    ("abilities", "level"),
    [
        (compiler.LEVELS["x86-64-v4-amx"], "x86-64-v4-amx"),
        ((*compiler.LEVELS["x86-64-v4"], "amx_int8"), "x86-64-v4"),
        (compiler.LEVELS["x86-64-v3"], "x86-64-v3"),
        (("sse2",), None),
    ],
)
def test_a_library_that_came_with_the_environment_saves_the_compiling(
    nowhere_compiled: Path, monkeypatch: pytest.MonkeyPatch, abilities: tuple[str, ...], level: str | None
) -> None:
    """The wheelhouse brings one for each level. A node without a compiler takes the highest that its processor has."""
    folder = nowhere_compiled / "environment" / "lib" / "centavo"
    folder.mkdir(parents=True)
    for each in compiler.LEVELS:
        (folder / compiler.name_for(each)).write_text(each)
    monkeypatch.setattr(processor, "description", lambda: f"flags : {' '.join(abilities)}")
    monkeypatch.setattr(compiler, "compile_to", lambda path: path.write_text("compiled here"))
    assert compiler.compiled().read_text() == (level or "compiled here")


def test_a_library_of_other_sources_is_not_taken(nowhere_compiled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = nowhere_compiled / "environment" / "lib" / "centavo"
    folder.mkdir(parents=True)
    for each in compiler.LEVELS:
        (folder / compiler.name_for(each)).write_text(each)
    monkeypatch.setattr(compiler, "SOURCES", nowhere_compiled)
    monkeypatch.setattr(compiler, "compile_to", lambda path: path.write_text("compiled here"))
    assert compiler.compiled().read_text() == "compiled here"


@pytest.mark.parametrize(("command", "message"), [("no-such-compiler", "cannot be used"), ("false", "failed")])
def test_a_compiler_that_is_missing_or_fails_is_named(
    nowhere_compiled: Path, monkeypatch: pytest.MonkeyPatch, command: str, message: str
) -> None:
    monkeypatch.setenv("CXX", command)
    with pytest.raises(CompileError, match=f"{command}.*{message}"):
        compiler.compiled()
    assert not list(nowhere_compiled.rglob("*.so"))


def test_training_goes_on_without_kernels_and_says_why(
    nowhere_compiled: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")
    with caplog.at_level(logging.WARNING):
        assert library.load.__wrapped__() is False
    assert "the training runs without fused kernels, more slowly: the C++ compiler no-such-compiler" in caplog.text


def test_a_model_without_kernels_is_gluonnlps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CENTAVO_KERNELS", "off")
    monkeypatch.setattr(library, "load", library.load.__wrapped__)
    made = model.build(ModelSettings(layers=1, units=8, hidden=8, heads=2), 20)
    assert not made.fused
