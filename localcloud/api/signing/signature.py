"""Checking the signature of a request. botocore, which signs requests, computes the signature that it should have."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any
from urllib.parse import parse_qsl

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.compat import HTTPHeaders
from botocore.credentials import Credentials as SigningKey

from localcloud.api.refusal import RefusedError, Why
from localcloud.api.signing.claim import Claim, claim_of
from localcloud.api.wsgi import Environ, header_of
from localcloud.credentials import Key

SKEW = timedelta(minutes=15)
LONGEST_EXPIRY_S = 7 * 24 * 3600
S3 = "s3"
PAYLOAD_HEADER = "x-amz-content-sha256"
UNSIGNED = "UNSIGNED-PAYLOAD"
SHA256 = re.compile("[0-9a-f]{64}")


class Signatures:
    """Lets requests pass that are signed with a key that `find_key` knows by its id.

    The signature of a request in chunks (`STREAMING-…`) covers its head. The signatures of its chunks are not checked:
    nobody but the sender can change them, because requests do not leave this machine.
    """

    def __init__(self, find_key: Callable[[str], Key | None]) -> None:
        self._find_key = find_key

    def check(self, environ: Environ, body: bytes, now: datetime | None = None) -> Claim:
        """Returns what a request says about its signature, which is right.

        Raises:
            RefusedError: the request is not signed, or not with a key of this cloud, or not for this time.
        """
        claim = claim_of(environ)
        key = self._find_key(claim.access_key_id)
        if key is None:
            raise RefusedError(
                Why.UNKNOWN_KEY,
                f"The access key {claim.access_key_id} is not one of this cloud. A cloud makes new ones whenever it "
                "starts: `python -m localcloud env` prints them.",
                claim.service,
            )
        moment = now or datetime.now(timezone.utc)
        _check_time(claim, moment)
        if not hmac.compare_digest(claim.session_token or "", key.session_token or ""):
            raise RefusedError(Why.WRONG_TOKEN, "The session token does not belong to the access key.", claim.service)
        if key.ends is not None and key.ends <= moment:
            raise RefusedError(
                Why.ENDED_KEY,
                f"The security token included in the request is expired: it was valid until {key.ends:%FT%TZ}. "
                "The metadata service of the instance has a new one.",
                claim.service,
            )
        if not hmac.compare_digest(_signature(claim, key, environ, body), claim.signature):
            raise RefusedError(
                Why.WRONG_SIGNATURE,
                "The signature is not that of this request: check the secret access key, and that nothing between "
                "client and cloud changes the request.",
                claim.service,
            )
        _check_payload(claim, environ, body)
        return claim


def _check_time(claim: Claim, now: datetime) -> None:
    age = now - claim.moment
    if claim.expires_s is None:
        if abs(age) > SKEW:
            raise RefusedError(
                Why.WRONG_TIME,
                f"The request was signed at {claim.timestamp}, more than {SKEW.seconds // 60} minutes from now.",
                claim.service,
            )
    elif not 0 < claim.expires_s <= LONGEST_EXPIRY_S or not -SKEW <= age <= timedelta(seconds=claim.expires_s):
        raise RefusedError(Why.EXPIRED, "Request has expired", claim.service)


def _check_payload(claim: Claim, environ: Environ, body: bytes) -> None:
    """Checks the body of a request to S3 against its signed digest. Other signatures cover the body."""
    declared = header_of(environ, PAYLOAD_HEADER) or ""
    if claim.service == S3 and SHA256.fullmatch(declared) and hashlib.sha256(body).hexdigest() != declared:
        raise RefusedError(Why.WRONG_PAYLOAD, "The body is not the one that was signed.", claim.service)


def _signature(claim: Claim, key: Key, environ: Environ, body: bytes) -> str:
    """Returns the signature that a request should have."""
    headers = HTTPHeaders()
    for name in claim.signed_headers:
        headers[name] = header_of(environ, name) or ""
    path, _, query = environ["RAW_URI"].partition("?")
    request = AWSRequest(
        method=environ["REQUEST_METHOD"],
        url=f"http://{environ.get('HTTP_HOST', '')}{path}",
        headers=headers,
        params=[pair for pair in parse_qsl(query, keep_blank_values=True) if pair[0].lower() != "x-amz-signature"],
    )
    request.context.update(timestamp=claim.timestamp, payload=_payload(claim, environ, body))
    signer = (_S3Signer if claim.service == S3 else _Signer)(
        SigningKey(key.access_key_id, key.secret_access_key), claim.service, claim.region
    )
    return str(signer.signature(signer.string_to_sign(request, signer.canonical_request(request)), request))


def _payload(claim: Claim, environ: Environ, body: bytes) -> str:
    """Returns what stands for the body in the signature."""
    if claim.service == S3:
        declared = header_of(environ, PAYLOAD_HEADER)
        if claim.expires_s is not None:
            return declared if declared and PAYLOAD_HEADER in claim.signed_headers else UNSIGNED
        if declared:
            return declared
    return hashlib.sha256(body).hexdigest()


class _Signer(SigV4Auth):  # type: ignore[misc]  # botocore has no types
    def headers_to_sign(self, request: Any) -> Any:
        """Returns the headers that the sender signed, and not those that botocore would sign."""
        return request.headers

    def canonical_request(self, request: Any) -> str:
        """Returns the canonical request, with the digest of the body that is in the context."""
        *head, _ = super().canonical_request(request).split("\n")
        return "\n".join([*head, request.context["payload"]])


class _S3Signer(_Signer):
    def _normalize_url_path(self, path: str) -> str:
        return path
