"""A lost rank is told from all other errors, and worlds that are lost again and again are counted."""

from __future__ import annotations

import mxnet as mx
import pytest
from horovod.common.exceptions import HorovodInternalError

from trainer.elastic import world
from trainer.elastic.errors import WorldLostError
from trainer.elastic.failures import FailureCount, translating_failures
from trainer.elastic.world import World

GLOO = "/tmp/build/horovod/third_party/gloo/gloo"
LOSSES = [
    "MXNetError: Horovod has been shut down. This was caused by an exception on one of the ranks or an attempt to "
    "allreduce, allgather or broadcast a tensor after one of the ranks finished execution.",
    f"MXNetError: [{GLOO}/transport/tcp/pair.cc:589] Read error [127.0.0.1]:30132: Connection reset by peer",
    f"[{GLOO}/transport/tcp/unbound_buffer.cc:81] Timed out waiting 5000ms for recv operation to complete",
    f"[enforce fail at {GLOO}/transport/tcp/pair.cc:490] op.preamble.length <= op.nbytes. 5 vs 4",
    "MXNetError: Application timeout caused pair closure",
    f"Traceback (most recent call last):\nMXNetError: [{GLOO}/transport/tcp/pair.cc:598] Connection closed by peer",
]
OTHERS = [
    "MXNetError: Mismatched ALLREDUCE tensor shapes: One rank sent a tensor of shape [4], but another one [5].",
    "MXNetError: Mismatched data types: One rank had type float32, but another rank had type float64.",
    "Error in operator timeout0: shape mismatch",
    "Check failed: the connection of layer 3 has 4 units, not 5",
    "MXNetError: Check failed: e == cudaSuccess: the launch timed out and was terminated",
    "/home/me/horovod/gloo/model.params cannot be opened: shut down",
    "MXNetError: Horovod has not been initialized; use hvd.init().",
]


@pytest.mark.parametrize("message", LOSSES)
def test_what_horovod_and_gloo_say_of_a_lost_rank_is_one(message: str) -> None:
    with pytest.raises(WorldLostError), translating_failures():
        raise mx.base.MXNetError(message)


def test_horovod_s_own_type_of_error_is_a_lost_rank() -> None:
    with pytest.raises(WorldLostError, match="gone"), translating_failures():
        raise HorovodInternalError("gone")


@pytest.mark.parametrize("message", OTHERS)
def test_an_error_that_a_new_world_would_not_mend_is_no_lost_rank(message: str) -> None:
    with pytest.raises(mx.base.MXNetError), translating_failures():
        raise mx.base.MXNetError(message)


def test_failures_count_until_there_is_a_new_step() -> None:
    failures = FailureCount(3)
    assert [failures.note(step) for step in (10, 10, 11, 11, 9, 11)] == [False, False, False, False, True, True]


def test_a_single_failure_can_be_one_too_many() -> None:
    assert FailureCount(1).note(0)


def test_steps_that_are_made_again_and_lost_again_are_no_progress() -> None:
    failures = FailureCount(4)
    assert [failures.note(step) for step in (15, 15, 15, 15)] == [False, False, False, True]


class EmptyMeeting:
    """A rendezvous at which some rank is always missing."""

    def __init__(self) -> None:
        self.meetings = 0

    def take_slot(self) -> None:
        pass

    def meet(self) -> bool:
        self.meetings += 1
        return False


def test_ranks_do_not_meet_for_ever_without_one_that_never_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    meeting = EmptyMeeting()
    monkeypatch.setattr(world, "Rendezvous", lambda environment: meeting)
    with pytest.raises(WorldLostError, match=f"at {world.MEETINGS} meetings in a row"):
        World({"HOROVOD_ELASTIC": "1"}).join()
    assert meeting.meetings == world.MEETINGS + 1
