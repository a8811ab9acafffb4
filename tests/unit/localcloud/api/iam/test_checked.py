"""A running cloud checks requests against the policies of the role or the user whose key has signed them."""

from __future__ import annotations

import json
import sys
import urllib.error
import urllib.request
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from tests.support.local_cloud import LocalCloud
from tests.support.roles import make_profile, policy_text

ACCOUNT = "123456789012"
READ_CREDENTIALS = """
import json, os, urllib.request
base = os.environ["AWS_EC2_METADATA_SERVICE_ENDPOINT"].rstrip("/") + "/latest/"
ask = urllib.request.Request(base + "api/token", method="PUT", headers={"X-aws-ec2-metadata-token-ttl-seconds": "60"})
token = {"X-aws-ec2-metadata-token": urllib.request.urlopen(ask).read().decode()}
get = lambda path: urllib.request.urlopen(urllib.request.Request(base + path, headers=token)).read().decode()
folder = "meta-data/iam/security-credentials/"
print(get(folder + get(folder)))
"""


class Node:
    """An instance with a role, and clients with the credentials that its metadata service gives."""

    def __init__(self, cloud: LocalCloud, profile: str) -> None:
        self.cloud = cloud
        self.id = cloud.run(IamInstanceProfile={"Name": profile})
        found = cloud.ssh(cloud.ready(self.id), f"{sys.executable} -", input=READ_CREDENTIALS)
        assert found.returncode == 0, found.stderr
        self.credentials = json.loads(found.stdout)

    def client(self, service: str) -> Any:
        keys = (self.credentials[name] for name in ("AccessKeyId", "SecretAccessKey", "Token"))
        session, config = (
            boto3.Session(*keys, region_name="us-east-1"),
            Config(signature_version="s3v4" if service == "s3" else None),
        )
        return session.client(service, endpoint_url=self.cloud.endpoint, config=config)


def refusal(error: pytest.ExceptionInfo[ClientError]) -> tuple[str, str]:
    return error.value.response["Error"]["Code"], error.value.response["Error"]["Message"]


@pytest.fixture(scope="module")
def node(cloud: LocalCloud) -> Node:
    """A node that may read one folder of one bucket, and set the capacity of the groups of its cluster."""
    for bucket in ("centavo-1", "payroll"):
        cloud.client("s3").create_bucket(Bucket=bucket)
        cloud.client("s3").put_object(Bucket=bucket, Key="run/a", Body=b"text")
    profile = make_profile(cloud, "worker", "s3:GetObject", Resource="arn:aws:s3:::centavo-1/run/*")
    capacity = {
        "Effect": "Allow",
        "Action": ["autoscaling:SetDesiredCapacity", "autoscaling:CreateOrUpdateTags"],
        "Resource": f"arn:aws:autoscaling:us-east-1:{ACCOUNT}:autoScalingGroup:*:autoScalingGroupName/*",
        "Condition": {"StringEquals": {"aws:ResourceTag/centavo:cluster": "unit"}},
    }
    name = {
        "Effect": "Allow",
        "Action": "ec2:CreateTags",
        "Resource": "arn:aws:ec2:*:*:instance/*",
        "Condition": {"StringEquals": {"aws:ResourceTag/centavo:cluster": "unit"}},
    }
    see = {"Effect": "Allow", "Action": "ec2:DescribeInstances", "Resource": "*"}
    policy = cloud.client("iam").create_policy(PolicyName="see", PolicyDocument=policy_text(see, capacity, name))[
        "Policy"
    ]
    cloud.client("iam").attach_role_policy(RoleName=profile, PolicyArn=policy["Arn"])
    return Node(cloud, profile)


def test_each_instance_has_a_key_of_its_own(cloud: LocalCloud, node: Node) -> None:
    other = Node(cloud, "worker")
    assert node.credentials["AccessKeyId"] != other.credentials["AccessKeyId"]
    assert node.credentials["Token"] != other.credentials["Token"]
    for one in (node, other):
        assert one.client("sts").get_caller_identity()["Arn"].endswith(f":assumed-role/worker/{one.id}")


