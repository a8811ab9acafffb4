"""The network that hosts get: subnets with their way out, and the rules of security groups."""

from __future__ import annotations

from typing import Any

import boto3
import pytest
from moto import mock_aws
from moto.core.models import DEFAULT_ACCOUNT_ID
from moto.ec2.exceptions import EC2ClientError
from moto.ec2.models import ec2_backends

from localcloud.api.ec2.addresses import PublicAddresses
from localcloud.api.ec2.network import network_of
from localcloud.link.network import Network, Rule


def _client() -> Any:
    return boto3.client("ec2", region_name="us-east-1", aws_access_key_id="test", aws_secret_access_key="test")


def _network() -> Network:
    return network_of(ec2_backends[DEFAULT_ACCOUNT_ID]["us-east-1"])


def _way_out(subnet: str) -> str:
    return next(one.way_out for one in _network().subnets if one.subnet_id == subnet)


def _route(ec2: Any, vpc: str, subnet: str, **target: str) -> None:
    table = ec2.create_route_table(VpcId=vpc)["RouteTable"]["RouteTableId"]
    ec2.create_route(RouteTableId=table, DestinationCidrBlock="0.0.0.0/0", **target)
    ec2.associate_route_table(RouteTableId=table, SubnetId=subnet)


@mock_aws
def test_a_subnets_way_out_is_where_its_default_route_leads() -> None:
    ec2 = _client()
    vpc = ec2.create_vpc(CidrBlock="10.20.0.0/16")["Vpc"]["VpcId"]
    public, private = (
        ec2.create_subnet(VpcId=vpc, CidrBlock=cidr)["Subnet"]["SubnetId"] for cidr in ("10.20.1.0/24", "10.20.2.0/24")
    )
    assert _way_out(public) == _way_out(private) == "none"
    gateway = ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
    ec2.attach_internet_gateway(InternetGatewayId=gateway, VpcId=vpc)
    address = ec2.allocate_address(Domain="vpc")["AllocationId"]
    nat = ec2.create_nat_gateway(SubnetId=public, AllocationId=address)["NatGateway"]["NatGatewayId"]
    _route(ec2, vpc, private, NatGatewayId=nat)
    assert _way_out(private) == "none", "the NAT gateway's own subnet has no way out yet"
    _route(ec2, vpc, public, GatewayId=gateway)
    assert (_way_out(public), _way_out(private)) == ("internet", "nat")
    ec2.delete_nat_gateway(NatGatewayId=nat)
    assert _way_out(private) == "none"


@mock_aws
def test_rules_of_a_security_group_name_ranges_and_other_groups() -> None:
    ec2 = _client()
    vpc = ec2.create_vpc(CidrBlock="10.20.0.0/16")["Vpc"]["VpcId"]
    one, other = (
        ec2.create_security_group(GroupName=name, Description=name, VpcId=vpc)["GroupId"] for name in ("one", "other")
    )
    ssh = {"IpProtocol": "tcp", "FromPort": 22, "ToPort": 22}
    ec2.authorize_security_group_ingress(GroupId=one, IpPermissions=[{**ssh, "UserIdGroupPairs": [{"GroupId": other}]}])
    ec2.authorize_security_group_ingress(GroupId=one, IpPermissions=[{**ssh, "IpRanges": [{"CidrIp": "10.0.0.0/8"}]}])
    rules = next(group.rules for group in _network().groups if group.group_id == one)
    assert set(rules) == {
        Rule(False, "tcp", 22, 22, group=other),
        Rule(False, "tcp", 22, 22, cidr="10.0.0.0/8"),
        Rule(True, "-1", cidr="0.0.0.0/0"),
    }


@mock_aws
def test_public_addresses_are_of_the_range_and_given_once() -> None:
    backend = ec2_backends[DEFAULT_ACCOUNT_ID]["us-east-1"]
    addresses = PublicAddresses(backend, "198.51.100.0/29")
    taken = []
    for _ in range(5):
        taken.append(addresses.next())
        backend.allocate_address(domain="vpc", address=taken[-1])
    assert taken == [f"198.51.100.{number}" for number in range(1, 6)], "the last but one address is this machine's"
    with pytest.raises(EC2ClientError, match="All public addresses"):
        addresses.next()
    backend.release_address(address=taken[2])
    assert addresses.next() == taken[2]
