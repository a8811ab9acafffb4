"""Errors in the words and the formats of AWS's services."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from localcloud.api.wsgi import Body, Environ, StartResponse, action_of, json_answer, xml_answer

EC2_VERSION = "2016-11-15"
FORBIDDEN, UNAVAILABLE, BAD_REQUEST = "403 Forbidden", "503 Service Unavailable", "400 Bad Request"


class ServiceError(Exception):
    """An error in AWS's JSON protocol: a code as the API names it, and a message."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True)
class Codes:
    """The code of an error in the protocols of EC2, of S3, of the other services with XML, and of those with JSON."""

    ec2: str
    s3: str
    query: str
    json: str


@dataclass(frozen=True)
class Asked:
    """A request. `service` is what it was signed for; empty if that is not known."""

    environ: Environ
    body: bytes
    service: str = ""

    @property
    def wants_json(self) -> bool:
        """Whether the service speaks JSON."""
        return bool(self.environ.get("HTTP_X_AMZ_TARGET"))


def answer_error(asked: Asked, start_response: StartResponse, status: str, codes: Codes, message: str) -> Body:
    """Sends an error in the format of the service that was asked. S3's is used if the service cannot be told."""
    query, text = asked.environ.get("QUERY_STRING", ""), escape(message)
    if asked.wants_json:
        document = {"__type": codes.json, "message": message}
        return json_answer(start_response, status, document, "application/x-amz-json-1.1")
    if asked.service == "ec2" or EC2_VERSION in query or EC2_VERSION.encode() in asked.body:
        error = f"<Error><Code>{codes.ec2}</Code><Message>{text}</Message></Error>"
        form = f"<Response><Errors>{error}</Errors><RequestID>localcloud</RequestID></Response>"
    elif action_of(asked.body, query):
        error = f"<Error><Type>Sender</Type><Code>{codes.query}</Code><Message>{text}</Message></Error>"
        form = f"<ErrorResponse>{error}<RequestId>localcloud</RequestId></ErrorResponse>"
    elif asked.environ["REQUEST_METHOD"] == "HEAD":
        form = ""
    else:
        form = f"<Error><Code>{codes.s3}</Code><Message>{text}</Message><RequestId>localcloud</RequestId></Error>"
    return xml_answer(start_response, status, form)
