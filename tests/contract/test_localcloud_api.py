"""The calls of the AWS API that the controller, Terraform and nodes rely on, made with AWS's own client."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest
from botocore.exceptions import ClientError

from controller.domain.prices.standing import EXTRAS
from controller.edges.account.logs import Logs
from controller.edges.prices import AwsPrices
from controller.observe.prices.answers import parse_on_demand, parse_spot
from controller.shipping.batches import Event
from controller.shipping.sending import CloudWatch, connect
from tests.support.local_cloud import REPOSITORY, LocalCloud, wait_until
from tests.support.roles import make_profile

PRICES = """c5.large: 0.085
c5.xlarge: 0.17
nat-gateway: 0.045
nat-gateway-gb: 0.046
public-ipv4: 0.005
gp3-gb-month: 0.08
"""


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCloud]:
    directory = tmp_path_factory.mktemp("cloud")
    (directory / "prices.yml").write_text(PRICES)
    with LocalCloud(directory, prices="prices.yml", spot_prices={"c5.large": 0.03}, terminated_visible_s=2) as cloud:
        yield cloud


def test_the_price_list_tells_what_runs_beside_the_instances(
    cloud: LocalCloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in cloud.environment.items():
        monkeypatch.setenv(name, value)
    entries = AwsPrices("us-east-1").on_demand(["c5.large", *EXTRAS])
    told = {name: price.usd_per_hour for name, price in parse_on_demand(entries, 0.0).items()}
    assert told == {
        "c5.large": 0.085,
        "nat-gateway": 0.045,
        "nat-gateway-gb": 0.046,
        "public-ipv4": 0.005,
        "gp3-gb-month": 0.08,
    }


def test_the_image_that_the_environment_aws_names_is_there(cloud: LocalCloud) -> None:
    text = (REPOSITORY / "terraform" / "environments" / "aws" / "variables.tf").read_text()
    found = re.search(r'owner = "(\d+)".*\n\s+name  = "([^"]+)"', text)
    assert found is not None
    wanted = [{"Name": "name", "Values": [found.group(2)]}]
    (image,) = cloud.ec2.describe_images(Owners=[found.group(1)], Filters=wanted)["Images"]
    assert (image["RootDeviceName"], image["Architecture"]) == ("/dev/xvda", "x86_64")


def test_a_zone_tells_which_instance_types_it_offers(cloud: LocalCloud) -> None:
    filters = [{"Name": "location", "Values": ["us-east-1a"]}, {"Name": "instance-type", "Values": ["c5.large"]}]
    answer = cloud.ec2.describe_instance_type_offerings(LocationType="availability-zone", Filters=filters)
    assert [offer["InstanceType"] for offer in answer["InstanceTypeOfferings"]] == ["c5.large"]


def test_a_placement_group_lives_from_create_to_delete(cloud: LocalCloud) -> None:
    tags = [{"ResourceType": "placement-group", "Tags": [{"Key": "centavo:cluster", "Value": "c"}]}]
    made = cloud.ec2.create_placement_group(GroupName="near", Strategy="cluster", TagSpecifications=tags)
    assert made["PlacementGroup"]["State"] == "available"
    (found,) = cloud.ec2.describe_placement_groups(GroupNames=["near"])["PlacementGroups"]
    assert (found["Strategy"], found["Tags"]) == ("cluster", [{"Key": "centavo:cluster", "Value": "c"}])
    assert found["GroupArn"].endswith(":placement-group/near")
    cloud.ec2.create_tags(Resources=[found["GroupId"]], Tags=[{"Key": "more", "Value": "x"}])
    by_tag = [{"Name": "tag:more", "Values": ["x"]}]
    assert len(cloud.ec2.describe_placement_groups(Filters=by_tag)["PlacementGroups"]) == 1
    with pytest.raises(ClientError, match=r"InvalidPlacementGroup\.Duplicate"):
        cloud.ec2.create_placement_group(GroupName="near", Strategy="cluster")
    cloud.ec2.delete_placement_group(GroupName="near")
    with pytest.raises(ClientError, match=r"InvalidPlacementGroup\.Unknown"):
        cloud.ec2.describe_placement_groups(GroupNames=["near"])


def test_a_placement_group_with_instances_is_in_use(cloud: LocalCloud) -> None:
    cloud.ec2.create_placement_group(GroupName="used", Strategy="cluster")
    group = cloud.group(1, PlacementGroup="used")
    (member,) = cloud.in_service(group, 1)
    assert cloud.describe(member)["Placement"]["GroupName"] == "used"
    with pytest.raises(ClientError, match=r"InvalidPlacementGroup\.InUse"):
        cloud.ec2.delete_placement_group(GroupName="used")
    cloud.autoscaling.delete_auto_scaling_group(AutoScalingGroupName=group, ForceDelete=True)
    wait_until(lambda: cloud.host(member)["state"] == "terminated", "the termination")
    cloud.ec2.delete_placement_group(GroupName="used")


def test_scaling_activities_have_times_causes_and_pages(cloud: LocalCloud) -> None:
    group = cloud.group(3)
    cloud.in_service(group, 3)
    first = cloud.autoscaling.describe_scaling_activities(AutoScalingGroupName=group, MaxRecords=2)
    rest = cloud.autoscaling.describe_scaling_activities(AutoScalingGroupName=group, NextToken=first["NextToken"])
    activities = first["Activities"] + rest["Activities"]
    assert len({activity["ActivityId"] for activity in activities}) == 3
    for activity in activities:
        assert activity["StartTime"] <= activity["EndTime"]
        assert (activity["StatusCode"], activity["Progress"]) == ("Successful", 100)
        assert "difference between desired and actual capacity" in activity["Cause"]
    cloud.autoscaling.delete_auto_scaling_group(AutoScalingGroupName=group, ForceDelete=True)


def test_prices_come_from_the_price_list_service(cloud: LocalCloud) -> None:
    filters = [{"Type": "TERM_MATCH", "Field": "instanceType", "Value": "c5.xlarge"}]
    answer = cloud.client("pricing").get_products(ServiceCode="AmazonEC2", Filters=filters)
    (term,) = json.loads(answer["PriceList"][0])["terms"]["OnDemand"].values()
    assert [d["pricePerUnit"]["USD"] for d in term["priceDimensions"].values()] == ["0.1700000000"]
    with pytest.raises(ClientError, match="NotFoundException"):
        cloud.client("pricing").get_products(ServiceCode="AmazonS3")


def test_spot_prices_are_configured_and_can_change(cloud: LocalCloud) -> None:
    def prices() -> list[str]:
        history = cloud.ec2.describe_spot_price_history(
            InstanceTypes=["c5.large"], ProductDescriptions=["Linux/UNIX"], AvailabilityZone="us-east-1a"
        )["SpotPriceHistory"]
        return [entry["SpotPrice"] for entry in history]

    assert prices() == ["0.030000"]
    cloud.control("spot-price", {"c5.large": 0.05})
    assert prices() == ["0.050000", "0.030000"]


def test_the_controller_asks_for_prices_as_on_aws(cloud: LocalCloud, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in cloud.environment.items():
        monkeypatch.setenv(name, value)
    prices, now = AwsPrices("us-east-1"), 1_800_000_000.0
    listed = parse_on_demand(prices.on_demand(["c5.large", "c5.xlarge", "m5.large"]), now)
    assert {flavor: price.usd_per_hour for flavor, price in listed.items()} == {"c5.large": 0.085, "c5.xlarge": 0.17}
    cloud.control("spot-price", {"c5.large": 0.04})
    group = cloud.group(0)
    for groups in ({"c5.large": group}, {"c5.large": None}, {"c5.large": "not-there-yet"}):
        entries = prices.spot(groups)
        assert {entry["AvailabilityZone"] for entry in entries} == (
            {"us-east-1a"} if group in groups.values() else {"us-east-1a", "us-east-1b", "us-east-1c"}
        )
        assert parse_spot(entries, now)["c5.large"].usd_per_hour == 0.04


def test_an_instance_passes_through_the_states_of_ec2_and_is_forgotten(cloud: LocalCloud) -> None:
    launched = cloud.launch()
    instance_id = launched["InstanceId"]
    assert launched["State"]["Name"] == "pending"
    wait_until(lambda: cloud.state(instance_id) == "running", "running")
    answer = cloud.ec2.terminate_instances(InstanceIds=[instance_id])["TerminatingInstances"][0]
    assert (answer["PreviousState"]["Name"], answer["CurrentState"]["Name"]) == ("running", "shutting-down")

    def is_forgotten() -> bool:
        reservations = cloud.ec2.describe_instances()["Reservations"]
        return all(entry["InstanceId"] != instance_id for made in reservations for entry in made["Instances"])

    wait_until(is_forgotten, "that it is no longer shown")
    tags = cloud.ec2.describe_tags(Filters=[{"Name": "resource-id", "Values": [instance_id]}])["Tags"]
    assert tags == []


def test_terminating_twice_is_harmless(cloud: LocalCloud) -> None:
    instance_id = cloud.run()
    for _ in range(2):
        cloud.ec2.terminate_instances(InstanceIds=[instance_id])
    wait_until(lambda: cloud.host(instance_id)["state"] == "terminated", "the termination")


def test_run_instances_takes_from_the_template_what_it_does_not_say_itself(cloud: LocalCloud) -> None:
    tags = [
        {"ResourceType": "instance", "Tags": [{"Key": "a", "Value": "template"}, {"Key": "b", "Value": "template"}]}
    ]
    template = cloud.template("c5.xlarge", TagSpecifications=tags)
    own = [{"ResourceType": "instance", "Tags": [{"Key": "b", "Value": "request"}]}]
    answer = cloud.ec2.run_instances(
        LaunchTemplate={"LaunchTemplateId": template},
        SubnetId=cloud.subnet,
        MinCount=1,
        MaxCount=1,
        TagSpecifications=own,
    )
    instance = cloud.describe(answer["Instances"][0]["InstanceId"])
    assert (instance["InstanceType"], instance["KeyName"]) == ("c5.xlarge", "tests")
    assert {tag["Key"]: tag["Value"] for tag in instance["Tags"]} == {"a": "template", "b": "request"}
    cloud.ec2.terminate_instances(InstanceIds=[instance["InstanceId"]])


def test_a_bucket_keeps_objects_with_path_style_addresses(cloud: LocalCloud) -> None:
    s3 = cloud.client("s3")
    s3.create_bucket(Bucket="results")
    s3.put_object(Bucket="results", Key="run/model.params", Body=b"x" * 6_000_000)
    assert s3.get_object(Bucket="results", Key="run/model.params")["ContentLength"] == 6_000_000
    listed = s3.list_objects_v2(Bucket="results", Prefix="run/")["Contents"]
    assert [entry["Key"] for entry in listed] == ["run/model.params"]


def test_a_node_reaches_the_cloud_and_its_own_metadata_with_what_its_sessions_are_given(cloud: LocalCloud) -> None:
    instance_id = cloud.run(
        IamInstanceProfile={"Name": make_profile(cloud, "looking", "ec2:DescribeInstances")},
        MetadataOptions={"HttpTokens": "required", "InstanceMetadataTags": "enabled"},
        TagSpecifications=[{"ResourceType": "instance", "Tags": [{"Key": "centavo:flavor", "Value": "t3.micro"}]}],
    )
    address = cloud.ready(instance_id)
    script = (
        "import boto3, json; from botocore.utils import IMDSFetcher, InstanceMetadataRegionFetcher as Region\n"
        "import os\n"
        "fetcher = IMDSFetcher(base_url=os.environ['AWS_EC2_METADATA_SERVICE_ENDPOINT'])\n"
        "token = fetcher._fetch_metadata_token()\n"
        "read = lambda path: fetcher._get_request('latest/meta-data/' + path, None, token=token).text\n"
        "reservations = boto3.client('ec2').describe_instances()['Reservations']\n"
        "ids = [entry['InstanceId'] for made in reservations for entry in made['Instances']]\n"
        "print(json.dumps([read('instance-id'), read('tags/instance/centavo:flavor'), read('instance-id') in ids]))\n"
    )
    result = cloud.ssh(address, f"{sys.executable} -", input=script)
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout) == [instance_id, "t3.micro", True]
    cloud.ec2.terminate_instances(InstanceIds=[instance_id])


# What Terraform's AWS provider reads, and would plan a change for ever, or ask for ever, if it were otherwise


def test_an_interface_without_public_address_has_no_association(cloud: LocalCloud) -> None:
    interface = {"DeviceIndex": 0, "SubnetId": cloud.subnet, "AssociatePublicIpAddress": False}
    answer = cloud.ec2.run_instances(
        ImageId="ami-12c6146b", InstanceType="t3.micro", MinCount=1, MaxCount=1, NetworkInterfaces=[interface]
    )
    instance = cloud.describe(answer["Instances"][0]["InstanceId"])
    assert "Association" not in instance["NetworkInterfaces"][0]
    assert "PublicIpAddress" not in instance
    cloud.ec2.terminate_instances(InstanceIds=[instance["InstanceId"]])


def test_security_groups_of_the_interface_are_the_instances(cloud: LocalCloud) -> None:
    security = cloud.ec2.create_security_group(GroupName="head", Description="head", VpcId=cloud.vpc)["GroupId"]
    interface = {"DeviceIndex": 0, "SubnetId": cloud.subnet, "Groups": [security]}
    answer = cloud.ec2.run_instances(
        ImageId="ami-12c6146b", InstanceType="t3.micro", MinCount=1, MaxCount=1, NetworkInterfaces=[interface]
    )
    instance = cloud.describe(answer["Instances"][0]["InstanceId"])
    assert [group["GroupId"] for group in instance["SecurityGroups"]] == [security]
    cloud.ec2.terminate_instances(InstanceIds=[instance["InstanceId"]])


def test_a_rule_between_security_groups_keeps_its_description(cloud: LocalCloud) -> None:
    one, other = (
        cloud.ec2.create_security_group(GroupName=name, Description=name, VpcId=cloud.vpc)["GroupId"]
        for name in ("one", "other")
    )
    pair = {"GroupId": other, "Description": "Horovod rendezvous"}
    permission = {"IpProtocol": "tcp", "FromPort": 1024, "ToPort": 65535, "UserIdGroupPairs": [pair]}
    cloud.ec2.authorize_security_group_ingress(GroupId=one, IpPermissions=[permission])
    by_group = [{"Name": "group-id", "Values": [one]}]
    rules = cloud.ec2.describe_security_group_rules(Filters=by_group)["SecurityGroupRules"]
    assert [rule["Description"] for rule in rules if not rule["IsEgress"]] == ["Horovod rendezvous"]


def test_a_templates_own_tags_are_not_in_its_data_and_can_change(cloud: LocalCloud) -> None:
    own = [{"ResourceType": "launch-template", "Tags": [{"Key": "Name", "Value": "before"}]}]
    made = cloud.ec2.create_launch_template(
        LaunchTemplateName="tagged", LaunchTemplateData={"InstanceType": "c5.large"}, TagSpecifications=own
    )["LaunchTemplate"]
    versions = cloud.ec2.describe_launch_template_versions(LaunchTemplateId=made["LaunchTemplateId"])
    assert "TagSpecifications" not in versions["LaunchTemplateVersions"][0]["LaunchTemplateData"]
    cloud.ec2.create_tags(Resources=[made["LaunchTemplateId"]], Tags=[{"Key": "Name", "Value": "after"}])
    (found,) = cloud.ec2.describe_launch_templates(LaunchTemplateIds=[made["LaunchTemplateId"]])["LaunchTemplates"]
    assert {tag["Key"]: tag["Value"] for tag in found["Tags"]} == {"Name": "after"}


def test_credit_specifications_come_to_an_end(cloud: LocalCloud) -> None:
    instance_id = cloud.run()
    answer = cloud.ec2.describe_instance_credit_specifications(InstanceIds=[instance_id])
    assert not answer.get("NextToken")
    assert answer["InstanceCreditSpecifications"] == [{"InstanceId": instance_id, "CpuCredits": "unlimited"}]
    cloud.ec2.terminate_instances(InstanceIds=[instance_id])


def test_interfaces_without_an_address_get_one_of_their_own(cloud: LocalCloud) -> None:
    made = [cloud.ec2.create_network_interface(SubnetId=cloud.subnet)["NetworkInterface"] for _ in range(3)]
    instances = [cloud.run() for _ in range(3)]
    addresses = [interface["PrivateIpAddress"] for interface in made] + [cloud.address(one) for one in instances]
    assert len(set(addresses)) == 6
    cloud.ec2.terminate_instances(InstanceIds=instances)
    for interface in made:
        cloud.ec2.delete_network_interface(NetworkInterfaceId=interface["NetworkInterfaceId"])


def test_a_full_subnet_is_ec2s_error_and_frees_up(cloud: LocalCloud) -> None:
    cidr = cloud.subnet_cidr.replace(".1.0/24", ".9.0/28")
    subnet = cloud.ec2.create_subnet(VpcId=cloud.vpc, CidrBlock=cidr)["Subnet"]["SubnetId"]
    made = [cloud.ec2.create_network_interface(SubnetId=subnet)["NetworkInterface"] for _ in range(11)]
    with pytest.raises(ClientError, match="InsufficientFreeAddressesInSubnet"):
        cloud.ec2.create_network_interface(SubnetId=subnet)
    freed = made[4]
    cloud.ec2.delete_network_interface(NetworkInterfaceId=freed["NetworkInterfaceId"])
    again = cloud.ec2.create_network_interface(SubnetId=subnet)["NetworkInterface"]
    assert again["PrivateIpAddress"] == freed["PrivateIpAddress"]


def test_the_control_api_is_apart_from_the_aws_api(cloud: LocalCloud) -> None:
    token = f"Authorization: Bearer {cloud.credentials.control_token}"
    shown = ["-s", "-o", "/dev/null", "-w", "%{http_code} %{content_type}"]
    words = ["curl", *shown, "-H", token, f"{cloud.endpoint}/_localcloud/status"]
    listing = subprocess.run(words, capture_output=True, text=True, check=True)
    assert listing.stdout == "200 application/json"


def test_what_moto_lacks_is_an_error_of_aws_and_no_page_of_html(cloud: LocalCloud) -> None:
    with pytest.raises(ClientError) as of_iam:
        client = cloud.client("iam")
        client.simulate_principal_policy(
            PolicySourceArn="arn:aws:iam::123456789012:user/me", ActionNames=["s3:GetObject"]
        )
    assert of_iam.value.response["Error"]["Code"] == "UnsupportedOperation"


@pytest.mark.parametrize(("condition", "is_refused"), [({"Bool": {"aws:SecureTransport": "false"}}, False), ({}, True)])
def test_a_bucket_that_wants_tls_answers_on_loopback_and_one_that_refuses_does_not(
    cloud: LocalCloud, condition: dict[str, object], is_refused: bool
) -> None:
    s3, bucket = cloud.client("s3"), f"tls-{is_refused}".lower()
    s3.create_bucket(Bucket=bucket)
    s3.put_object(Bucket=bucket, Key="key", Body=b"here")
    everything = {"Effect": "Deny", "Principal": "*", "Action": "s3:*", "Resource": f"arn:aws:s3:::{bucket}/*"}
    statement = {**everything, **({"Condition": condition} if condition else {})}
    s3.put_bucket_policy(Bucket=bucket, Policy=json.dumps({"Version": "2012-10-17", "Statement": [statement]}))
    if is_refused:
        with pytest.raises(ClientError, match=r"Forbidden|AccessDenied"):
            s3.get_object(Bucket=bucket, Key="key")
    else:
        assert s3.get_object(Bucket=bucket, Key="key")["Body"].read() == b"here"


def test_the_logs_that_a_node_ships_are_read_in_the_order_of_time(
    cloud: LocalCloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in cloud.environment.items():
        monkeypatch.setenv(name, value)
    client = connect("us-east-1")
    client.create_log_group(logGroupName="/centavo/unit")
    sender, now_ms = CloudWatch("/centavo/unit", lambda: client), round(time.time() * 1000)
    for number, stream in enumerate(["run/launcher", "run/centavo-run-0", "run/launcher", "other/launcher"]):
        assert sender.send(stream, [Event(now_ms + number, f"line {number}")]) == 0
    logs = Logs("us-east-1", "/centavo/unit")
    assert logs.latest_run() == "run" and logs.of_run("run") == ["centavo-run-0", "launcher"]
    assert [line.message for line in logs.lines("run", 0.0)] == ["line 0", "line 1", "line 2"]
    assert [line.message for line in logs.lines("run", 0.0, "launcher")] == ["line 0", "line 2"]
    assert [line.message for line in logs.lines("run", (now_ms + 1) / 1000)] == ["line 1", "line 2"]
    assert list(logs.lines("nothing", 0.0)) == []
