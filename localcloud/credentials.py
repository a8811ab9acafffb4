"""The secrets of a cloud: it makes them when it starts, and answers nobody who does not have them."""

from __future__ import annotations

import configparser
import io
import secrets
import string
from dataclasses import dataclass
from datetime import datetime

CAPITALS = string.ascii_uppercase + "234567"
USER, CONTROL = "default", "control"


@dataclass(frozen=True)
class Key:
    """An access key of AWS. Only a temporary key has a session token, and an end."""

    access_key_id: str
    secret_access_key: str
    session_token: str | None = None
    ends: datetime | None = None


@dataclass(frozen=True)
class Credentials:
    """All secrets of one cloud.

    Attributes:
        user: the key of the person who started the cloud.
        control_token: what the control API asks for.
    """

    user: Key
    control_token: str

    @classmethod
    def random(cls) -> Credentials:
        """Returns new secrets."""
        return cls(Key(_key_id("AKIA"), secrets.token_urlsafe(30)), secrets.token_urlsafe(30))

    def to_text(self) -> str:
        """Returns a file in which AWS's clients find the user's key (`AWS_SHARED_CREDENTIALS_FILE`)."""
        file = configparser.RawConfigParser()
        file[USER] = {
            "aws_access_key_id": self.user.access_key_id,
            "aws_secret_access_key": self.user.secret_access_key,
        }
        file[CONTROL] = {"localcloud_token": self.control_token}
        text = io.StringIO()
        file.write(text)
        return text.getvalue()

    @classmethod
    def from_text(cls, text: str) -> Credentials:
        """Returns the secrets in a file that `to_text` made.

        Raises:
            ValueError: the file holds something else.
        """
        file = configparser.RawConfigParser()
        try:
            file.read_string(text)
            user = Key(file[USER]["aws_access_key_id"], file[USER]["aws_secret_access_key"])
            return cls(user, file[CONTROL]["localcloud_token"])
        except (configparser.Error, KeyError) as error:
            raise ValueError(f"not a file with localcloud's credentials: {error}") from None


def temporary_key() -> Key:
    """Returns a new key of the kind that ends: it has a session token."""
    return Key(_key_id("ASIA"), secrets.token_urlsafe(30), secrets.token_urlsafe(96))


def _key_id(prefix: str) -> str:
    return prefix + "".join(secrets.choice(CAPITALS) for _ in range(16))
