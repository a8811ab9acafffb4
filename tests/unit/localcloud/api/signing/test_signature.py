"""Which requests pass: those that botocore signs with a key of the cloud, for now, and unchanged."""

from __future__ import annotations

import io
from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from typing import Any, ClassVar
from urllib.parse import urlsplit

import pytest
from botocore.auth import S3SigV4Auth, S3SigV4QueryAuth, SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials as SigningKey

from localcloud.api.refusal import RefusedError, Why
from localcloud.api.signing.signature import Signatures
from localcloud.credentials import Key

KEY = Key("AKIAUSER", "secret")
ROLE = Key("ASIAROLE", "secret of the role", "token")
FORM = {"Content-Type": "application/x-www-form-urlencoded; charset=utf-8"}
URL = "http://127.0.0.1:5590"


def find(access_key_id: str) -> Key | None:
    return {KEY.access_key_id: KEY, ROLE.access_key_id: ROLE}.get(access_key_id)


def signed(
    signer: type[SigV4Auth] = SigV4Auth,
    key: Key = KEY,
    service: str = "ec2",
    method: str = "POST",
    path: str = "/",
    body: bytes = b"Action=RunInstances",
    headers: Mapping[str, str] = FORM,
    **context: Any,
) -> dict[str, Any]:
    """Returns a request that botocore has signed, as the server gets it."""
    request = AWSRequest(method, URL + path, dict(headers), data=body)
    request.context.update(context)
    signer(SigningKey(key.access_key_id, key.secret_access_key, key.session_token), service, "us-east-1").add_auth(
        request
    )
    parts = urlsplit(request.url)
    sent = {name.upper().replace("-", "_"): value for name, value in request.headers.items()}
    plain = ("CONTENT_TYPE", "CONTENT_LENGTH")
    return {
        "REQUEST_METHOD": method,
        "RAW_URI": parts.path + (f"?{parts.query}" if parts.query else ""),
        "QUERY_STRING": parts.query,
        "HTTP_HOST": parts.netloc,
        "wsgi.input": io.BytesIO(body),
        **{name if name in plain else f"HTTP_{name}": value for name, value in sent.items()},
    }


def check(environ: dict[str, Any], body: bytes = b"Action=RunInstances", now: datetime | None = None) -> str:
    return Signatures(find).check(environ, body, now).service


def why(environ: dict[str, Any], body: bytes = b"Action=RunInstances", now: datetime | None = None) -> Why:
    with pytest.raises(RefusedError) as refusal:
        check(environ, body, now)
    return refusal.value.why


def from_now(**delta: float) -> datetime:
    return datetime.now(timezone.utc) + timedelta(**delta)


@pytest.mark.parametrize("key", [KEY, ROLE])
def test_a_signed_request_passes_and_tells_its_service(key: Key) -> None:
    assert check(signed(key=key)) == "ec2"
    assert check(signed(S3SigV4Auth, key, "s3", "PUT", "/bucket/a%20b%2B%C3%A4//c", b"data", {}), b"data") == "s3"


@pytest.mark.parametrize("path", ["/a%3Ab/../c%20d/", "/?b=2&a=1&a=%2B%20%3D&empty=&flag", "/%7Euser"])
def test_paths_and_queries_pass_in_any_order_and_spelling(path: str) -> None:
    assert check(signed(service="lambda", method="GET", path=path, body=b"", headers={}), b"") == "lambda"
    assert check(signed(S3SigV4Auth, service="s3", method="GET", path=path, body=b"", headers={}), b"") == "s3"


def test_a_date_of_http_stands_for_amazons() -> None:
    assert check(signed(headers={**FORM, "Date": "x"})) == "ec2"


def test_a_payload_that_is_not_signed_passes_at_s3() -> None:
    environ = signed(S3SigV4Auth, service="s3", method="PUT", body=b"1", client_config=Unsigned())
    assert environ["HTTP_X_AMZ_CONTENT_SHA256"] == "UNSIGNED-PAYLOAD"
    assert check(environ, b"anything") == "s3"


