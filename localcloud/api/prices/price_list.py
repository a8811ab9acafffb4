"""The price list service, which moto lacks: DescribeServices, GetAttributeValues and GetProducts for AmazonEC2."""

from __future__ import annotations

import json
from typing import Any

from localcloud.api.errors import ServiceError
from localcloud.api.prices.product import SERVICE, attributes_of, product

PAGE = 100


class PriceList:
    """Answers the service's actions. `prices` are US dollars per hour by flavor."""

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
        end = start + int(request.get("MaxResults") or PAGE)
        products = [product(flavor, self.region, self.prices[flavor]) for flavor in found[start:end]]
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
