"""Requests that are refused for their signature, and how each service of AWS words that."""

from __future__ import annotations

from enum import Enum
from html import escape

from localcloud.api.wsgi import Body, Environ, StartResponse, action_of, json_answer, xml_answer

EC2_VERSION = "2016-11-15"


class Why(Enum):
    """Why a request is refused: the code of the error in the protocols of EC2, S3, AWS Query and AWS JSON."""

    ANONYMOUS = ("AuthFailure", "AccessDenied", "MissingAuthenticationToken", "MissingAuthenticationTokenException")
    MALFORMED = ("AuthFailure", "AuthorizationHeaderMalformed", "IncompleteSignature", "IncompleteSignatureException")
    UNKNOWN_KEY = ("AuthFailure", "InvalidAccessKeyId", "InvalidClientTokenId", "UnrecognizedClientException")
    WRONG_TOKEN = ("AuthFailure", "InvalidToken", "InvalidClientTokenId", "UnrecognizedClientException")
    WRONG_SIGNATURE = (
        "SignatureDoesNotMatch",
        "SignatureDoesNotMatch",
        "SignatureDoesNotMatch",
        "InvalidSignatureException",
    )
    WRONG_TIME = ("RequestExpired", "RequestTimeTooSkewed", "SignatureDoesNotMatch", "InvalidSignatureException")
    EXPIRED = ("RequestExpired", "AccessDenied", "SignatureDoesNotMatch", "InvalidSignatureException")
    WRONG_PAYLOAD = (
        "SignatureDoesNotMatch",
        "XAmzContentSHA256Mismatch",
        "SignatureDoesNotMatch",
        "InvalidSignatureException",
    )

    def __init__(self, ec2: str, s3: str, query: str, json: str) -> None:
        self.ec2, self.s3, self.query, self.json = ec2, s3, query, json


class RefusedError(Exception):
    """A request is not answered. The message says what to do about it."""

    def __init__(self, why: Why, message: str, service: str = "") -> None:
        super().__init__(message)
        self.why = why
        self.service = service


def answer_refusal(error: RefusedError, environ: Environ, body: bytes, start_response: StartResponse) -> Body:
    """Sends a refusal in the format of the service that was asked. S3's is used if the service cannot be told."""
    why, message = error.why, str(error)
    status = "403 Forbidden"
    if environ.get("HTTP_X_AMZ_TARGET"):
        document = {"__type": why.json, "message": message}
        return json_answer(start_response, status, document, "application/x-amz-json-1.1")
    query = environ.get("QUERY_STRING", "")
    if error.service == "ec2" or EC2_VERSION in query or EC2_VERSION.encode() in body:
        return xml_answer(start_response, status, _ec2(why.ec2, message))
    if action_of(body, query):
        return xml_answer(start_response, status, _query(why.query, message))
    text = _s3(why.s3, message) if environ["REQUEST_METHOD"] != "HEAD" else ""
    return xml_answer(start_response, status, text)


def _ec2(code: str, message: str) -> str:
    error = f"<Error><Code>{code}</Code><Message>{escape(message)}</Message></Error>"
    return f"<Response><Errors>{error}</Errors><RequestID>localcloud</RequestID></Response>"


def _query(code: str, message: str) -> str:
    error = f"<Error><Type>Sender</Type><Code>{code}</Code><Message>{escape(message)}</Message></Error>"
    return f"<ErrorResponse>{error}<RequestId>localcloud</RequestId></ErrorResponse>"


def _s3(code: str, message: str) -> str:
    return f"<Error><Code>{code}</Code><Message>{escape(message)}</Message><RequestId>localcloud</RequestId></Error>"
