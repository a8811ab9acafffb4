"""The rendezvous server answers ranks that know its secret, on one address, and unpickles nothing."""

from __future__ import annotations

import base64
import http.client
import os
import pickle
import socket
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from trainer.elastic.errors import LauncherLostError, LostItsPlaceError, RemovedFromJobError
from trainer.elastic.rendezvous import Rendezvous
from trainer.launch.rendezvous_server import LARGEST_BODY_BYTES, RendezvousServer

ADDRESS = "127.0.0.2"
PLACES = {"stays": "0,2,0,1,0,2", "leaves": "-1,-1,-1,-1,-1,-1", "hung": None}


@pytest.fixture
def server() -> Iterator[RendezvousServer]:
    server = RendezvousServer(ADDRESS)
    server.start(lambda host, slot: PLACES[host])
    yield server
    server.stop()


def ask(url: str, method: str = "GET", data: bytes | None = None) -> tuple[int, bytes]:
    try:
        with urllib.request.urlopen(urllib.request.Request(url, data, method=method), timeout=20) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, b""


def base(server: RendezvousServer) -> str:
    """The address of ranks, as Horovod's C++ client puts it together."""
    return f"http://{server.address_for_ranks}:{server.port}"


def environment(server: RendezvousServer, host: str) -> dict[str, str]:
    return {
        "HOROVOD_GLOO_RENDEZVOUS_ADDR": server.address_for_ranks,
        "HOROVOD_GLOO_RENDEZVOUS_PORT": str(server.port),
        "HOROVOD_HOSTNAME": host,
        "HOROVOD_LOCAL_RANK": "0",
        "HOROVOD_RANK": "0",
        "HOROVOD_SIZE": "1",
    }


class Malicious:
    """Makes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (str(self.path),)


def test_a_malicious_pickle_without_the_secret_is_refused_and_with_it_is_mere_bytes(
    server: RendezvousServer, tmp_path: Path
) -> None:
    body = base64.b64encode(pickle.dumps(Malicious(tmp_path / "owned")))
    stranger = f"http://{ADDRESS}:{server.port}"
    for path in ("/worker_addresses/stays:0", "//worker_addresses/stays:0", "/wrong:1/worker_addresses/stays:0"):
        assert ask(stranger + path, "PUT", body)[0] == 403
    assert ask(f"{base(server)}/worker_addresses/stays:0", "PUT", body)[0] == 200
    assert not (tmp_path / "owned").exists()
    pickle.loads(base64.b64decode(body))
    assert (tmp_path / "owned").exists(), "the pickle is malicious indeed"


def test_a_stranger_reads_nothing_votes_for_nobody_and_sees_no_files(server: RendezvousServer) -> None:
    assert ask(f"{base(server)}/global_/0", "PUT", b"addresses")[0] == 200
    stranger = f"http://{ADDRESS}:{server.port}"
    for path in ("/global_/0", "/rank_and_size/stays:0", "/", "/etc/passwd"):
        assert ask(stranger + path) == (403, b"")
    assert ask(f"{stranger}/global_/0", "DELETE")[0] == 403
    assert ask(f"{stranger}/global_/0", "HEAD")[0] == 501
    assert ask(f"{base(server)}/global_/0") == (200, b"addresses")


def test_the_server_listens_on_its_address_alone(server: RendezvousServer) -> None:
    listening = [line.split()[1] for line in Path("/proc/net/tcp").read_text().splitlines() if " 0A " in line]
    mine = [entry for entry in listening if entry.endswith(f":{server.port:04X}")]
    assert mine == [f"{socket.inet_aton(ADDRESS)[::-1].hex().upper()}:{server.port:04X}"]


def test_what_horovod_s_client_stores_is_found_and_forgotten_with_the_world(server: RendezvousServer) -> None:
    url = f"{base(server)}/cross_0/3"
    assert ask(url)[0] == 404
    assert ask(url, "PUT", b"\0where")[0] == 200
    assert ask(url) == (200, b"\0where")
    server.init([])
    assert ask(url)[0] == 404


def test_a_body_without_bounds_is_not_read(server: RendezvousServer) -> None:
    for length in (str(LARGEST_BODY_BYTES + 1), "-1", "all"):
        connection = http.client.HTTPConnection(ADDRESS, server.port, timeout=20)
        connection.putrequest("PUT", f"/{server.address_for_ranks.partition('/')[2]}:1/scope/key")
        connection.putheader("Content-Length", length)
        connection.endheaders()
        assert connection.getresponse().status == 413
        connection.close()


def test_a_rank_learns_its_place_or_that_it_leaves_or_that_it_begins_anew(server: RendezvousServer) -> None:
    variables = environment(server, "stays")
    Rendezvous(variables).take_slot()
    assert (variables["HOROVOD_SIZE"], variables["HOROVOD_CROSS_SIZE"]) == ("2", "2")
    with pytest.raises(RemovedFromJobError):
        Rendezvous(environment(server, "leaves")).take_slot()
    with pytest.raises(LostItsPlaceError):
        Rendezvous(environment(server, "hung")).take_slot()
    assert Rendezvous(environment(server, "alone")).meet()


def test_the_secret_is_in_no_message(server: RendezvousServer) -> None:
    variables, secret = environment(server, "stays"), server.address_for_ranks.partition("/")[2]
    rendezvous = Rendezvous(variables)
    assert rendezvous.is_there()
    server.stop()
    with pytest.raises(LauncherLostError) as caught:
        rendezvous.take_slot()
    assert secret not in str(caught.value)
    assert not rendezvous.is_there()
