"""Auto Scaling groups as their user sees them."""

from __future__ import annotations

import ipaddress
from pathlib import Path

import pytest
from botocore.exceptions import ClientError

from tests.support.local_cloud import LocalCloud, wait_until
from tests.support.roles import make_profile


def test_a_groups_instances_are_pending_until_they_have_booted(tmp_path: Path) -> None:
    with LocalCloud(tmp_path / "cloud", boot_delay_s=3600) as cloud:
        group = cloud.group(3)
        assert [member["LifecycleState"] for member in cloud.members(group)] == ["Pending"] * 3
        assert [activity["StatusCode"] for activity in cloud.activities(group)] == ["InProgress"] * 3


def test_a_group_reaches_its_desired_capacity(cloud: LocalCloud) -> None:
    group = cloud.group(3)
    members = cloud.in_service(group, 3)
    assert {cloud.state(member) for member in members} == {"running"}
    assert [activity["StatusCode"] for activity in cloud.activities(group)] == ["Successful"] * 3
    cloud.delete_group(group)


def test_instances_are_what_the_launch_template_says(cloud: LocalCloud) -> None:
    security = cloud.ec2.create_security_group(GroupName="node", Description="node", VpcId=cloud.vpc)["GroupId"]
    template = cloud.template(
        "c5.xlarge",
        SecurityGroupIds=[security],
        IamInstanceProfile={"Name": make_profile(cloud, "node")},
        InstanceMarketOptions={"MarketType": "spot"},
        TagSpecifications=[{"ResourceType": "instance", "Tags": [{"Key": "centavo:role", "Value": "worker"}]}],
    )
    tag = {"Key": "centavo:flavor", "Value": "c5.xlarge", "PropagateAtLaunch": True}
    group = cloud.group(1, template, Tags=[tag])
    instance = cloud.describe(cloud.in_service(group, 1)[0])
    tags = {entry["Key"]: entry["Value"] for entry in instance["Tags"]}
    assert instance["InstanceType"] == "c5.xlarge"
    assert instance["KeyName"] == "tests"
    assert instance["InstanceLifecycle"] == "spot"
    assert instance["MetadataOptions"]["HttpTokens"] == "required"
    assert instance["IamInstanceProfile"]["Arn"].endswith("/node")
    assert [entry["GroupId"] for entry in instance["SecurityGroups"]] == [security]
    assert tags["centavo:role"] == "worker"
    assert tags["centavo:flavor"] == "c5.xlarge"
    assert tags["aws:autoscaling:groupName"] == group
    cloud.delete_group(group)


def test_an_instance_that_is_terminated_is_replaced(cloud: LocalCloud) -> None:
    group = cloud.group(2)
    before = cloud.in_service(group, 2)
    cloud.ec2.terminate_instances(InstanceIds=before[:1])
    wait_until(lambda: before[0] not in {member["InstanceId"] for member in cloud.members(group)}, "its leaving")
    after = cloud.in_service(group, 2)
    assert before[1] in after
    assert cloud.state(before[0]) == "terminated"
    cloud.delete_group(group)


def test_a_machine_that_fails_is_replaced(cloud: LocalCloud) -> None:
    group = cloud.group(1)
    (before,) = cloud.in_service(group, 1)
    cloud.control("terminate", {"instance_id": before})
    wait_until(lambda: before not in {member["InstanceId"] for member in cloud.members(group)}, "its leaving")
    (after,) = cloud.in_service(group, 1)
    assert after != before
    assert cloud.describe(before)["StateReason"]["Code"] == "Server.InternalError"
    cloud.delete_group(group)


def test_an_instance_that_is_called_unhealthy_is_replaced(cloud: LocalCloud) -> None:
    group = cloud.group(1)
    (before,) = cloud.in_service(group, 1)
    cloud.autoscaling.set_instance_health(InstanceId=before, HealthStatus="Unhealthy")
    wait_until(lambda: cloud.state(before) == "terminated", "its end")
    assert cloud.in_service(group, 1) != [before]
    cloud.delete_group(group)


def test_scale_in_takes_only_what_is_not_protected(cloud: LocalCloud) -> None:
    group = cloud.group(3, NewInstancesProtectedFromScaleIn=True)
    members = cloud.in_service(group, 3)
    cloud.autoscaling.set_desired_capacity(AutoScalingGroupName=group, DesiredCapacity=2)
    refusal = cloud.activities(group)[0]
    assert refusal["StatusCode"] == "Failed"
    assert "protected from scale in" in refusal["StatusMessage"]
    assert cloud.in_service(group, 3) == members
    cloud.autoscaling.set_instance_protection(
        AutoScalingGroupName=group, InstanceIds=[members[1]], ProtectedFromScaleIn=False
    )
    assert sorted(cloud.in_service(group, 2)) == sorted([members[0], members[2]])
    cloud.delete_group(group)


