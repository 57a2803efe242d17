"""Headless Chromium, controlled over a pipe (DevTools protocol), to test pages in a browser."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader, BufferedWriter
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
_KEY_CODES = {"ArrowLeft": 37, "ArrowRight": 39, "Home": 36, "End": 35, "PageUp": 33, "Tab": 9}
_KEY_CODES |= {"PageDown": 34, " ": 32, "Enter": 13}


class Page:
    """One page in the browser."""

    def __init__(self, commands: BufferedWriter, answers: BufferedReader) -> None:
        self._commands = commands
        self._answers = answers
        self._last = 0
        self._session: str | None = None
        self._read = b""
        self.events: list[dict[str, Any]] = []
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        attached = self.send("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log", "Accessibility"):
            self.send(f"{domain}.enable")

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command and return its result. Keep the events that arrive before it."""
        self._last += 1
        message: dict[str, Any] = {"id": self._last, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        self._commands.write(json.dumps(message).encode() + b"\0")
        self._commands.flush()
        while (answer := self._next()).get("id") != self._last:
            self.events.append(answer)
        assert "error" not in answer, answer
        result: dict[str, Any] = answer["result"]
        return result

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._read:
            chunk = self._answers.read1(1 << 16)
            assert chunk, "the browser has ended"
            self._read += chunk
        message, _, self._read = self._read.partition(b"\0")
        found: dict[str, Any] = json.loads(message)
        return found

    def open(self, file: Path, fragment: str = "", *, width: int = 1300, height: int = 900) -> None:
        """Open a file in a window of this size. Wait until it has loaded."""
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=width < 600,
        )  # fmt: skip
        self.events.clear()
        answer = self.send("Page.navigate", url=f"{file.as_uri()}{fragment}")
        if "loaderId" not in answer:
            return  # the same page, at another place
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self.events.append(self._next())

    def run(self, expression: str) -> Any:
        """Evaluate a JavaScript expression on the page. Return its value, awaited if a promise."""
        answer = self.send(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def press(self, *keys: str) -> None:
        """Press keys."""
        for key in keys:
            code = _KEY_CODES.get(key, ord(key[0].upper()))
            held = {"key": key, "windowsVirtualKeyCode": code, "modifiers": 8 * key.isupper()}
            text = {"text": key} if len(key) == 1 else {"text": "\r"} if key == "Enter" else {}
            self.send("Input.dispatchKeyEvent", type="keyDown", **held, **text)
            self.send("Input.dispatchKeyEvent", type="keyUp", **held)

    def accessible(self) -> list[tuple[str, str]]:
        """Return role and name of every node that a screen reader gets."""
        nodes = self.send("Accessibility.getFullAXTree")["nodes"]
        return [
            (node["role"]["value"], node.get("name", {}).get("value", ""))
            for node in nodes
            if not node.get("ignored")
        ]

    def picture(self, file: Path) -> None:
        """Write a screenshot as PNG."""
        shot = self.send("Page.captureScreenshot", format="png")
        file.write_bytes(base64.b64decode(shot["data"]))


@contextmanager
def browsing(folder: Path) -> Iterator[Page]:
    """Start a browser with its profile in this folder and yield a page of it."""
    assert CHROMIUM is not None
    their_commands, commands = os.pipe()
    answers, their_answers = os.pipe()
    script = f'exec "$0" "$@" 3<&{their_commands} 4>&{their_answers}'
    process = subprocess.Popen(
        [
            "/bin/bash", "-c", script, CHROMIUM,
            "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
            "--remote-debugging-pipe", "--no-first-run", "--disable-background-networking",
            f"--user-data-dir={folder / 'profile'}",
        ],
        pass_fds=(their_commands, their_answers),
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    os.close(their_commands)
    os.close(their_answers)
    with process, os.fdopen(commands, "wb") as written, os.fdopen(answers, "rb") as read:
        try:
            yield Page(written, read)
        finally:
            process.terminate()