def test_what_inline_and_managed_policies_allow_is_answered(node: Node) -> None:
    assert node.client("s3").get_object(Bucket="centavo-1", Key="run/a")["Body"].read() == b"text"
    assert node.client("ec2").describe_instances()["Reservations"]


def test_s3_refuses_with_the_action_and_the_object(node: Node) -> None:
    with pytest.raises(ClientError) as error:
        node.client("s3").get_object(Bucket="payroll", Key="run/a")
    assert refusal(error) == (
        "AccessDenied",
        f"User: arn:aws:sts::{ACCOUNT}:assumed-role/worker/{node.id} is not authorized to perform: s3:GetObject on "
        "resource: arn:aws:s3:::payroll/run/a because no identity-based policy allows the s3:GetObject action",
    )
    with pytest.raises(ClientError, match="s3:PutObject on resource: arn:aws:s3:::centavo-1/run/a"):
        node.client("s3").put_object(Bucket="centavo-1", Key="run/a", Body=b"changed")


def test_ec2_refuses_in_its_own_words(node: Node) -> None:
    with pytest.raises(ClientError) as error:
        node.client("ec2").terminate_instances(InstanceIds=[node.id])
    code, message = refusal(error)
    assert code == "UnauthorizedOperation"
    assert f"ec2:TerminateInstances on resource: arn:aws:ec2:us-east-1:{ACCOUNT}:instance/{node.id}" in message
    assert node.cloud.state(node.id) == "running"


def test_services_with_json_refuse_in_theirs(node: Node) -> None:
    with pytest.raises(ClientError) as error:
        node.client("logs").create_log_stream(logGroupName="/payroll", logStreamName="a")
    code, message = refusal(error)
    assert code == "AccessDeniedException"
    assert "logs:CreateLogStream on resource" in message


def test_a_group_of_the_cluster_is_changed_and_one_of_another_is_not(cloud: LocalCloud, node: Node) -> None:
    tags = [{"Key": "centavo:cluster", "Value": "unit", "PropagateAtLaunch": True}]
    own, other = cloud.group(0, Tags=tags), cloud.group(0)
    groups = node.client("autoscaling")
    groups.set_desired_capacity(AutoScalingGroupName=own, DesiredCapacity=0)
    with pytest.raises(ClientError, match="not authorized to perform: autoscaling:SetDesiredCapacity"):
        groups.set_desired_capacity(AutoScalingGroupName=other, DesiredCapacity=0)


def test_tags_are_put_on_what_belongs_to_the_cluster_only(cloud: LocalCloud, node: Node) -> None:
    tags = [{"Key": "centavo:cluster", "Value": "unit", "PropagateAtLaunch": True}]
    own, other = cloud.group(0, Tags=tags), cloud.group(0)

    def tag(*groups: str) -> None:
        named = {"ResourceType": "auto-scaling-group", "PropagateAtLaunch": True, "Key": "run", "Value": "one"}
        node.client("autoscaling").create_or_update_tags(Tags=[{**named, "ResourceId": group} for group in groups])

    tag(own)
    for groups in ((other,), (own, other)):
        with pytest.raises(ClientError, match="not authorized to perform: autoscaling:CreateOrUpdateTags"):
            tag(*groups)
    run = [{"Key": "run", "Value": "one"}]
    with pytest.raises(ClientError, match="ec2:CreateTags on resource"):
        node.client("ec2").create_tags(Resources=[node.id], Tags=run)
    cloud.ec2.create_tags(Resources=[node.id], Tags=[{"Key": "centavo:cluster", "Value": "unit"}])
    node.client("ec2").create_tags(Resources=[node.id], Tags=run)


