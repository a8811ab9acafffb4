"""User data: the scripts that an instance runs at its first boot and at each boot, as cloud-init does.

User data is one script, or a MIME message of several parts. Of cloud-init's kinds of parts there are two:
`text/x-shellscript`, for the first boot only, and `text/x-shellscript-per-boot`, which is run before the others
(`cloud_final_modules` in cloud-init's cloud.cfg).
https://cloudinit.readthedocs.io/en/latest/explanation/format.html
"""

from __future__ import annotations

import asyncio
import email
import email.message
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from localcloud.link.instance_dir import InstanceDir

NONE = "none"
FIRST_BOOT = "text/x-shellscript"
EVERY_BOOT = "text/x-shellscript-per-boot"


@dataclass(frozen=True)
class Part:
    """One part of user data. `kind` is its MIME type."""

    kind: str
    text: str

    @property
    def is_script(self) -> bool:
        """Whether the part is of a kind that is run."""
        return self.kind in (FIRST_BOOT, EVERY_BOOT) and self.text.startswith("#!")


async def run_user_data(
    text: str | None, directory: InstanceDir, environment: Mapping[str, str], tell: Callable[[str], None]
) -> None:
    """Runs the scripts of the user data that this boot is for. Their output goes to the console.

    Args:
        text: the user data; None if the instance has none.
        directory: the files of the instance.
        environment: the environment of the scripts.
        tell: takes each change: `running`, then `done` or `failed (exit N)`; or `ignored`.
    """
    is_first_boot = not directory.booted.exists()
    if not text:
        return
    directory.booted.touch()
    due = [part for part in parts_of(text) if is_first_boot or part.kind == EVERY_BOOT]
    due.sort(key=lambda part: part.kind != EVERY_BOOT)
    with directory.console.open("ab") as console:
        if any(not part.is_script for part in due):
            console.write(b"a part of the user data is no script that begins with #!, so it is not run\n")
        scripts = [part for part in due if part.is_script]
        if not scripts:
            if due:
                tell("ignored")
            return
        tell("running")
        failures = [status async for status in _statuses(scripts, directory, environment, console.fileno()) if status]
        ended = f"failed (exit {failures[0]})" if failures else "done"
        console.write(f"user data {ended}\n".encode())
    tell(ended)


def parts_of(text: str) -> list[Part]:
    """Returns the parts of user data. Text that is no MIME message is one part: a script for the first boot."""
    if not text.lstrip().lower().startswith(("mime-version:", "content-type:")):
        return [Part(FIRST_BOOT, text)]
    message = email.message_from_bytes(text.lstrip().encode())
    return [Part(part.get_content_type(), _content(part)) for part in message.walk() if not part.is_multipart()]


def _content(part: email.message.Message) -> str:
    content = part.get_payload(decode=True)
    return content.decode("utf-8", "replace") if isinstance(content, bytes) else ""


async def _statuses(
    scripts: list[Part], directory: InstanceDir, environment: Mapping[str, str], console: int
) -> AsyncIterator[int]:
    for script in scripts:
        directory.user_data.write_text(script.text)
        directory.user_data.chmod(0o700)
        yield await _run_script(directory.user_data, directory.home, environment, console)


async def _run_script(script: Path, home: Path, environment: Mapping[str, str], console: int) -> int:
    child = await asyncio.create_subprocess_exec(
        "/bin/bash", str(script), cwd=home, env=environment, start_new_session=True,
        stdin=asyncio.subprocess.DEVNULL, stdout=console, stderr=console,
    )  # fmt: skip
    return await child.wait()