def test_the_protection_of_an_instance_that_is_not_in_service_is_not_changed(cloud: LocalCloud) -> None:
    group = cloud.group(1, NewInstancesProtectedFromScaleIn=True)
    (member,) = cloud.in_service(group, 1)
    with pytest.raises(ClientError, match="The instance i-gone is not in InService"):
        cloud.autoscaling.set_instance_protection(
            AutoScalingGroupName=group, InstanceIds=[member, "i-gone"], ProtectedFromScaleIn=False
        )
    assert cloud.members(group)[0]["ProtectedFromScaleIn"], "nothing is changed by a call that is refused"
    cloud.delete_group(group)


def test_scale_in_takes_the_oldest_template_version_first(cloud: LocalCloud) -> None:
    template = cloud.template()
    group = cloud.group(1, template)
    (old,) = cloud.in_service(group, 1)
    cloud.ec2.create_launch_template_version(
        LaunchTemplateId=template,
        SourceVersion="1",
        LaunchTemplateData={"ImageId": "ami-12c6146b", "InstanceType": "c5.large"},
    )
    cloud.autoscaling.set_desired_capacity(AutoScalingGroupName=group, DesiredCapacity=2)
    cloud.in_service(group, 2)
    versions = {member["InstanceId"]: member["LaunchTemplate"]["Version"] for member in cloud.members(group)}
    assert sorted(versions.values()) == ["1", "2"]
    cloud.autoscaling.set_desired_capacity(AutoScalingGroupName=group, DesiredCapacity=1)
    assert cloud.in_service(group, 1) != [old]
    cloud.delete_group(group)


def test_without_room_a_group_stays_short_says_so_and_recovers(cloud: LocalCloud) -> None:
    cloud.control("capacity", {"c5.2xlarge": 1})
    group = cloud.group(3, cloud.template("c5.2xlarge"))
    cloud.in_service(group, 1)
    wait_until(lambda: len(cloud.activities(group)) >= 3, "another attempt")
    refusal = cloud.activities(group)[0]
    assert refusal["StatusCode"] == "Failed"
    assert "do not have sufficient c5.2xlarge capacity" in refusal["StatusMessage"]
    assert len(cloud.members(group)) == 1
    cloud.control("capacity", {"c5.2xlarge": None})
    cloud.in_service(group, 3)
    cloud.delete_group(group)


def test_running_an_instance_without_room_is_ec2s_error(cloud: LocalCloud) -> None:
    cloud.control("capacity", {"t3.large": 0})
    with pytest.raises(ClientError, match="InsufficientInstanceCapacity"):
        cloud.run(InstanceType="t3.large")


def test_a_quota_holds_a_group_back_as_ec2_does(cloud: LocalCloud) -> None:
    quotas = cloud.client("service-quotas")
    cloud.control("quota", {"L-34B43A08": 4})
    assert quotas.get_service_quota(ServiceCode="ec2", QuotaCode="L-34B43A08")["Quota"]["Value"] == 4
    template = cloud.template("c5.large", InstanceMarketOptions={"MarketType": "spot"})
    group = cloud.group(3, template)
    cloud.in_service(group, 2)
    assert "Max spot instance count exceeded" in cloud.activities(group)[0]["StatusMessage"]
    cloud.control("quota", {"L-34B43A08": None, "L-1216C47A": 1})
    with pytest.raises(ClientError, match="VcpuLimitExceeded"):
        cloud.run(InstanceType="c5.large")
    cloud.control("quota", {"L-1216C47A": None})
    cloud.in_service(group, 3)
    cloud.delete_group(group)


def test_launches_that_die_at_boot_are_failed_activities_and_are_tried_again(cloud: LocalCloud) -> None:
    cloud.control("fail-boot", {"t2.large": "terminated"})
    group = cloud.group(1, cloud.template("t2.large"))

    def failed_launches() -> list[str]:
        return [
            activity["StatusMessage"]
            for activity in cloud.activities(group)
            if activity["StatusCode"] == "Failed" and activity["Description"].startswith("Launching")
        ]

    assert "Server.InternalError" in wait_until(failed_launches, "a failed launch")[0]
    cloud.control("fail-boot", {"t2.large": False})
    cloud.in_service(group, 1)
    cloud.delete_group(group)


def test_a_host_can_be_made_to_never_answer(cloud: LocalCloud) -> None:
    cloud.control("fail-boot", {"t2.medium": True})
    group = cloud.group(1, cloud.template("t2.medium"))
    (member,) = cloud.in_service(group, 1)
    wait_until(lambda: cloud.host(member)["detail"], "the host's word")
    assert cloud.ssh(cloud.address(member), "true").returncode == 255
    cloud.control("fail-boot", {"t2.medium": False})
    cloud.delete_group(group)


def test_a_capacity_outside_the_limits_is_refused(cloud: LocalCloud) -> None:
    group = cloud.group(0, MaxSize=2)
    with pytest.raises(ClientError, match="must be between the specified min size:0 and max size:2"):
        cloud.autoscaling.set_desired_capacity(AutoScalingGroupName=group, DesiredCapacity=3)
    cloud.delete_group(group)


