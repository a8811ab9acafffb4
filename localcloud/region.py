"""One AWS region, put together: moto's models, localcloud's parts in them, and the API in front."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from moto.autoscaling.models import autoscaling_backends
from moto.core.models import DEFAULT_ACCOUNT_ID
from moto.ec2.models import ec2_backends
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app

from localcloud import extensions
from localcloud.api import Api
from localcloud.control import Control
from localcloud.corrections import correct_moto
from localcloud.machines import Machines
from localcloud.placement import PlacementGroups
from localcloud.pricing import PriceList, read_prices
from localcloud.quotas import ServiceQuotas
from localcloud.scaling import Scaling
from localcloud.settings import Settings
from localcloud.spot import SpotPrices

ZONES = "abc"


class Region:
    """Builds everything that answers API calls. There is one per process, because it changes moto's classes."""

    def __init__(
        self,
        settings: Settings,
        instances_dir: Path,
        lock: threading.RLock,
        tick: Callable[[], None],
        shutdown: Callable[[], None],
    ) -> None:
        ec2 = ec2_backends[DEFAULT_ACCOUNT_ID][settings.region]
        groups = autoscaling_backends[DEFAULT_ACCOUNT_ID][settings.region]
        self.machines = Machines(settings, ec2)
        self.scaling = Scaling(groups, self.machines, settings.scaling_retry_s)
        spot = SpotPrices(settings.spot_prices, [settings.region + zone for zone in ZONES])
        correct_moto()
        extensions.extend_instances(self.machines)
        extensions.extend_addresses()
        extensions.extend_scaling(self.scaling)
        extensions.extend_placement(PlacementGroups(ec2, self.machines))
        extensions.extend_spot_prices(spot)
        extensions.extend_console(instances_dir)
        self.application = Api(
            DomainDispatcherApplication(create_backend_app),
            Control(settings, self.machines, self.scaling, spot, shutdown),
            {
                "pricing": PriceList(read_prices(settings.prices), settings.region).answer,
                "servicequotas": ServiceQuotas(self.machines).answer,
            },
            lock,
            tick,
        )

    def tick(self) -> None:
        """Let instances and then groups follow what has happened."""
        self.machines.tick()
        self.scaling.tick()
