"""One AWS region, put together: moto's models, localcloud's parts in them, and the application in front."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from moto.autoscaling.models import autoscaling_backends
from moto.awslambda.models import lambda_backends
from moto.core.models import DEFAULT_ACCOUNT_ID
from moto.ec2.models import ec2_backends
from moto.events.models import events_backends
from moto.moto_server.werkzeug_app import DomainDispatcherApplication

from localcloud.api.application import Application
from localcloud.api.autoscaling.requests import GroupRequests
from localcloud.api.autoscaling.scaling import Scaling
from localcloud.api.calls import Calls
from localcloud.api.control.control import Control
from localcloud.api.ec2.instances import Instances
from localcloud.api.ec2.made_images import MadeImages
from localcloud.api.ec2.network import network_of
from localcloud.api.ec2.placement_groups import PlacementGroups
from localcloud.api.ec2.states import PENDING, STOPPED, STOPPING
from localcloud.api.ec2.wanted_hosts import wanted_hosts
from localcloud.api.faults.failing import FailingApi
from localcloud.api.faults.injected import Injected
from localcloud.api.faults.limits import Faults
from localcloud.api.functions.functions import Functions
from localcloud.api.functions.schedules import Schedules
from localcloud.api.iam.role_sessions import RoleSessions
from localcloud.api.images import add_images
from localcloud.api.metering.metering import Metering
from localcloud.api.patches.addresses import patch_addresses
from localcloud.api.patches.console import patch_console
from localcloud.api.patches.corrections.all import correct_moto
from localcloud.api.patches.functions import patch_functions
from localcloud.api.patches.groups import patch_groups
from localcloud.api.patches.images import patch_images
from localcloud.api.patches.instances import patch_instances
from localcloud.api.patches.placement_groups import patch_placement_groups
from localcloud.api.patches.spot_prices import patch_spot_prices
from localcloud.api.prices.price_file import read_prices
from localcloud.api.prices.price_list import PriceList
from localcloud.api.prices.spot_prices import SpotPrices
from localcloud.api.service_quotas import ServiceQuotas
from localcloud.api.signing.keys import Keys
from localcloud.api.signing.signature import Signatures
from localcloud.api.unimplemented import backend
from localcloud.credentials import Credentials
from localcloud.link.report import HostReport
from localcloud.link.wanted import Wanted
from localcloud.settings import Settings

ZONES = "abc"


class Region:
    """Everything that answers calls of the API. There is one in a process, because it changes moto's classes.

    Args:
        settings: the configuration.
        credentials: the secrets that clients have to know.
        state_dir: where hosts keep the files of their instances.
        lock: guards the models.
        tick: is called after each change of the models by a call.
        shutdown: ends the daemon.
    """

    def __init__(
        self,
        settings: Settings,
        credentials: Credentials,
        state_dir: Path,
        lock: threading.RLock,
        tick: Callable[[], None],
        shutdown: Callable[[], None],
    ) -> None:
        ec2 = ec2_backends[DEFAULT_ACCOUNT_ID][settings.region]
        add_images(ec2)
        groups = autoscaling_backends[DEFAULT_ACCOUNT_ID][settings.region]
        faults = Faults.of(settings)
        spot = SpotPrices(settings.spot_prices, [settings.region + zone for zone in ZONES])
        injected = Injected()
        calls = Calls(credentials.user.access_key_id)
        self._sessions = RoleSessions(settings.region)
        self._instances = Instances(settings, ec2, faults, injected)
        self._images = MadeImages(self._instances, ec2, state_dir)
        prices = read_prices(settings.prices)
        self._metering = Metering(settings, ec2, self._instances, prices, spot, state_dir)
        self._scaling = Scaling(groups, self._instances, settings.scaling_retry_s)
        self._group_requests = GroupRequests(self._scaling)
        functions = Functions(settings, state_dir)
        self._schedules = Schedules(
            events_backends[DEFAULT_ACCOUNT_ID][settings.region],
            lambda_backends[DEFAULT_ACCOUNT_ID][settings.region],
            functions.call_later,
        )
        self._patch_moto(PlacementGroups(ec2, self._instances), spot, state_dir, settings)
        patch_functions(functions)
        bill = self._metering.bill
        self.application = Application(
            Signatures(Keys(credentials).find),
            FailingApi(injected),
            DomainDispatcherApplication(backend),
            Control(settings, credentials.control_token, self._instances, self._scaling, spot, calls, shutdown, bill),
            {
                "pricing": PriceList(prices, settings.region).answer,
                "servicequotas": ServiceQuotas(faults, settings.region, ec2.account_id).answer,
            },
            calls,
            lock,
            tick,
        )

    def tick(self) -> None:
        """Lets instances, and then groups, follow what has happened, and calls the functions that are due."""
        self._instances.tick()
        self._images.tick()
        self._scaling.tick()
        self._group_requests.remove_deleted()
        self._metering.tick()
        self._schedules.tick()

    def heard(self, report: HostReport) -> None:
        """Takes a report of the hosts' process."""
        self._instances.heard(report)

    def wanted(self) -> Wanted:
        """Returns the hosts that shall run now, their network, and the images that shall be there."""
        waiting = tuple(one.id for one in self._instances if one.state in (PENDING, STOPPING, STOPPED))
        hosts, network = wanted_hosts(self._instances, self._sessions), network_of(self._instances.ec2)
        return Wanted(hosts, network, waiting, self._images.wanted())

    def _patch_moto(
        self, placement_groups: PlacementGroups, spot: SpotPrices, state_dir: Path, settings: Settings
    ) -> None:
        correct_moto()
        patch_instances(self._instances)
        patch_addresses(self._instances.ec2, settings.machines.public_cidr)
        patch_groups(self._group_requests, self._scaling.activities)
        patch_placement_groups(placement_groups)
        patch_spot_prices(spot)
        patch_console(state_dir)
        if settings.hosts == "machine":
            patch_images(self._images)
