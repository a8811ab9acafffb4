"""A socket is reached in a folder of any depth, by its owner alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from trainer.messages.unix_sockets import connect, listen


def test_a_socket_in_a_deep_folder_is_reached(tmp_path: Path) -> None:
    path = tmp_path / ("deep" * 30) / "warm.sock"
    with listen(path) as server, connect(path) as client:
        client.sendall(b"hello")
        with server.accept()[0] as accepted:
            assert accepted.recv(5) == b"hello"
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_socket_that_an_earlier_process_left_is_replaced(tmp_path: Path) -> None:
    listen(tmp_path / "warm.sock").close()
    with pytest.raises(OSError):
        connect(tmp_path / "warm.sock")
    with listen(tmp_path / "warm.sock"):
        connect(tmp_path / "warm.sock").close()
