"""Drives a headless Chromium over its DevTools protocol (https://chromedevtools.github.io/devtools-protocol/).

aiohttp, which localcloud's servers use, speaks WebSocket. So the tests need neither a driver nor a further package.
"""

from __future__ import annotations

import asyncio
import base64
import json
import subprocess
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import aiohttp

START_S = 60
ANSWER_S = 60
Result = TypeVar("Result")


class Page:
    """A tab. It keeps what the page logs and what the page asks the network for."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket, self._number = socket, 0
        self.errors: list[str] = []
        self.requests: list[str] = []
        self._events: list[str] = []

    async def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Sends one command and returns its result."""
        self._number += 1
        await self._socket.send_json({"id": self._number, "method": method, "params": parameters})
        while True:
            message = await asyncio.wait_for(self._socket.receive_json(), ANSWER_S)
            if message.get("id") == self._number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return dict(message["result"])
            self._note(message)

    async def open(
        self, file: Path, *, width: int = 1280, height: int = 900, dark: bool = False, media: str = "screen"
    ) -> None:
        """Loads a file at a width and in a colour scheme, and waits until the page is complete."""
        for domain in ("Page", "Runtime", "Log", "Network"):
            await self.call(f"{domain}.enable")
        await self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        await self.call(
            "Emulation.setEmulatedMedia",
            media=media,
            features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}],
        )
        await self.call("Page.navigate", url=file.as_uri())
        await self.until("document.readyState === 'complete'")

    async def until(self, condition: str) -> None:
        """Waits until an expression is true in the page."""

        async def holds() -> None:
            while not await self.value(condition):
                await asyncio.sleep(0.05)

        await asyncio.wait_for(holds(), ANSWER_S)

    async def value(self, expression: str) -> Any:
        """Returns the value of an expression in the page."""
        result = await self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    async def screenshot(self, file: Path, *, whole: bool = True) -> None:
        """Writes a picture of the page, as PNG."""
        shot = await self.call("Page.captureScreenshot", captureBeyondViewport=whole)
        file.write_bytes(base64.b64decode(shot["data"]))

    async def pdf(self) -> bytes:
        """Returns the page as a PDF, as it would be printed."""
        return base64.b64decode((await self.call("Page.printToPDF"))["data"])

    def _note(self, message: dict[str, Any]) -> None:
        method, parameters = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.errors.append(str(parameters["exceptionDetails"].get("exception", parameters["exceptionDetails"])))
        elif method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning", "assert"):
            self.errors.append(str([argument.get("value") for argument in parameters["args"]]))
        elif method == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
            self.errors.append(parameters["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])


class Browser:
    """A running browser."""

    def __init__(self, port: int) -> None:
        self._port = port

    def visit(self, act: Callable[[Page], Awaitable[Result]]) -> Result:
        """Opens a tab, acts in it, and closes it."""
        return asyncio.run(self._visit(act))

    async def _visit(self, act: Callable[[Page], Awaitable[Result]]) -> Result:
        base = f"http://127.0.0.1:{self._port}/json"
        async with aiohttp.ClientSession() as session:
            async with session.put(f"{base}/new?about:blank") as answer:
                tab = await answer.json()
            async with session.ws_connect(tab["webSocketDebuggerUrl"], max_msg_size=0) as socket:
                result = await act(Page(socket))
            await session.get(f"{base}/close/{tab['id']}")
        return result


@contextmanager
def browser(command: str, profile: Path) -> Iterator[Browser]:
    """Runs a browser with a profile of its own until the block ends."""
    process = subprocess.Popen(
        [
            command,
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--mute-audio",
            "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
            "--remote-debugging-port=0",
            f"--user-data-dir={profile}",
            "about:blank",
        ],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield Browser(_port(process))
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stderr:
            process.stderr.close()


def _port(process: subprocess.Popen[str]) -> int:
    """Returns the port that the browser says it listens on."""
    said = []
    assert process.stderr is not None
    for line in process.stderr:
        said.append(line)
        if line.startswith("DevTools listening on ws://"):
            return int(line.split("/")[2].rsplit(":", 1)[1])
    raise RuntimeError(f"the browser did not start: {json.dumps(said[-5:])}")