def test_a_policy_that_changes_counts_at_once(cloud: LocalCloud) -> None:
    node = Node(cloud, make_profile(cloud, "changing"))
    with pytest.raises(ClientError, match="s3:ListAllMyBuckets"):
        node.client("s3").list_buckets()
    statement = {"Effect": "Allow", "Action": "s3:ListAllMyBuckets", "Resource": "*"}
    iam = cloud.client("iam")
    iam.put_role_policy(RoleName="changing", PolicyName="list", PolicyDocument=policy_text(statement))
    assert node.client("s3").list_buckets()["Buckets"]
    denial = {**statement, "Effect": "Deny"}
    iam.put_role_policy(RoleName="changing", PolicyName="deny", PolicyDocument=policy_text(denial))
    with pytest.raises(ClientError, match="with an explicit deny in an identity-based policy"):
        node.client("s3").list_buckets()


def test_many_objects_are_deleted_only_if_each_may_be(cloud: LocalCloud) -> None:
    s3 = cloud.client("s3")
    s3.create_bucket(Bucket="sweeping")
    for key in ("run/a", "kept"):
        s3.put_object(Bucket="sweeping", Key=key, Body=b"")
    profile = make_profile(cloud, "sweeping", "s3:DeleteObject", Resource="arn:aws:s3:::sweeping/run/*")
    node = Node(cloud, profile).client("s3")
    with pytest.raises(ClientError, match="s3:DeleteObject on resource: arn:aws:s3:::sweeping/kept"):
        node.delete_objects(Bucket="sweeping", Delete={"Objects": [{"Key": "run/a"}, {"Key": "kept"}]})
    node.delete_objects(Bucket="sweeping", Delete={"Objects": [{"Key": "run/a"}]})
    assert [found["Key"] for found in s3.list_objects_v2(Bucket="sweeping")["Contents"]] == ["kept"]


def test_a_bucket_with_a_key_of_kms_needs_the_key_too(cloud: LocalCloud) -> None:
    key = cloud.client("kms").create_key()["KeyMetadata"]["Arn"]
    s3 = cloud.client("s3")
    s3.create_bucket(Bucket="encrypted")
    default = {"ApplyServerSideEncryptionByDefault": {"SSEAlgorithm": "aws:kms", "KMSMasterKeyID": key}}
    s3.put_bucket_encryption(Bucket="encrypted", ServerSideEncryptionConfiguration={"Rules": [default]})
    node = Node(cloud, make_profile(cloud, "writing", "s3:PutObject"))
    with pytest.raises(ClientError, match=f"kms:GenerateDataKey on resource: {key}"):
        node.client("s3").put_object(Bucket="encrypted", Key="a", Body=b"")
    use = policy_text({"Effect": "Allow", "Action": "kms:GenerateDataKey", "Resource": key})
    cloud.client("iam").put_role_policy(RoleName="writing", PolicyName="key", PolicyDocument=use)
    node.client("s3").put_object(Bucket="encrypted", Key="a", Body=b"")


def test_a_presigned_url_of_a_node_is_checked_like_its_requests(node: Node) -> None:
    s3 = node.client("s3")
    allowed = s3.generate_presigned_url("get_object", {"Bucket": "centavo-1", "Key": "run/a"})
    refused = s3.generate_presigned_url("get_object", {"Bucket": "payroll", "Key": "run/a"})
    assert urllib.request.urlopen(allowed).read() == b"text"
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen(refused)


def test_a_user_has_the_policies_of_its_groups(cloud: LocalCloud) -> None:
    iam = cloud.client("iam")
    iam.create_user(UserName="person")
    key = iam.create_access_key(UserName="person")["AccessKey"]
    session = boto3.Session(key["AccessKeyId"], key["SecretAccessKey"], region_name="us-east-1")
    s3 = session.client("s3", endpoint_url=cloud.endpoint)
    with pytest.raises(ClientError, match=f"User: arn:aws:iam::{ACCOUNT}:user/person is not authorized"):
        s3.list_buckets()
    iam.create_group(GroupName="people")
    listing = policy_text({"Effect": "Allow", "Action": "s3:ListAllMyBuckets", "Resource": "*"})
    iam.put_group_policy(GroupName="people", PolicyName="list", PolicyDocument=listing)
    iam.add_user_to_group(GroupName="people", UserName="person")
    assert "Buckets" in s3.list_buckets()
