"""What a request says about its signature: in the header `Authorization`, or in the query of a presigned URL.

https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from urllib.parse import parse_qs

from localcloud.api.refusal import RefusedError, Why
from localcloud.api.wsgi import Environ

ALGORITHM = "AWS4-HMAC-SHA256"
AMZ_DATE = "%Y%m%dT%H%M%SZ"
SCOPE_PARTS = 5


@dataclass(frozen=True)
class Claim:
    """A signature, and what it was made of.

    Attributes:
        expires_s: for how many seconds a presigned URL is valid; None for a signature in the header.
    """

    access_key_id: str
    region: str
    service: str
    timestamp: str
    signed_headers: tuple[str, ...]
    signature: str
    session_token: str | None = None
    expires_s: int | None = None

    @property
    def moment(self) -> datetime:
        """When the request was signed."""
        return datetime.strptime(self.timestamp, AMZ_DATE).replace(tzinfo=timezone.utc)


def claim_of(environ: Environ) -> Claim:
    """Returns what a request says about its signature.

    Raises:
        RefusedError: the request is not signed, or not in this way.
    """
    authorization = environ.get("HTTP_AUTHORIZATION", "")
    query = {name.lower(): values[0] for name, values in parse_qs(environ.get("QUERY_STRING", "")).items()}
    if not authorization and "x-amz-signature" not in query:
        raise RefusedError(
            Why.ANONYMOUS,
            "The request is not signed. `python -m localcloud env` prints the credentials of this cloud.",
        )
    try:
        return _in_query(query) if not authorization else _in_header(authorization, environ)
    except (KeyError, ValueError) as error:
        raise RefusedError(Why.MALFORMED, f"The request is not signed with {ALGORITHM} as AWS asks: {error}.") from None


def _in_header(authorization: str, environ: Environ) -> Claim:
    algorithm, _, rest = authorization.partition(" ")
    if algorithm != ALGORITHM:
        raise ValueError(f"its algorithm is {algorithm}")
    fields = dict(field.strip().partition("=")[::2] for field in rest.split(","))
    date = environ.get("HTTP_X_AMZ_DATE") or _amz_date(environ["HTTP_DATE"])
    token = environ.get("HTTP_X_AMZ_SECURITY_TOKEN")
    return _claim(fields["Credential"], date, fields["SignedHeaders"], fields["Signature"], token)


def _in_query(query: dict[str, str]) -> Claim:
    if query["x-amz-algorithm"] != ALGORITHM:
        raise ValueError(f"its algorithm is {query['x-amz-algorithm']}")
    return _claim(
        query["x-amz-credential"],
        query["x-amz-date"],
        query["x-amz-signedheaders"],
        query["x-amz-signature"],
        query.get("x-amz-security-token"),
        int(query["x-amz-expires"]),
    )


def _claim(
    credential: str, date: str, headers: str, signature: str, token: str | None, expires_s: int | None = None
) -> Claim:
    scope = credential.rsplit("/", SCOPE_PARTS - 1)
    if len(scope) != SCOPE_PARTS or scope[4] != "aws4_request":
        raise ValueError("its credential is not KEY/DATE/REGION/SERVICE/aws4_request")
    datetime.strptime(date, AMZ_DATE)
    if date[:8] != scope[1]:
        raise ValueError("its credential is of another day than its date")
    names = tuple(sorted(headers.lower().split(";")))
    if "host" not in names:
        raise ValueError("its header `host` is not signed")
    return Claim(scope[0], scope[2], scope[3].lower(), date, names, signature, token, expires_s)


def _amz_date(http_date: str) -> str:
    return parsedate_to_datetime(http_date).astimezone(timezone.utc).strftime(AMZ_DATE)
