"""One product of the price list: an instance type on demand, in the JSON of AWS's price list."""

from __future__ import annotations

import hashlib
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


def attributes_of(flavor: str, region: str) -> dict[str, str]:
    """Returns the attributes that clients filter products by."""
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


def product(flavor: str, region: str, usd_per_hour: float) -> dict[str, Any]:
    """Returns the product of a flavor, with its price."""
    sku = hashlib.sha256(f"{region}/{flavor}".encode()).hexdigest()[:16].upper()
    attributes = attributes_of(flavor, region)
    family = attributes.pop("productFamily")
    attributes.pop("termType")
    rate = {
        "rateCode": f"{sku}.{ON_DEMAND_TERM}.{HOURLY_RATE}",
        "unit": "Hrs",
        "beginRange": "0",
        "endRange": "Inf",
        "description": f"${usd_per_hour} per On Demand Linux {flavor} Instance Hour",
        "appliesTo": [],
        "pricePerUnit": {"USD": f"{usd_per_hour:.10f}"},
    }
    term = {
        "priceDimensions": {rate["rateCode"]: rate},
        "sku": sku,
        "offerTermCode": ON_DEMAND_TERM,
        "effectiveDate": EFFECTIVE_DATE,
        "termAttributes": {},
    }
    return {
        "product": {"productFamily": family, "attributes": attributes, "sku": sku},
        "serviceCode": SERVICE,
        "terms": {"OnDemand": {f"{sku}.{ON_DEMAND_TERM}": term}},
        "version": "1",
        "publicationDate": EFFECTIVE_DATE,
    }
