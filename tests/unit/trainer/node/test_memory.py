"""What a process may have on its node is the smallest of all limits."""

from __future__ import annotations

from pathlib import Path

from trainer.node.memory import available_bytes, is_scarce


def test_what_is_available_is_the_smallest_of_what_is_known(tmp_path: Path) -> None:
    meminfo = tmp_path / "meminfo"
    meminfo.write_text("MemTotal: 900 kB\nMemAvailable:     800 kB\n")
    assert available_bytes(7, {}, meminfo, tmp_path) == 800 * 1024 + 7
    (tmp_path / "memory.max").write_text("500000\n")
    (tmp_path / "memory.current").write_text("100000\n")
    assert available_bytes(7, {}, meminfo, tmp_path) == 400_007
    (tmp_path / "memory.stat").write_text("anon 20000\nfile 80000\ninactive_file 70000\nactive_file 10000\n")
    assert available_bytes(7, {}, meminfo, tmp_path) == 470_007, "Linux gives up what it keeps of files"
    assert available_bytes(7, {"CENTAVO_EMULATED_MEMORY_BYTES": "1000"}, meminfo, tmp_path) == 1000
    (tmp_path / "memory.max").write_text("max\n")
    assert available_bytes(7, {}, meminfo, tmp_path) == 800 * 1024 + 7


def test_memory_is_scarce_when_a_process_nears_what_it_may_have() -> None:
    assert is_scarce(resident=7_600, available=10_000)
    assert not is_scarce(resident=7_400, available=10_000)
