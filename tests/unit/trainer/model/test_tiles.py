"""oneDNN computes bfloat16 in matrix tiles where processor and system have them, and as before where they do not."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from trainer.model import tiles
from trainer.model.kernels import processor

AVX512 = "AVX512_CORE_BF16"
LOSS = """
import mxnet as mx
from trainer.model import build
from trainer.settings.model import ModelSettings
made = build.build(ModelSettings(layers=1, units=64, hidden=128, heads=2, precision="bfloat16"), 500)
ids, lengths = mx.nd.ones((16, 16), dtype="int32"), mx.nd.full((16,), 16)
with mx.autograd.record():
    loss = made.loss(ids, lengths, ids, lengths)[0]
loss.backward()
print("loss", loss.asscalar())
"""


def printed(program: str, **variables: str) -> str:
    """Returns what a program prints in its own process, with these variables and none of oneDNN's otherwise."""
    environment = {name: value for name, value in os.environ.items() if name != tiles.ISA} | variables
    command = [sys.executable, "-W", "ignore", "-c", program]
    return subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout


def loss_in(output: str) -> float:
    return float(next(line for line in output.splitlines() if line.startswith("loss")).split()[1])


@pytest.fixture
def asked_anew() -> Iterator[None]:
    tiles.use_tiles.cache_clear()
    yield
    tiles.use_tiles.cache_clear()


@pytest.mark.skipif(not processor.has("avx512bw"), reason="this processor has no AVX-512")
def test_a_training_computes_in_tiles_where_there_are_any_and_comes_to_the_same_loss() -> None:
    told = printed(LOSS, DNNL_VERBOSE="1")
    assert ("Intel AMX" in told) == (processor.has("amx_bf16") and tiles._permitted())
    assert loss_in(told) == pytest.approx(loss_in(printed(LOSS, **{tiles.ISA: AVX512})), rel=5e-3)


@pytest.mark.skipif(not processor.has("avx512bw"), reason="this processor has no AVX-512")
def test_what_the_environment_says_of_onednn_stays() -> None:
    assert "Intel AMX" not in printed(LOSS, DNNL_VERBOSE="1", **{tiles.ISA: AVX512})


@pytest.mark.usefixtures("asked_anew")
@pytest.mark.parametrize(
    ("has_tiles", "permitted", "machine"),
    [(False, True, "x86_64"), (True, False, "x86_64"), (True, True, "aarch64")],
    ids=["a processor without tiles", "a system that refuses them", "another architecture"],
)
def test_without_tiles_onednn_is_left_as_it_is(
    monkeypatch: pytest.MonkeyPatch, has_tiles: bool, permitted: bool, machine: str
) -> None:
    monkeypatch.delenv(tiles.ISA, raising=False)
    monkeypatch.setattr(processor, "has", lambda _: has_tiles)
    monkeypatch.setattr(tiles, "_permitted", lambda: permitted)
    monkeypatch.setattr("platform.machine", lambda: machine)
    assert not tiles.use_tiles()
    assert tiles.ISA not in os.environ


@pytest.mark.usefixtures("asked_anew")
def test_a_child_that_inherits_the_variable_asks_for_the_tiles_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """Linux takes them from a process that executes another program; the variable stays."""
    asked = []

    def permitted() -> bool:
        asked.append("tiles")
        return True

    monkeypatch.setenv(tiles.ISA, tiles.WITH_TILES)
    monkeypatch.setattr(processor, "has", lambda _: True)
    monkeypatch.setattr(tiles, "_permitted", permitted)
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    assert tiles.use_tiles()
    assert asked == ["tiles"]
