"""The price list service, which moto lacks: DescribeServices, GetAttributeValues and GetProducts."""

from __future__ import annotations

import json
from typing import Any

from localcloud.api.errors import ServiceError
from localcloud.api.prices.product import EXTRAS, SERVICE, attributes_of, product, service_of

PAGE = 100
SERVICES = sorted({SERVICE, *(extra.service for extra in EXTRAS.values())})


class PriceList:
    """Answers the service's actions. `prices` are US dollars per hour by flavor, and the prices of `EXTRAS`."""

    def __init__(self, prices: dict[str, float], region: str) -> None:
        self.prices = prices
        self.region = region

    def answer(self, action: str, request: dict[str, Any]) -> dict[str, Any]:
        """Returns the response to a request.

        Raises:
            ServiceError: there is no such action or service.
        """
        actions = {
            "DescribeServices": self._describe_services,
            "GetAttributeValues": self._attribute_values,
            "GetProducts": self._products,
        }
        if action not in actions:
            raise ServiceError("InvalidParameterException", f"localcloud has no pricing action {action}")
        if request.get("ServiceCode", SERVICE) not in SERVICES:
            raise ServiceError("NotFoundException", f"localcloud has prices for {' and '.join(SERVICES)} only")
        return actions[action](request)

    def _describe_services(self, request: dict[str, Any]) -> dict[str, Any]:
        examples = {service: [name for name in EXTRAS if service_of(name) == service] for service in SERVICES}
        examples[SERVICE].append("t2.micro")
        services = [
            {
                "ServiceCode": service,
                "AttributeNames": sorted({key for name in names for key in self._attributes(name)}),
            }
            for service, names in examples.items()
        ]
        wanted = request.get("ServiceCode")
        found = [one for one in services if wanted in (None, one["ServiceCode"])]
        return {"Services": found, "FormatVersion": "aws_v1"}

    def _attribute_values(self, request: dict[str, Any]) -> dict[str, Any]:
        name = request.get("AttributeName", "")
        values = sorted({self._attributes(flavor).get(name, "") for flavor in self.prices} - {""})
        return {"AttributeValues": [{"Value": value} for value in values]}

    def _products(self, request: dict[str, Any]) -> dict[str, Any]:
        service, filters = request.get("ServiceCode", SERVICE), request.get("Filters", [])
        listed = [name for name in sorted(self.prices) if service_of(name) == service]
        found = [name for name in listed if self._matches(name, filters)]
        start = int(request.get("NextToken") or 0)
        end = start + int(request.get("MaxResults") or PAGE)
        products = [product(name, self.region, self.prices[name]) for name in found[start:end]]
        page: dict[str, Any] = {"FormatVersion": "aws_v1", "PriceList": [json.dumps(one) for one in products]}
        if end < len(found):
            page["NextToken"] = str(end)
        return page

    def _matches(self, flavor: str, filters: list[dict[str, str]]) -> bool:
        attributes = self._attributes(flavor)
        asked = [one for one in filters if one.get("Field") != "ServiceCode"]
        return all(attributes.get(one.get("Field", "")) == one.get("Value") for one in asked)

    def _attributes(self, flavor: str) -> dict[str, str]:
        return attributes_of(flavor, self.region)
