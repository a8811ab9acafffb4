"""Answers of Lambda that Terraform reads."""

from __future__ import annotations

import io
import zipfile

import boto3
from moto import mock_aws

from localcloud.api.patches.corrections.functions import tell_where_functions_log


@mock_aws
def test_a_function_tells_where_it_logs() -> None:
    tell_where_functions_log()
    keys = {"region_name": "us-east-1", "aws_access_key_id": "test", "aws_secret_access_key": "test"}
    iam, functions = boto3.client("iam", **keys), boto3.client("lambda", **keys)
    role = iam.create_role(RoleName="function", AssumeRolePolicyDocument="{}")["Role"]["Arn"]
    code = io.BytesIO()
    with zipfile.ZipFile(code, "w") as archive:
        archive.writestr("code.py", "")
    wanted = {"LogFormat": "Text", "LogGroup": "/centavo/unit/reaper"}
    functions.create_function(
        FunctionName="reaper", Runtime="python3.11", Role=role, Handler="code.handler",
        Code={"ZipFile": code.getvalue()}, LoggingConfig=wanted,
    )  # fmt: skip
    assert functions.get_function(FunctionName="reaper")["Configuration"]["LoggingConfig"] == wanted
    other = {"LogFormat": "Text", "LogGroup": "/centavo/unit/other"}
    functions.update_function_configuration(FunctionName="reaper", LoggingConfig=other)
    assert functions.get_function_configuration(FunctionName="reaper")["LoggingConfig"] == other
