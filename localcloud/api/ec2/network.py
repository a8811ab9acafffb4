"""The network for the hosts' process, made of moto's subnets, route tables and security groups."""

from __future__ import annotations

from typing import Any

from moto.ec2.models import EC2Backend
from moto.ec2.models.internet_gateways import InternetGateway
from moto.ec2.models.security_groups import SecurityGroupRule

from localcloud.link.network import Network, Rule, SecurityGroup, Subnet, WayOut

EVERYWHERE = "0.0.0.0/0"


def network_of(ec2: EC2Backend) -> Network:
    """Returns all subnets and security groups as they are now."""
    subnets = [subnet for by_id in ec2.subnets.values() for subnet in by_id.values()]
    groups = [group for by_id in ec2.groups.values() for group in by_id.values()]
    return Network(
        tuple(Subnet(subnet.id, subnet.cidr_block, _way_out(ec2, subnet)) for subnet in subnets),
        tuple(
            SecurityGroup(
                group.id,
                tuple(_rule(rule, outbound=False) for rule in group.ingress_rules)
                + tuple(_rule(rule, outbound=True) for rule in group.egress_rules),
            )
            for group in groups
        ),
    )


def _way_out(ec2: EC2Backend, subnet: Any) -> WayOut:
    route = _default_route(ec2, subnet)
    if route is None:
        return "none"
    if isinstance(route.gateway, InternetGateway):
        return "internet"
    gateway = route.nat_gateway
    if gateway is None or gateway.state != "available":
        return "none"
    outer = _default_route(ec2, ec2.get_subnet(gateway.subnet_id))
    return "nat" if outer is not None and isinstance(outer.gateway, InternetGateway) else "none"


def _default_route(ec2: EC2Backend, subnet: Any) -> Any:
    tables = [table for table in ec2.route_tables.values() if table.vpc_id == subnet.vpc_id]
    own = [table for table in tables if subnet.id in table.associations.values()]
    main = [table for table in tables if table.main_association_id]
    routes = [route for table in (own or main) for route in table.routes.values()]
    return next((route for route in routes if route.destination_cidr_block == EVERYWHERE), None)


def _rule(rule: SecurityGroupRule, outbound: bool) -> Rule:
    return Rule(
        outbound=outbound,
        protocol=str(rule.ip_protocol),
        from_port=rule.from_port,
        to_port=rule.to_port,
        cidr=rule.cidr_ipv4,
        group=rule.source_group.get("GroupId"),
    )
