"""Ranks meet before they start Horovod, and learn in time that they are not wanted."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from horovod.runner.common.util.hosts import HostInfo, get_host_assignments
from horovod.runner.http.http_server import RendezvousHandler, RendezvousServer

from trainer.elastic import rendezvous
from trainer.elastic.errors import LauncherLostError, RemovedFromJobError
from trainer.elastic.rendezvous import Rendezvous

SLOTS = {"stays:0": b"0,2,0,1,0,2", "leaves:0": b"-1,-1,-1,-1,-1,-1"}


class Handler(RendezvousHandler):  # type: ignore[misc]
    """Knows who stays and who leaves, as the elastic driver would."""

    def _get_value(self, scope: str, key: str) -> bytes | None:
        if scope == "rank_and_size":
            return SLOTS[key]
        value: bytes | None = super()._get_value(scope, key)
        return value


@pytest.fixture
def port() -> Iterator[int]:
    server = RendezvousServer()
    number = server.start(Handler)
    server.init(get_host_assignments([HostInfo("one", 1)], 1))
    yield number
    server.stop()


def environment(port: int, host: str, rank: int, size: int) -> dict[str, str]:
    return {
        "HOROVOD_GLOO_RENDEZVOUS_ADDR": "127.0.0.1",
        "HOROVOD_GLOO_RENDEZVOUS_PORT": str(port),
        "HOROVOD_HOSTNAME": host,
        "HOROVOD_LOCAL_RANK": "0",
        "HOROVOD_RANK": str(rank),
        "HOROVOD_SIZE": str(size),
    }


def test_a_rank_that_stays_takes_the_slot_that_it_is_given(port: int) -> None:
    variables = environment(port, "stays", 3, 4)
    Rendezvous(variables).take_slot()
    assert (variables["HOROVOD_RANK"], variables["HOROVOD_SIZE"], variables["HOROVOD_CROSS_SIZE"]) == ("0", "2", "2")


def test_a_rank_that_is_not_wanted_learns_it_before_it_would_abort(port: int) -> None:
    with pytest.raises(RemovedFromJobError):
        Rendezvous(environment(port, "leaves", 3, 4)).take_slot()


def meet(port: int, ranks: list[int], size: int) -> list[bool]:
    """Returns what the ranks that come to a meeting of `size` are told."""
    verdicts: dict[int, bool] = {}

    def come(rank: int) -> None:
        verdicts[rank] = Rendezvous(environment(port, f"host{rank}", rank, size)).meet()

    threads = [threading.Thread(target=come, args=(rank,)) for rank in ranks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    return [verdicts[rank] for rank in ranks]


def test_ranks_that_all_come_start_together(port: int) -> None:
    assert meet(port, [0, 1, 2, 3], 4) == [True] * 4


def test_a_rank_that_stays_away_costs_a_further_round_and_not_the_others(
    port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rendezvous, "MEETING_TIMEOUT_S", 0.3)
    assert meet(port, [0, 1, 3], 4) == [False] * 3


def test_a_launcher_that_is_gone_is_said_to_be(port: int) -> None:
    with pytest.raises(LauncherLostError, match="does not answer"):
        Rendezvous(environment(1, "stays", 0, 1)).take_slot()
