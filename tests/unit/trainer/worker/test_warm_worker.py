"""What a rank makes of its launcher's words, silence and end."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from trainer.elastic import host_updates
from trainer.elastic.host_updates import HostUpdates
from trainer.launch.rendezvous_server import RendezvousServer
from trainer.node.requests import Requests
from trainer.worker import warm_worker
from trainer.worker.launcher_connection import LauncherConnection
from trainer.worker.rank import Outcome
from trainer.worker.warm_worker import code_of


class Patient(Requests):
    """Requests whose time limits are noted, and end nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.limits: list[float] = []

    def _give_up_after(self, grace_s: float, reason: str) -> None:
        self.limits.append(grace_s)


@dataclass
class FakeRank:
    requests: Patient = field(default_factory=Patient)


@dataclass
class Talk:
    """A launcher's end of the connection, and the rank that listens."""

    launcher: socket.socket
    rank: FakeRank
    thread: threading.Thread

    def end(self) -> Patient:
        self.thread.join(30)
        assert not self.thread.is_alive()
        return self.rank.requests


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[RendezvousServer]:
    """The rendezvous server of the launcher."""
    server = RendezvousServer("127.0.0.1")
    server.start(lambda host, slot: None)
    monkeypatch.setenv("HOROVOD_GLOO_RENDEZVOUS_ADDR", server.address_for_ranks)
    monkeypatch.setenv("HOROVOD_GLOO_RENDEZVOUS_PORT", str(server.port))
    yield server
    server.stop()


@pytest.fixture
def talk(server: RendezvousServer) -> Iterator[Callable[[], Talk]]:
    opened: list[socket.socket] = []

    def begin() -> Talk:
        launcher, worker = socket.socketpair(socket.AF_UNIX)
        opened.extend((launcher, worker))
        rank = FakeRank()
        given: Any = (LauncherConnection(worker), rank)
        thread = threading.Thread(target=warm_worker._listen, args=given, daemon=True)
        thread.start()
        return Talk(launcher, rank, thread)

    host_updates._noticed.clear()
    yield begin
    for one in opened:
        one.close()
    host_updates._noticed.clear()


def test_a_rank_that_alone_loses_its_launcher_leaves_and_one_whose_launcher_then_ends_stops_all(
    talk: Callable[[], Talk], server: RendezvousServer
) -> None:
    one = talk()
    one.launcher.close()
    one.thread.join(1.0)
    requests = one.rank.requests
    assert requests.is_cut_off
    assert (requests.leave_reason, requests.stop_reason) == ("the connection to the launcher is lost", None)
    server.stop()
    assert one.end().stop_reason == "the launcher is gone"


def test_ranks_whose_launcher_is_gone_stop_with_a_checkpoint(
    talk: Callable[[], Talk], server: RendezvousServer
) -> None:
    one = talk()
    server.stop()
    one.launcher.close()
    requests = one.end()
    assert requests.is_cut_off
    assert (requests.leave_reason, requests.stop_reason) == (None, "the launcher is gone")
    assert requests.limits == [warm_worker.CHECKPOINT_GRACE_S]


def test_a_launcher_that_is_silent_for_too_long_is_gone(
    talk: Callable[[], Talk], server: RendezvousServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(warm_worker, "LAUNCHER_SILENCE_S", 0.2)
    server.stop()
    assert talk().end().is_cut_off


def test_changed_hosts_and_a_stop_are_heard_and_a_ping_is_nothing(
    talk: Callable[[], Talk], server: RendezvousServer
) -> None:
    one, updates = talk(), HostUpdates({"HOROVOD_LAUNCHED_BY": "centavo"})
    updates.listen()  # opens no service: with one, the environment would have to name a server
    one.launcher.sendall(b'{"ping": true}\n')
    assert not updates.are_pending
    one.launcher.sendall(b'{"hosts": "changed"}\n{"stop": "by hand"}\n')
    server.stop()
    one.launcher.close()
    requests = one.end()
    assert updates.are_pending
    assert requests.stop_reason == "by hand"
    updates.clear()
    assert not updates.are_pending


def test_a_supervisor_starts_a_worker_again_that_lost_its_launcher_and_no_other() -> None:
    codes = {outcome: code_of(outcome) for outcome in Outcome}
    assert {outcome for outcome, code in codes.items() if code == 0} == {
        Outcome.FINISHED,
        Outcome.LEFT,
        Outcome.INTERRUPTED,
    }
    assert codes[Outcome.CUT_OFF] == codes[Outcome.STOPPED] == 3
    assert {outcome for outcome in Outcome if outcome.is_for_good} == {Outcome.FINISHED, Outcome.LEFT}
