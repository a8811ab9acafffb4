"""User data: the script that an instance runs at its first boot, as cloud-init does."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path

from localcloud.link.instance_dir import InstanceDir

NONE = "none"


async def run_user_data(
    text: str | None, directory: InstanceDir, environment: Mapping[str, str], tell: Callable[[str], None]
) -> None:
    """Runs the user data at the first boot only. Its output goes to the instance's console.

    Args:
        text: the user data; None if the instance has none.
        directory: the files of the instance.
        environment: the environment of the script.
        tell: takes each change: `running`, then `done` or `failed (exit N)`; or `ignored`.
    """
    if directory.booted.exists() or not text:
        return
    directory.booted.touch()
    directory.user_data.write_text(text)
    directory.user_data.chmod(0o700)
    with directory.console.open("ab") as console:
        if not text.startswith("#!"):
            console.write(b"the user data does not begin with #!, so it is not run\n")
            tell("ignored")
            return
        tell("running")
        status = await _run_script(directory.user_data, directory.home, environment, console.fileno())
        console.write(f"user data ended with exit status {status}\n".encode())
    tell("done" if status == 0 else f"failed (exit {status})")


async def _run_script(script: Path, home: Path, environment: Mapping[str, str], console: int) -> int:
    child = await asyncio.create_subprocess_exec(
        "/bin/bash", str(script), cwd=home, env=environment, start_new_session=True,
        stdin=asyncio.subprocess.DEVNULL, stdout=console, stderr=console,
    )  # fmt: skip
    return await child.wait()