def test_a_payload_in_chunks_passes_at_s3() -> None:
    streaming = {"checksum": {"request_algorithm": {"in": "trailer", "algorithm": "crc32", "name": "x"}}}
    environ = signed(S3SigV4Auth, service="s3", method="PUT", body=b"1", **streaming)
    assert environ["HTTP_X_AMZ_CONTENT_SHA256"] == "STREAMING-UNSIGNED-PAYLOAD-TRAILER"
    assert check(environ, b"1;chunk") == "s3"


class Unsigned:
    """botocore's configuration of a client that does not sign bodies."""

    s3: ClassVar = {"payload_signing_enabled": False}


def test_a_presigned_url_passes_until_it_expires() -> None:
    environ = signed(S3SigV4QueryAuth, ROLE, "s3", "GET", "/bucket/key", b"", {})
    assert check(environ, b"") == "s3"
    assert check(environ, b"", from_now(minutes=59)) == "s3"
    assert why(environ, b"", from_now(minutes=61)) == Why.EXPIRED
    assert why(environ, b"", from_now(minutes=-16)) == Why.EXPIRED


@pytest.mark.parametrize("minutes", [-16, 16])
def test_a_request_of_another_time_is_refused(minutes: int) -> None:
    assert why(signed(), now=from_now(minutes=minutes)) == Why.WRONG_TIME
    assert check(signed(), now=from_now(minutes=minutes / 2)) == "ec2"


@pytest.mark.parametrize(
    "change",
    [
        {"REQUEST_METHOD": "GET"},
        {"RAW_URI": "/other"},
        {"RAW_URI": "/?Action=TerminateInstances"},
        {"HTTP_HOST": "attacker.example"},
        {"CONTENT_TYPE": "text/plain"},
    ],
)
def test_a_request_that_was_changed_is_refused(change: dict[str, str]) -> None:
    assert why({**signed(), **change}) == Why.WRONG_SIGNATURE


def test_a_body_that_was_changed_is_refused() -> None:
    assert why(signed(), b"Action=TerminateInstances") == Why.WRONG_SIGNATURE
    environ = signed(S3SigV4Auth, service="s3", method="PUT", body=b"data", headers={})
    assert why(environ, b"tada") == Why.WRONG_PAYLOAD


def test_only_s3_takes_bodies_that_are_not_signed() -> None:
    environ = signed(headers={**FORM, "X-Amz-Content-SHA256": "UNSIGNED-PAYLOAD"})
    assert why(environ) == Why.WRONG_SIGNATURE


def test_a_wrong_secret_a_wrong_token_and_an_unknown_key_are_refused() -> None:
    assert why(signed(key=Key(KEY.access_key_id, "guessed"))) == Why.WRONG_SIGNATURE
    assert why(signed(key=Key("test", "test"))) == Why.UNKNOWN_KEY
    assert why(signed(key=Key(ROLE.access_key_id, ROLE.secret_access_key, "other"))) == Why.WRONG_TOKEN
    assert why(signed(key=Key(ROLE.access_key_id, ROLE.secret_access_key))) == Why.WRONG_TOKEN
    assert why(signed(key=Key(KEY.access_key_id, KEY.secret_access_key, "of another account"))) == Why.WRONG_TOKEN


def test_a_request_without_a_signature_is_anonymous() -> None:
    environ = signed()
    del environ["HTTP_AUTHORIZATION"]
    assert why(environ) == Why.ANONYMOUS


@pytest.mark.parametrize(
    "authorization",
    [
        "AWS AKIAUSER:signature",
        "Basic dGVzdDp0ZXN0",
        "AWS4-HMAC-SHA256 Credential=AKIAUSER",
        "AWS4-HMAC-SHA256 Credential=a/b, SignedHeaders=host, Signature=c",
        "AWS4-HMAC-SHA256 Credential=AKIAUSER/20200101/us-east-1/ec2/aws4_request, SignedHeaders=host, Signature=c",
        "AWS4-HMAC-SHA256",
        "AWS4-HMAC-SHA256 \u00e9",
    ],
)
def test_another_kind_of_signature_is_refused_and_not_a_crash(authorization: str) -> None:
    assert why({**signed(), "HTTP_AUTHORIZATION": authorization}) == Why.MALFORMED


def test_a_signature_that_leaves_the_host_out_is_refused() -> None:
    environ = signed()
    environ["HTTP_AUTHORIZATION"] = environ["HTTP_AUTHORIZATION"].replace(";host", "")
    assert why(environ) == Why.MALFORMED
