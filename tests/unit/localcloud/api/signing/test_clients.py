"""What clients with and without credentials get from a running cloud."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import urllib.error
import urllib.request
from typing import Any

import boto3
import pytest
from botocore import UNSIGNED
from botocore.config import Config
from botocore.exceptions import ClientError

from tests.support.local_cloud import LocalCloud, command
from tests.support.roles import make_profile, policy_text


def answer(request: urllib.request.Request | str) -> tuple[int, bytes]:
    """Returns the status and the body of an answer."""
    try:
        with urllib.request.urlopen(request, timeout=60) as found:
            return found.status, found.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def anonymous(cloud: LocalCloud, service: str) -> Any:
    return boto3.client(
        service, endpoint_url=cloud.endpoint, region_name="us-east-1", config=Config(signature_version=UNSIGNED)
    )


def refused(error: pytest.ExceptionInfo[ClientError]) -> tuple[int, str]:
    response = error.value.response
    return response["ResponseMetadata"]["HTTPStatusCode"], response["Error"]["Code"]


def test_nobody_starts_an_instance_without_credentials(cloud: LocalCloud) -> None:
    before = len(cloud.control("status")["instances"])
    with pytest.raises(ClientError) as error:
        anonymous(cloud, "ec2").run_instances(MinCount=1, MaxCount=1, ImageId="ami-12c6146b", UserData="#!/bin/sh\n")
    assert refused(error) == (403, "AuthFailure")
    form = b"Action=RunInstances&ImageId=ami-12c6146b&MinCount=1&MaxCount=1&Version=2016-11-15"
    assert answer(urllib.request.Request(cloud.endpoint, data=form))[0] == 403
    assert len(cloud.control("status")["instances"]) == before


@pytest.mark.parametrize(
    ("service", "call", "arguments", "code"),
    [
        ("s3", "list_buckets", {}, "AccessDenied"),
        ("s3", "head_bucket", {"Bucket": "b"}, "403"),
        ("iam", "list_users", {}, "MissingAuthenticationToken"),
        ("autoscaling", "describe_auto_scaling_groups", {}, "MissingAuthenticationToken"),
        ("ssm", "describe_parameters", {}, "MissingAuthenticationTokenException"),
        ("pricing", "describe_services", {}, "MissingAuthenticationTokenException"),
    ],
)
def test_each_service_refuses_in_its_own_words(
    cloud: LocalCloud, service: str, call: str, arguments: dict[str, str], code: str
) -> None:
    with pytest.raises(ClientError) as error:
        getattr(anonymous(cloud, service), call)(**arguments)
    assert refused(error) == (403, code)


@pytest.mark.parametrize("path", ["/", "/moto-api/", "/moto-api/reset", "/bucket/key", "/_localcloud/../moto-api/"])
def test_no_page_is_open(cloud: LocalCloud, path: str) -> None:
    assert answer(cloud.endpoint + path)[0] == 403


def test_the_credentials_that_everybody_knows_are_not_taken(cloud: LocalCloud) -> None:
    client = boto3.client(
        "ec2", endpoint_url=cloud.endpoint, region_name="us-east-1",
        aws_access_key_id="test", aws_secret_access_key="test",
    )  # fmt: skip
    with pytest.raises(ClientError) as error:
        client.describe_instances()
    assert refused(error) == (403, "AuthFailure")
    assert "localcloud env" in str(error.value)


def test_objects_of_all_spellings_and_sizes_are_stored_with_every_way_of_signing(cloud: LocalCloud) -> None:
    for index, settings in enumerate([{}, {"payload_signing_enabled": False}, {"addressing_style": "path"}]):
        s3 = cloud.client("s3", s3=settings)
        bucket = f"spellings-{index}"
        s3.create_bucket(Bucket=bucket)
        for key in ("plain", "a b+c/ä//&=?.txt", "~%2F%"):
            body = key.encode() * 100_000
            s3.put_object(Bucket=bucket, Key=key, Body=body, ChecksumAlgorithm="SHA256")
            assert s3.get_object(Bucket=bucket, Key=key)["Body"].read() == body
        assert len(s3.list_objects_v2(Bucket=bucket, Prefix="", MaxKeys=10)["Contents"]) == 3
        s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})


def test_a_presigned_url_works_for_its_object_alone(cloud: LocalCloud) -> None:
    s3 = cloud.client("s3", signature_version="s3v4")
    s3.create_bucket(Bucket="presigned")
    place = {"Bucket": "presigned", "Key": "a b"}
    put = s3.generate_presigned_url("put_object", place)
    kind = {"Content-Type": "text/plain"}
    assert answer(urllib.request.Request(put, data=b"text", headers=kind, method="PUT"))[0] == 200
    get = s3.generate_presigned_url("get_object", place)
    assert answer(get) == (200, b"text")
    assert answer(get.replace("a%20b", "other"))[0] == 403
    assert answer(get.partition("?")[0])[0] == 403


def test_curl_works_with_what_env_prints(cloud: LocalCloud) -> None:
    printed = command("env", state_dir=cloud.state_dir).stdout
    script = f"""{printed}
        curl -sS --fail --aws-sigv4 aws:amz:us-east-1:ec2 --user "$AWS_ACCESS_KEY_ID:$AWS_SECRET_ACCESS_KEY" \
            -d 'Action=DescribeInstances&Version=2016-11-15' "$AWS_ENDPOINT_URL" | head -c 100
        curl -sS --fail -H "Authorization: Bearer $LOCALCLOUD_TOKEN" "$AWS_ENDPOINT_URL/_localcloud/status" | head -c 12
    """
    found = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=120, check=False)
    assert found.stderr == ""
    assert "DescribeInstancesResponse" in found.stdout
    assert '{"endpoint":' in found.stdout


def test_keys_that_iam_and_sts_have_made_are_keys_too(cloud: LocalCloud) -> None:
    iam = cloud.client("iam")
    iam.create_user(UserName="ci")
    assume = policy_text({"Effect": "Allow", "Action": "sts:AssumeRole", "Resource": "*"})
    iam.put_user_policy(UserName="ci", PolicyName="assume", PolicyDocument=assume)
    made = iam.create_access_key(UserName="ci")["AccessKey"]
    iam.create_role(RoleName="deploy", AssumeRolePolicyDocument="{}")
    arn = iam.get_role(RoleName="deploy")["Role"]["Arn"]
    session = boto3.Session(made["AccessKeyId"], made["SecretAccessKey"], region_name="us-east-1")
    sts = session.client("sts", endpoint_url=cloud.endpoint)
    assumed = sts.assume_role(RoleArn=arn, RoleSessionName="ci")["Credentials"]
    role = boto3.Session(
        assumed["AccessKeyId"], assumed["SecretAccessKey"], assumed["SessionToken"], region_name="us-east-1"
    )
    assert "deploy" in role.client("sts", endpoint_url=cloud.endpoint).get_caller_identity()["Arn"]
    iam.delete_access_key(UserName="ci", AccessKeyId=made["AccessKeyId"])
    with pytest.raises(ClientError, match="InvalidClientTokenId"):
        sts.get_caller_identity()


def test_an_instance_with_a_role_has_credentials_and_another_has_none(cloud: LocalCloud) -> None:
    script = (
        "python3 -c \"import boto3; print(boto3.client('s3').list_buckets()['ResponseMetadata']['HTTPStatusCode'])\""
    )
    with_role = cloud.ready(
        cloud.run(IamInstanceProfile={"Name": make_profile(cloud, "storing", "s3:ListAllMyBuckets")})
    )
    assert cloud.ssh(with_role, script).stdout == "200\n"
    without = cloud.ready(cloud.run())
    assert "NoCredentialsError" in cloud.ssh(without, script).stderr


def test_the_control_api_asks_for_its_token(cloud: LocalCloud) -> None:
    url = f"{cloud.endpoint}/_localcloud/status"
    status, body = answer(url)
    assert status == 403
    assert "localcloud env" in json.loads(body)["error"]
    wrong = urllib.request.Request(url, headers={"Authorization": "Bearer guessed"})
    assert answer(wrong)[0] == 403
    shutdown = urllib.request.Request(f"{cloud.endpoint}/_localcloud/shutdown", data=b"{}")
    assert answer(shutdown)[0] == 403
    assert cloud.control("status")["instances"] is not None


def test_the_secrets_belong_to_their_owner_alone(cloud: LocalCloud) -> None:
    mode = (cloud.state_dir / "credentials").stat().st_mode
    assert stat.S_IMODE(mode) == 0o600
    secrets = [cloud.credentials.user.secret_access_key, cloud.credentials.control_token]
    readable = [path for path in cloud.state_dir.rglob("*") if path.is_file() and path.stat().st_mode & 0o077]
    assert not [path for path in readable for secret in secrets if secret.encode() in path.read_bytes()]
    command_lines = b"".join(_read(f"/proc/{pid}/cmdline") for pid in os.listdir("/proc") if pid.isdigit())
    assert not [secret for secret in secrets if secret.encode() in command_lines]


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""
