"""The fused kernels: found again once compiled, and done without where they cannot be compiled."""

from __future__ import annotations

import logging
import sys
from pathlib import Path

import pytest

from trainer.model import transformer as model
from trainer.model.kernels import CompileError
from trainer.model.reference_loss import ReferenceTransformer
from trainer.model.transformer import ModelSettings, kernels


@pytest.fixture
def nowhere_compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Python environment of its own, in which nothing has been compiled yet."""
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "environment"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


def test_a_compiled_library_is_found_again(nowhere_compiled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "_compile", lambda path: path.write_text("library"))
    path = kernels.compiled()
    assert path.parent == nowhere_compiled / "environment" / "lib" / "centavo"
    monkeypatch.setattr(kernels, "_compile", lambda _: pytest.fail("compiled again"))
    assert kernels.compiled() == path


def test_the_users_cache_serves_where_the_environment_may_not_be_written(
    nowhere_compiled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (nowhere_compiled / "environment").write_text("a file, in which no folder can be made")
    monkeypatch.setattr(kernels, "_compile", lambda path: path.write_text("library"))
    assert kernels.compiled().parent == nowhere_compiled / "cache" / "centavo"


def test_another_processor_gets_a_library_of_its_own(nowhere_compiled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "_compile", lambda path: path.write_text("library"))
    first = kernels.compiled()
    monkeypatch.setattr(kernels, "_processor", lambda: "flags: sse2")
    assert kernels.compiled() != first


@pytest.mark.parametrize(("compiler", "message"), [("no-such-compiler", "cannot be used"), ("false", "failed")])
def test_a_compiler_that_is_missing_or_fails_is_named(
    nowhere_compiled: Path, monkeypatch: pytest.MonkeyPatch, compiler: str, message: str
) -> None:
    monkeypatch.setenv("CXX", compiler)
    with pytest.raises(CompileError, match=f"{compiler}.*{message}"):
        kernels.compiled()
    assert not list(nowhere_compiled.rglob("*.so"))


def test_training_goes_on_without_kernels_and_says_why(
    nowhere_compiled: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")
    with caplog.at_level(logging.WARNING):
        assert kernels.load.__wrapped__() is False
    assert "training goes on without fused kernels, slower: the C++ compiler no-such-compiler" in caplog.text


def test_a_model_without_kernels_is_gluonnlps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CENTAVO_KERNELS", "off")
    monkeypatch.setattr(kernels, "load", kernels.load.__wrapped__)
    made = model.build(ModelSettings(layers=1, units=8, hidden=8, heads=2), 20)
    assert isinstance(made._loss, ReferenceTransformer)
