"""A NAT gateway is deleted as on EC2: its interface is deleted with it, and its address is free again."""

from __future__ import annotations

import boto3
import pytest
from moto import mock_aws
from moto.ec2.models import EC2Backend

from localcloud.api.patches.corrections.network import delete_interfaces_of_nat_gateways


@mock_aws
def test_a_deleted_nat_gateway_leaves_neither_interface_nor_association(monkeypatch: pytest.MonkeyPatch) -> None:
    # The correction replaces this method. monkeypatch restores it after the test.
    monkeypatch.setattr(EC2Backend, "delete_nat_gateway", EC2Backend.delete_nat_gateway)
    delete_interfaces_of_nat_gateways()
    ec2 = boto3.client("ec2", region_name="us-east-1", aws_access_key_id="test", aws_secret_access_key="test")
    vpc = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    subnet = ec2.create_subnet(VpcId=vpc, CidrBlock="10.0.1.0/24")["Subnet"]["SubnetId"]
    address = ec2.allocate_address(Domain="vpc")["AllocationId"]
    gateway = ec2.create_nat_gateway(SubnetId=subnet, AllocationId=address)["NatGateway"]["NatGatewayId"]
    assert "AssociationId" in ec2.describe_addresses(AllocationIds=[address])["Addresses"][0]

    ec2.delete_nat_gateway(NatGatewayId=gateway)

    assert ec2.describe_network_interfaces()["NetworkInterfaces"] == []
    assert not ec2.describe_addresses(AllocationIds=[address])["Addresses"][0].get("AssociationId")
    ec2.release_address(AllocationId=address)
