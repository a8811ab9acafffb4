"""Which user is at the other end of a connection."""

from __future__ import annotations

import os
import socket
import subprocess

import pytest

from localcloud.support.peers import user_of_peer


def test_the_own_user_is_found_over_either_kind_of_socket() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::ffff:127.0.0.1")):
            with socket.socket(family) as client:
                client.connect((address, port))
                connection, peer = server.accept()
                assert user_of_peer(peer, connection.getsockname()) == os.getuid()
                connection.close()


@pytest.mark.skipif(os.getuid() != 0, reason="only root can be another user")
def test_another_user_is_found() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        # An open connection of another user. The shell is one that every user may start.
        script = f"exec 3<> /dev/tcp/127.0.0.1/{server.getsockname()[1]}; read -u 3"
        with subprocess.Popen(["/bin/bash", "-c", script], user=65534, cwd="/") as client:
            connection, peer = server.accept()
            assert user_of_peer(peer, connection.getsockname()) == 65534
            connection.close()
            client.wait(60)


def test_a_connection_that_does_not_exist_belongs_to_nobody() -> None:
    assert user_of_peer(("127.0.0.1", 1), ("127.0.0.1", 2)) is None
