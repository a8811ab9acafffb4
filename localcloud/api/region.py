"""One AWS region, put together: moto's models, localcloud's parts in them, and the API in front."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from moto.autoscaling.models import autoscaling_backends
from moto.core.models import DEFAULT_ACCOUNT_ID
from moto.ec2.models import ec2_backends
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app

from localcloud.api.application import Api
from localcloud.api.autoscaling.scaling import Scaling
from localcloud.api.control.actions import Control
from localcloud.api.ec2.lifecycle import Machines
from localcloud.api.ec2.placement import PlacementGroups
from localcloud.api.ec2.quotas import ServiceQuotas
from localcloud.api.patches import extensions
from localcloud.api.patches.corrections import correct_moto
from localcloud.api.prices.price_list import PriceList, read_prices
from localcloud.api.prices.spot import SpotPrices
from localcloud.settings import Settings

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
