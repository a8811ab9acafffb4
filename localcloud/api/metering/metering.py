"""All that the cloud measures, from one clock."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from moto.cloudwatch.models import cloudwatch_backends
from moto.ec2.models import EC2Backend

from localcloud.api.ec2.instances import Instances
from localcloud.api.metering.credit_metrics import CreditMetrics
from localcloud.api.metering.meter import Meter
from localcloud.api.prices.spot_prices import SpotPrices
from localcloud.link.instance_dir import InstanceDir
from localcloud.settings import Settings


class Metering:
    """The bill, and the metrics of CPU credits. Every method is called with the API's lock held."""

    def __init__(
        self,
        settings: Settings,
        ec2: EC2Backend,
        instances: Instances,
        prices: Mapping[str, float],
        spot: SpotPrices,
        state_dir: Path,
    ) -> None:
        directory = partial(InstanceDir.of, state_dir)
        cloudwatch = cloudwatch_backends[ec2.account_id][settings.region]
        self._meter = Meter(instances, ec2, prices, spot, directory, settings.least_charged_s)
        self._credit_metrics = CreditMetrics(instances, cloudwatch, directory, settings.credit_metrics_s)

    def tick(self) -> None:
        """Measures what has changed since the last call."""
        now_s = time.monotonic()
        self._meter.tick(now_s)
        self._credit_metrics.tick(now_s)

    def bill(self) -> dict[str, Any]:
        """Returns what has been paid so far."""
        return self._meter.bill()
