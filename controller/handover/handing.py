"""Handing a run over: the head is prepared, and its controller takes the cluster's lease."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol

from controller.cluster import LiveCluster
from controller.config.environment import Environment
from controller.domain.errors import AwsError, CentavoError, HeadError
from controller.domain.lease import Lease, Place
from controller.edges.bucket.objects import Objects
from controller.edges.clock import Clock
from controller.handover.bundle import make_bundle
from controller.handover.kit import Kit, variables_of_kit
from controller.handover.launch import variables_for_ansible
from controller.owning.keys import JOURNAL_NAME, of_run
from controller.owning.offering import offer_head_key, withdraw_head_keys
from controller.owning.taking import see
from controller.record.journal import Journal

URL_VALID_S = 3600.0


class BundleStore(Protocol):
    """The part of `edges.supplying.store.Store` that is used here. Every method raises AwsError."""

    def write(self, bucket: str, key: str, content: bytes) -> None: ...

    def url_to_read(self, bucket: str, key: str, valid_s: float) -> str: ...


@dataclass(frozen=True)
class Handing:
    """One run that is handed to the head.

    Attributes:
        objects: Those of the cluster's bucket.
        kit: What the head needs beside the bundle.
        generation: That of the cluster's lease, which is held.
        lineage: Returns the name of Terraform's state here, which the head has to find, too.
        give_back: Gives the cluster's lease back.
        note: Tells people something.
    """

    environment: Environment
    cluster: LiveCluster
    journal: Journal
    clock: Clock
    store: BundleStore
    objects: Objects
    kit: Kit
    generation: int
    lineage: Callable[[], str]
    give_back: Callable[[], None]
    note: Callable[[str], None]

    def hand_over(self) -> Lease:
        """Hands the run over. Returns the lease that the controller on the head has.

        Raises:
            HeadError: The head does not answer, or its controller did not take the lease. The run stays here.
            AnsibleError: The head could not be prepared. The run stays here.
            AwsError: The bucket can't be asked or written. The run stays here.
        """
        timeouts = self.environment.settings.controller.timeouts
        self._wait_for_head(timeouts.boot_s)
        self.note("preparing the head for a controller of its own")
        self.cluster.nodes.configure([], timeouts.configure_s, with_head=True)
        controller = self._described()
        public_key = self.cluster.nodes.place_controller(controller)
        offer_head_key(self.objects, public_key, self.journal.info().run, self.generation)
        self.note("handing the run to the controller on the head")
        self.give_back()
        try:
            self.cluster.nodes.start_controller(controller)
            return self._await_controller(timeouts.configure_s)
        except CentavoError as error:
            self._stop_controller(error)
            raise

    def _wait_for_head(self, limit_s: float) -> None:
        deadline = self.clock.now() + limit_s
        while self.cluster.observe().head is None:
            if self.clock.now() > deadline:
                raise HeadError(f"The head did not answer within {limit_s:.0f} s.", "`centavo optimize` goes on here.")
            self.clock.sleep(self.environment.settings.controller.poll_s)

    def _described(self) -> dict[str, Any]:
        """Returns what the role `controller` has to know, when the bucket has all that it fetches."""
        info, bucket = self.journal.info(), self.cluster.made.outputs.bucket
        bundle = make_bundle(self.environment, self.journal.directory)
        self.store.write(bucket, bundle.key, bundle.content)
        provided = self.kit.provide(bucket)

        def url_of(key: str) -> str:
            return self.store.url_to_read(bucket, key, URL_VALID_S)

        return {
            **variables_for_ansible(self.environment, info.run, info.policy, os.environ),
            **variables_of_kit(provided, url_of),
            "url": url_of(bundle.key),
            "sha256": bundle.sha256,
            "size": len(bundle.content),
            "lineage": self.lineage(),
        }

    def _await_controller(self, limit_s: float) -> Lease:
        """Waits until the head's controller has the lease, and has copied the run's journal to the bucket."""
        deadline = self.clock.now() + limit_s
        while True:
            lease = self._lease_of_head()
            if lease is not None:
                return lease
            if self.clock.now() > deadline:
                raise HeadError(
                    f"The controller on the head did not take the cluster's lease within {limit_s:.0f} s.",
                    "Its log is log/controller.log in the head's folder. `centavo optimize` goes on here.",
                )
            self.clock.sleep(self.environment.settings.controller.poll_s)

    def _lease_of_head(self) -> Lease | None:
        seen, run = see(self.objects), self.journal.info().run
        lease = None if seen is None else seen.lease
        if lease is None or lease.released or lease.holder.place is not Place.HEAD or lease.run != run:
            return None
        journal = self.objects.head(of_run(run, JOURNAL_NAME))
        return lease if journal is not None and journal.generation == lease.generation else None

    def _stop_controller(self, because: CentavoError) -> None:
        """Stops a controller on the head that did not take over, so that it does not do so later. Withdraws its key."""
        with suppress(AwsError):
            withdraw_head_keys(self.objects)
        try:
            self.cluster.nodes.stop_controller()
        except CentavoError as error:
            self.note(
                f"the hand-over failed ({because.what}), and the controller on the head could not be stopped: "
                f"{error.what} It may still take the run over: `centavo status --remote` tells."
            )
