"""Which name server this machine asks, and that a range of a cloud does not hide it."""

from __future__ import annotations

from pathlib import Path

import pytest

from localcloud.hosts.machine.network import ranges
from localcloud.hosts.machine.network.name_server import name_server_of
from localcloud.hosts.machine.tools import MachineError


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("search a\nnameserver 10.0.0.53\nnameserver 10.0.0.54\n", "10.0.0.53"),
        ("nameserver fd00::53\nnameserver 127.0.0.53\n", "127.0.0.53"),
        ("nameserver\n# nothing\n", None),
    ],
)
def test_the_first_name_server_of_ipv4_is_used(tmp_path: Path, text: str, found: str | None) -> None:
    (tmp_path / "resolv.conf").write_text(text)
    assert name_server_of(tmp_path / "resolv.conf") == found
    assert name_server_of(tmp_path / "missing") is None


def test_a_range_with_this_machines_name_server_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranges, "run", lambda *_: "[]")
    monkeypatch.setattr(ranges, "name_server_of", lambda: "10.255.255.53")
    ranges.check_unused(["10.20.0.0/16"])
    with pytest.raises(MachineError, match=r"10.255.0.0/16 already: its name server 10.255.255.53"):
        ranges.check_unused(["10.255.0.0/16"])
