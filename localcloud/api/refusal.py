"""Why requests are refused: for their signature, or because policies do not allow them."""

from __future__ import annotations

from enum import Enum

from localcloud.api.errors import Codes

MISMATCH, JSON_MISMATCH = "SignatureDoesNotMatch", "InvalidSignatureException"


class Why(Enum):
    """Why a request is refused, with the code of the error that AWS answers with."""

    ANONYMOUS = Codes(
        "AuthFailure", "AccessDenied", "MissingAuthenticationToken", "MissingAuthenticationTokenException"
    )
    MALFORMED = Codes(
        "AuthFailure", "AuthorizationHeaderMalformed", "IncompleteSignature", "IncompleteSignatureException"
    )
    UNKNOWN_KEY = Codes("AuthFailure", "InvalidAccessKeyId", "InvalidClientTokenId", "UnrecognizedClientException")
    WRONG_TOKEN = Codes("AuthFailure", "InvalidToken", "InvalidClientTokenId", "InvalidClientTokenException")
    WRONG_SIGNATURE = Codes(MISMATCH, MISMATCH, MISMATCH, JSON_MISMATCH)
    WRONG_TIME = Codes("RequestExpired", "RequestTimeTooSkewed", MISMATCH, JSON_MISMATCH)
    ENDED_KEY = Codes("RequestExpired", "ExpiredToken", "ExpiredToken", "ExpiredTokenException")
    EXPIRED = Codes("RequestExpired", "AccessDenied", "RequestExpired", JSON_MISMATCH)
    NOT_ALLOWED = Codes("UnauthorizedOperation", "AccessDenied", "AccessDenied", "AccessDeniedException")
    WRONG_PAYLOAD = Codes(MISMATCH, "XAmzContentSHA256Mismatch", MISMATCH, JSON_MISMATCH)


class RefusedError(Exception):
    """A request is not answered. The message says what to do about it."""

    def __init__(self, why: Why, message: str, service: str = "") -> None:
        super().__init__(message)
        self.why = why
        self.service = service
