"""The price list service, which moto lacks: DescribeServices, GetAttributeValues and GetProducts for AmazonEC2.

Prices come from a YAML file with one flavor per line, `c5.large: 0.085`: US dollars per hour, on demand, Linux.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import yaml
from moto.ec2.models.instance_types import INSTANCE_TYPES

from localcloud.api.errors import ServiceError

SERVICE = "AmazonEC2"
PAGE = 100
TERM = "JRTCKXETXF"  # the price list's code for on-demand
RATE = "6YS6EN2CT7"  # and for its hourly rate
REGION_NAMES = {
    "us-east-1": "US East (N. Virginia)",
    "us-east-2": "US East (Ohio)",
    "us-west-2": "US West (Oregon)",
    "eu-west-1": "EU (Ireland)",
    "eu-central-1": "EU (Frankfurt)",
    "sa-east-1": "South America (Sao Paulo)",
}


def read_prices(path: Path | None) -> dict[str, float]:
    """Flavor to US dollars per hour; raises ValueError that names the line which is not a price."""
    if path is None:
        return {}
    try:
        document = yaml.safe_load(path.read_text()) or {}
    except (OSError, yaml.YAMLError) as error:
        raise ValueError(f"cannot read the prices in {path}: {error}") from None
    if not isinstance(document, dict):
        raise ValueError(f"{path} must hold one `flavor: price` per line")
    for flavor, price in document.items():
        if isinstance(price, bool) or not isinstance(price, (int, float)) or price <= 0:
            raise ValueError(f"{path}: the price of {flavor} must be positive dollars per hour, not {price!r}")
    return {str(flavor): float(price) for flavor, price in document.items()}


class PriceList:
    """Answers the service's actions."""

    def __init__(self, prices: dict[str, float], region: str) -> None:
        self.prices = prices
        self.region = region

    def answer(self, action: str, request: dict[str, Any]) -> dict[str, Any]:
        """The response to one request; raises ServiceError."""
        actions = {
            "DescribeServices": self._describe_services,
            "GetAttributeValues": self._attribute_values,
            "GetProducts": self._products,
        }
        if action not in actions:
            raise ServiceError("InvalidParameterException", f"localcloud has no pricing action {action}")
        if request.get("ServiceCode", SERVICE) != SERVICE:
            raise ServiceError("NotFoundException", f"localcloud has prices for {SERVICE} only")
        return actions[action](request)

    def _describe_services(self, request: dict[str, Any]) -> dict[str, Any]:
        names = sorted(self._attributes("t2.micro"))
        return {"Services": [{"ServiceCode": SERVICE, "AttributeNames": names}], "FormatVersion": "aws_v1"}

    def _attribute_values(self, request: dict[str, Any]) -> dict[str, Any]:
        name = request.get("AttributeName", "")
        values = sorted({self._attributes(flavor).get(name, "") for flavor in self.prices} - {""})
        return {"AttributeValues": [{"Value": value} for value in values]}

    def _products(self, request: dict[str, Any]) -> dict[str, Any]:
        found = [flavor for flavor in sorted(self.prices) if self._matches(flavor, request.get("Filters", []))]
        start = int(request.get("NextToken") or 0)
        size = int(request.get("MaxResults") or PAGE)
        page: dict[str, Any] = {
            "FormatVersion": "aws_v1",
            "PriceList": [json.dumps(self._product(flavor)) for flavor in found[start : start + size]],
        }
        if start + size < len(found):
            page["NextToken"] = str(start + size)
        return page

    def _matches(self, flavor: str, filters: list[dict[str, str]]) -> bool:
        attributes = self._attributes(flavor)
        for wanted in filters:
            name = wanted.get("Field", "")
            if name == "ServiceCode":
                continue
            if attributes.get(name) != wanted.get("Value"):
                return False
        return True

    def _attributes(self, flavor: str) -> dict[str, str]:
        facts = INSTANCE_TYPES.get(flavor, {})
        vcpus = facts.get("VCpuInfo", {}).get("DefaultVCpus")
        memory_mib = facts.get("MemoryInfo", {}).get("SizeInMiB")
        attributes = {
            "servicecode": SERVICE,
            "instanceType": flavor,
            "location": REGION_NAMES.get(self.region, self.region),
            "locationType": "AWS Region",
            "regionCode": self.region,
            "operatingSystem": "Linux",
            "tenancy": "Shared",
            "preInstalledSw": "NA",
            "capacitystatus": "Used",
            "licenseModel": "No License required",
            "marketoption": "OnDemand",
            "operation": "RunInstances",
            "productFamily": "Compute Instance",
            "usagetype": f"BoxUsage:{flavor}",
            "termType": "OnDemand",
        }
        if vcpus:
            attributes["vcpu"] = str(vcpus)
        if memory_mib:
            attributes["memory"] = f"{memory_mib / 1024:g} GiB"
        return attributes

    def _product(self, flavor: str) -> dict[str, Any]:
        sku = hashlib.sha256(f"{self.region}/{flavor}".encode()).hexdigest()[:16].upper()
        attributes = self._attributes(flavor)
        family = attributes.pop("productFamily")
        attributes.pop("termType")
        rate = {
            "rateCode": f"{sku}.{TERM}.{RATE}",
            "unit": "Hrs",
            "beginRange": "0",
            "endRange": "Inf",
            "description": f"${self.prices[flavor]} per On Demand Linux {flavor} Instance Hour",
            "appliesTo": [],
            "pricePerUnit": {"USD": f"{self.prices[flavor]:.10f}"},
        }
        term = {
            "priceDimensions": {f"{sku}.{TERM}.{RATE}": rate},
            "sku": sku,
            "offerTermCode": TERM,
            "effectiveDate": "2026-01-01T00:00:00Z",
            "termAttributes": {},
        }
        return {
            "product": {"productFamily": family, "attributes": attributes, "sku": sku},
            "serviceCode": SERVICE,
            "terms": {"OnDemand": {f"{sku}.{TERM}": term}},
            "version": "1",
            "publicationDate": "2026-01-01T00:00:00Z",
        }