def test_lower_limits_lower_the_desired_capacity(cloud: LocalCloud) -> None:
    group = cloud.group(2)
    cloud.in_service(group, 2)
    cloud.autoscaling.update_auto_scaling_group(AutoScalingGroupName=group, MaxSize=1)
    cloud.in_service(group, 1)
    cloud.delete_group(group)


def test_a_group_with_instances_is_deleted_only_by_force(cloud: LocalCloud) -> None:
    group = cloud.group(1)
    cloud.in_service(group, 1)
    with pytest.raises(ClientError, match="ResourceInUse"):
        cloud.autoscaling.delete_auto_scaling_group(AutoScalingGroupName=group)
    cloud.delete_group(group)
    assert cloud.autoscaling.describe_auto_scaling_groups(AutoScalingGroupNames=[group])["AutoScalingGroups"] == []


def test_a_suspended_group_launches_nothing(cloud: LocalCloud) -> None:
    group = cloud.group(0)
    cloud.autoscaling.suspend_processes(AutoScalingGroupName=group, ScalingProcesses=["Launch"])
    cloud.autoscaling.set_desired_capacity(AutoScalingGroupName=group, DesiredCapacity=1)
    assert cloud.members(group) == []
    cloud.autoscaling.resume_processes(AutoScalingGroupName=group, ScalingProcesses=["Launch"])
    cloud.in_service(group, 1)
    cloud.delete_group(group)


def test_one_instance_can_be_taken_out_with_its_place(cloud: LocalCloud) -> None:
    group = cloud.group(2)
    members = cloud.in_service(group, 2)
    answer = cloud.autoscaling.terminate_instance_in_auto_scaling_group(
        InstanceId=members[0], ShouldDecrementDesiredCapacity=True
    )
    assert members[0] in answer["Activity"]["Description"]
    assert cloud.in_service(group, 1) == [members[1]]
    cloud.delete_group(group)


def test_a_mixed_group_buys_spot_above_its_on_demand_base(cloud: LocalCloud) -> None:
    policy = {
        "InstancesDistribution": {"OnDemandBaseCapacity": 1, "OnDemandPercentageAboveBaseCapacity": 0},
        "LaunchTemplate": {"LaunchTemplateSpecification": {"LaunchTemplateId": cloud.template(), "Version": "1"}},
    }
    cloud.autoscaling.create_auto_scaling_group(
        AutoScalingGroupName="mixed", MinSize=0, MaxSize=5, DesiredCapacity=3,
        VPCZoneIdentifier=cloud.subnet, MixedInstancesPolicy=policy,
    )  # fmt: skip
    markets = [cloud.describe(member).get("InstanceLifecycle") for member in cloud.in_service("mixed", 3)]
    assert sorted(markets, key=str) == [None, "spot", "spot"]
    cloud.delete_group("mixed")


def test_instances_spread_over_the_groups_subnets(cloud: LocalCloud) -> None:
    cidr = cloud.subnet_cidr.replace(".1.0/24", ".2.0/24")
    subnet = cloud.ec2.create_subnet(VpcId=cloud.vpc, CidrBlock=cidr, AvailabilityZone="us-east-1b")["Subnet"]
    group = cloud.group(4, VPCZoneIdentifier=f"{cloud.subnet},{subnet['SubnetId']}")
    zones = [cloud.describe(member)["Placement"]["AvailabilityZone"] for member in cloud.in_service(group, 4)]
    assert sorted(zones) == ["us-east-1a"] * 2 + ["us-east-1b"] * 2
    cloud.delete_group(group)


def test_no_two_living_instances_share_an_address_whatever_comes_and_goes(cloud: LocalCloud) -> None:
    group = cloud.group(3)
    for _ in range(4):
        members = cloud.in_service(group, 3)
        addresses = [cloud.address(member) for member in members]
        assert len(set(addresses)) == 3
        assert all(ipaddress.ip_address(address) in ipaddress.ip_network(cloud.subnet_cidr) for address in addresses)
        cloud.ec2.terminate_instances(InstanceIds=members[:2])
        wait_until(
            lambda gone=members[:2]: not {member["InstanceId"] for member in cloud.members(group)} & set(gone),
            "the replacement",
        )
    cloud.delete_group(group)


def test_a_terminated_instance_has_no_address_and_no_interface(cloud: LocalCloud) -> None:
    instance_id = cloud.run()
    cloud.ready(instance_id)
    interface = cloud.describe(instance_id)["NetworkInterfaces"][0]["NetworkInterfaceId"]
    cloud.ec2.terminate_instances(InstanceIds=[instance_id])
    wait_until(lambda: cloud.state(instance_id) == "terminated", "the termination")
    gone = cloud.describe(instance_id)
    assert "PrivateIpAddress" not in gone
    assert gone["NetworkInterfaces"] == []
    with pytest.raises(ClientError, match=r"InvalidNetworkInterfaceID\.NotFound"):
        cloud.ec2.describe_network_interfaces(NetworkInterfaceIds=[interface])
