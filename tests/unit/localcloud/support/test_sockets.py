"""TCP sockets: who is at the other end, and how a connection goes silent and comes back."""

from __future__ import annotations

import os
import socket
import subprocess

import pytest

from localcloud.support.sockets import (
    drop_packets,
    socket_of_process,
    sockets_of,
    take_packets,
    tcp_connections,
    user_of_peer,
)


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


def test_a_connection_goes_silent_and_comes_back_with_nothing_lost() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        connection, _ = server.accept()
        with connection:
            drop_packets(connection)
            drop_packets(connection)
            client.sendall(b"text")
            connection.settimeout(0.5)
            with pytest.raises(TimeoutError):
                connection.recv(4)
            take_packets(connection)
            take_packets(connection)
            connection.settimeout(60)
            assert connection.recv(4) == b"text"


def test_a_socket_that_drops_packets_accepts_no_connection_and_refuses_none() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        drop_packets(server)
        with pytest.raises(TimeoutError):
            socket.create_connection(server.getsockname(), timeout=0.5)
        take_packets(server)
        socket.create_connection(server.getsockname(), timeout=60).close()


def test_the_socket_of_another_process_is_found_and_silenced() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        script = f"exec 3<> /dev/tcp/127.0.0.1/{server.getsockname()[1]}; read -u 3 line; echo $line"
        with subprocess.Popen(["/bin/bash", "-c", script], stdout=subprocess.PIPE, text=True) as client:
            connection, peer = server.accept()
            connections = tcp_connections()
            (inode,) = [one for one in sockets_of([client.pid]) if one in connections]
            assert connections[inode].own == peer
            with socket_of_process(*sockets_of([client.pid])[inode]) as other:
                drop_packets(other)
                connection.sendall(b"text\n")
                with pytest.raises(subprocess.TimeoutExpired):
                    client.wait(0.5)
                take_packets(other)
            assert client.communicate(timeout=60)[0] == "text\n"
            connection.close()


def test_the_sockets_of_a_process_that_has_ended_are_none() -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    assert sockets_of([ended.pid]) == {}
    with pytest.raises(OSError):
        socket_of_process(ended.pid, 0)
