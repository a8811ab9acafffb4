"""The world of ranks that train together: Horovod Elastic for MXNet, which Horovod 0.28.1 does not have.

This is all that a training needs of the way in which it is distributed: who takes part (`World`), what they exchange
(`trainer.elastic.exchange`), and how a lost rank shows (`trainer.elastic.failures`).

One more habit of Horovod is worked around here. Where a cycle time is set, another default of the fusion threshold
holds from the second `hvd.init()` of a process on (ParameterManager takes the one value for the other,
horovod/common/parameter_manager.cc). Ranks that fuse other tensors than the rest are ended by gloo. So each rank begins
with an `hvd.init()` by itself: then all ranks have had their first one.
"""

from __future__ import annotations

import logging
import os
from collections.abc import MutableMapping

import horovod.mxnet as hvd

from trainer.elastic.errors import WorldLostError
from trainer.elastic.failures import drain_engine
from trainer.elastic.host_updates import HostUpdates
from trainer.elastic.rendezvous import Rendezvous

log = logging.getLogger(__name__)

MEETINGS = 20
"""So many meetings in a row to which some rank did not come end the training of this rank. Each takes up to 20 s."""


class World:
    """The present world, as this rank sees it. Under elastic Horovod one world follows another."""

    def __init__(self, environment: MutableMapping[str, str] = os.environ) -> None:
        self._environment = environment
        self.is_elastic = environment.get("HOROVOD_ELASTIC") == "1"
        self._rendezvous = Rendezvous(environment) if self.is_elastic else None
        self._updates = HostUpdates()

    @property
    def rank(self) -> int:
        """The number of this rank, from 0."""
        return int(hvd.rank())

    @property
    def size(self) -> int:
        """The number of ranks."""
        return int(hvd.size())

    @property
    def is_change_pending(self) -> bool:
        """Whether the launcher has told this rank (which is rank 0) that hosts come or go."""
        return self._updates.are_pending

    def join(self) -> None:
        """Becomes a rank of the world that the environment names.

        Raises:
            RemovedFromJobError: This rank has no place in the training.
            LauncherLostError: The launcher is gone.
            WorldLostError: The ranks do not come together.
        """
        if self.is_elastic and "HOROVOD_CYCLE_TIME" in self._environment:
            self._begin_alone()
        if self._rendezvous is not None and not self._rendezvous.meet():
            self._rejoin(self._rendezvous)
            return
        self._start_horovod()

    def reset(self) -> None:
        """Leaves the present world and joins the next one.

        Raises:
            RemovedFromJobError: This rank has no place in the next world.
            LauncherLostError: The launcher is gone.
            WorldLostError: The training is not elastic, so that there is no next world, or the ranks do not come
                together.
        """
        if self._rendezvous is None:
            raise WorldLostError("this training is not elastic: a rank that is lost ends it")
        drain_engine()
        hvd.shutdown()
        self._updates.clear()
        self._rejoin(self._rendezvous)

    def listen(self) -> None:
        """Registers for the launcher's notices. It is called in every world, and does so once."""
        if self.is_elastic:
            self._updates.listen()

    def leave(self) -> None:
        """Closes Horovod's connections. It is the last thing that a rank does."""
        hvd.shutdown()

    def _rejoin(self, rendezvous: Rendezvous) -> None:
        for _ in range(MEETINGS):
            rendezvous.take_slot()
            if rendezvous.meet():
                self._start_horovod()
                return
            log.warning("a rank did not come to the meeting; trying without it")
        raise WorldLostError(f"some rank was missing at {MEETINGS} meetings in a row: look at the logs of the nodes")

    def _begin_alone(self) -> None:
        """Starts Horovod without the variables that name a world, and stops it again. It takes some 10 ms."""
        named = {name: value for name, value in self._environment.items() if name.startswith("HOROVOD_")}
        cycle_time = named.pop("HOROVOD_CYCLE_TIME")
        for name in named:
            del self._environment[name]
        log.debug("Horovod is started once before the first world, with a cycle time of %s ms", cycle_time)
        hvd.init()
        hvd.shutdown()
        self._environment.update(named)

    def _start_horovod(self) -> None:
        # The rank has its slot already: with HOROVOD_ELASTIC=1, hvd.init() would ask for it again.
        self._environment["HOROVOD_ELASTIC"] = "0"
        hvd.init()
