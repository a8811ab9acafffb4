"""One product in the JSON of AWS's price list: an instance type on demand, or what costs money beside instances."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from moto.ec2.models.instance_types import INSTANCE_TYPES

SERVICE = "AmazonEC2"
ON_DEMAND_TERM = "JRTCKXETXF"  # the price list's code for the term on-demand
HOURLY_RATE = "6YS6EN2CT7"  # the price list's code for the hourly rate of that term
EFFECTIVE_DATE = "2026-01-01T00:00:00Z"
REGION_NAMES = {
    "us-east-1": "US East (N. Virginia)",
    "us-east-2": "US East (Ohio)",
    "us-west-2": "US West (Oregon)",
    "eu-west-1": "EU (Ireland)",
    "eu-central-1": "EU (Frankfurt)",
    "sa-east-1": "South America (Sao Paulo)",
}


@dataclass(frozen=True)
class Extra:
    """Something else than an instance that costs money, as the price list shows it."""

    usage: str
    unit: str
    attributes: Mapping[str, str]
    service: str = SERVICE


_NAT = {"productFamily": "NAT Gateway", "group": "NGW:NatGateway", "operation": "NatGateway"}
EXTRAS = {
    "nat-gateway": Extra("NatGateway-Hours", "Hrs", _NAT),
    "nat-gateway-gb": Extra("NatGateway-Bytes", "GB", _NAT),
    "gp3-gb-month": Extra("EBS:VolumeUsage.gp3", "GB-Mo", {"productFamily": "Storage", "volumeApiName": "gp3"}),
    "public-ipv4": Extra("USE1-PublicIPv4:InUseAddress", "Hrs", {}, "AmazonVPC"),
}
"""By their names in the file of prices."""


def service_of(name: str) -> str:
    """Returns the service whose price list has a product."""
    return EXTRAS[name].service if name in EXTRAS else SERVICE


def attributes_of(name: str, region: str) -> dict[str, str]:
    """Returns the attributes that clients filter products by."""
    if name not in EXTRAS:
        return _instance_attributes(name, region)
    extra = EXTRAS[name]
    place = {"location": REGION_NAMES.get(region, region), "locationType": "AWS Region", "regionCode": region}
    return {"servicecode": extra.service, "usagetype": extra.usage, "termType": "OnDemand", **place, **extra.attributes}


def _instance_attributes(flavor: str, region: str) -> dict[str, str]:
    facts = INSTANCE_TYPES.get(flavor, {})
    vcpus = facts.get("VCpuInfo", {}).get("DefaultVCpus")
    memory_mib = facts.get("MemoryInfo", {}).get("SizeInMiB")
    attributes = {
        "servicecode": SERVICE,
        "instanceType": flavor,
        "location": REGION_NAMES.get(region, region),
        "locationType": "AWS Region",
        "regionCode": region,
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


def product(name: str, region: str, usd: float) -> dict[str, Any]:
    """Returns the product of a flavor or of one of `EXTRAS`, with its price."""
    sku = hashlib.sha256(f"{region}/{name}".encode()).hexdigest()[:16].upper()
    attributes = attributes_of(name, region)
    family = {"productFamily": attributes.pop("productFamily")} if "productFamily" in attributes else {}
    attributes.pop("termType")
    rate = _rate(sku, name, usd)
    term = {
        "priceDimensions": {rate["rateCode"]: rate},
        "sku": sku,
        "offerTermCode": ON_DEMAND_TERM,
        "effectiveDate": EFFECTIVE_DATE,
        "termAttributes": {},
    }
    return {
        "product": {**family, "attributes": attributes, "sku": sku},
        "serviceCode": service_of(name),
        "terms": {"OnDemand": {f"{sku}.{ON_DEMAND_TERM}": term}},
        "version": "1",
        "publicationDate": EFFECTIVE_DATE,
    }


def _rate(sku: str, name: str, usd: float) -> dict[str, Any]:
    what, unit = f"On Demand Linux {name} Instance Hour", "Hrs"
    if name in EXTRAS:
        what, unit = EXTRAS[name].usage, EXTRAS[name].unit
    return {
        "rateCode": f"{sku}.{ON_DEMAND_TERM}.{HOURLY_RATE}",
        "unit": unit,
        "beginRange": "0",
        "endRange": "Inf",
        "description": f"${usd} per {what}",
        "appliesTo": [],
        "pricePerUnit": {"USD": f"{usd:.10f}"},
    }
