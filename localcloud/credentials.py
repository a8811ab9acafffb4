"""The secrets of a cloud: it makes them when it starts, and answers nobody who does not have them."""

from __future__ import annotations

import configparser
import io
import secrets
import string
from dataclasses import dataclass

CAPITALS = string.ascii_uppercase + "234567"
USER, ROLE, CONTROL = "default", "role", "control"


@dataclass(frozen=True)
class Key:
    """An access key of AWS. Only a temporary key has a session token."""

    access_key_id: str
    secret_access_key: str
    session_token: str | None = None


@dataclass(frozen=True)
class Credentials:
    """All secrets of one cloud.

    Attributes:
        user: the key of the person who started the cloud.
        role: the temporary key that the metadata service gives to instances with a role.
        control_token: what the control API asks for.
    """

    user: Key
    role: Key
    control_token: str

    @classmethod
    def random(cls) -> Credentials:
        """Returns new secrets."""
        user = Key(_key_id("AKIA"), secrets.token_urlsafe(30))
        role = Key(_key_id("ASIA"), secrets.token_urlsafe(30), secrets.token_urlsafe(96))
        return cls(user, role, secrets.token_urlsafe(30))

    def to_text(self) -> str:
        """Returns a file in which AWS's clients find the user's key (`AWS_SHARED_CREDENTIALS_FILE`)."""
        file = configparser.RawConfigParser()
        for section, key in ((USER, self.user), (ROLE, self.role)):
            file[section] = {"aws_access_key_id": key.access_key_id, "aws_secret_access_key": key.secret_access_key}
        assert self.role.session_token
        file[ROLE]["aws_session_token"] = self.role.session_token
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
            user, role = (_key(file[section]) for section in (USER, ROLE))
            return cls(user, role, file[CONTROL]["localcloud_token"])
        except (configparser.Error, KeyError) as error:
            raise ValueError(f"not a file with localcloud's credentials: {error}") from None


def _key(section: configparser.SectionProxy) -> Key:
    return Key(section["aws_access_key_id"], section["aws_secret_access_key"], section.get("aws_session_token"))


def _key_id(prefix: str) -> str:
    return prefix + "".join(secrets.choice(CAPITALS) for _ in range(16))
