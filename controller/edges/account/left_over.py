"""What of a cluster is still there and costs money, found by its tag."""

from __future__ import annotations

from typing import Any

import boto3

from controller.edges.aws import CLUSTER_TAG, client_config, speak

LIVING_STATES = ["pending", "running", "stopping", "stopped"]


def left_over(region: str, cluster: str) -> list[str]:
    """Returns the instances, volumes, NAT gateways and addresses that carry the cluster's tag. Raises AwsError."""
    ec2: Any = boto3.client("ec2", region_name=region, config=client_config())
    tag = {"Name": f"tag:{CLUSTER_TAG}", "Values": [cluster]}
    alive = {"Name": "instance-state-name", "Values": LIVING_STATES}
    # A volume that is deleted with its instance is "in-use" while the instance ends.
    unused = {"Name": "status", "Values": ["available"]}
    open_gateways = {"Name": "state", "Values": ["pending", "available"]}

    def call() -> list[str]:
        reservations = ec2.describe_instances(Filters=[tag, alive])["Reservations"]
        gateways = ec2.describe_nat_gateways(Filters=[tag, open_gateways])["NatGateways"]
        return [
            *(f"instance {one['InstanceId']}" for found in reservations for one in found["Instances"]),
            *(f"volume {one['VolumeId']}" for one in ec2.describe_volumes(Filters=[tag, unused])["Volumes"]),
            *(f"NAT gateway {one['NatGatewayId']}" for one in gateways),
            *(f"address {one['PublicIp']}" for one in ec2.describe_addresses(Filters=[tag])["Addresses"]),
        ]

    return speak("tell what is left of the cluster", call)
