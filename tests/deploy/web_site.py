"""Players with the web client in their browsers, and the site that serves it."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from tests.browser import Page, browsing
from tests.conftest import Database
from tests.deploy.edging import edge
from tests.service.serving import serving

ROOT = Path(__file__).parents[2]
CLIENT = ROOT / "clients" / "web"
IMAGES = ROOT / "docs" / "images"
AXE = CLIENT / "node_modules" / "axe-core" / "axe.min.js"
SIZES = {"phone": (390, 844), "desk": (1280, 800)}


class Client:
    """One player in an own browser."""

    def __init__(self, page: Page, address: str, token: str = "") -> None:
        self.page = page
        self.address = address
        self.resize("desk")
        page.send("Page.navigate", url=f"{address}/#token={token}" if token else address)
        self.wait(f"!!document.querySelector('{'.hero' if token else '.sign-in'}')")

    def resize(self, size: str) -> None:
        width, height = SIZES[size]
        self.page.send(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=width < 600,
        )  # fmt: skip

    def run(self, expression: str) -> Any:
        return self.page.run(expression)

    def wait(self, condition: str, seconds: float = 20) -> None:
        end = time.monotonic() + seconds
        while not self.run(condition):
            assert time.monotonic() < end, (condition, self.run("document.body.innerText"))
            time.sleep(0.05)

    def click(self, text: str) -> None:
        button = f"[...document.querySelectorAll('button')].find(it => it.innerText === '{text}')"
        self.wait(f"!!{button}")
        self.run(f"{button}.click()")

    def open_table(self, **fields: Any) -> str:
        """Open a table with the form of the lobby. Return its address."""
        self.click("Open a table")
        for name, value in fields.items():
            how = (
                f"checked = {str(value).lower()}" if value in (True, False) else f"value = {value}"
            )
            self.run(f"document.querySelector('.opening [name={name}]').{how}")
        self.click("Open")
        self.wait("location.hash.startsWith('#/match/') && !!document.querySelector('.waiting')")
        return str(self.run("location.href"))

    def open(self, address: str) -> None:
        self.run(f"void (location.href = {address!r})")

    def show(self, page: str) -> None:
        """Go to another page of the client, such as `ratings`."""
        self.run(f"void (location.hash = '#/{page}')")
        self.wait("!!document.querySelector('main.page h1')")

    def choose(self, label: str, value: str) -> None:
        """Choose an option of the select with this label."""
        found = f"document.querySelector('select[aria-label={label}]')"
        self.run(f"void ({found}.value = '{value}', {found}.dispatchEvent(new Event('change')))")

    def network(self, *, is_on: bool) -> None:
        """Turn the network off or on."""
        self.page.send(
            "Network.emulateNetworkConditions",
            offline=not is_on, latency=0, downloadThroughput=-1, uploadThroughput=-1,
        )  # fmt: skip
        # The browser leaves open streams open. The client cuts them off after this event.
        self.run("void dispatchEvent(new Event('online'))")

    def go(self, address: str) -> None:
        self.open(address)
        self.wait("!!document.querySelector('.felt')")

    def type(self, field: str, text: str) -> None:
        self.run(f"document.querySelector('{field}').value = {text!r}")

    def violations(self) -> list[str]:
        """Return what axe finds wrong on the page."""
        self.run(f"{AXE.read_text('utf-8')}; 0")
        # Colours are measured at rest.
        self.wait("document.getAnimations().length === 0")
        found = self.run(
            "axe.run().then(it => it.violations.map(v => v.id + ' ' + v.nodes[0].html))"
        )
        return [str(one) for one in found]

    def look(self, name: str = "") -> None:
        """Look at the page in both sizes and colours: each must be readable. Take pictures."""
        for theme in ("light", "dark"):
            self.run(f"document.documentElement.dataset.theme = '{theme}'; 0")
            for size in SIZES:
                self.resize(size)
                if name:
                    self.picture(f"{name}-{size}-{theme}")
                assert self.violations() == [], (theme, size)
                page = "document.documentElement"
                wide = self.run(f"{page}.scrollWidth - {page}.clientWidth")
                assert wide <= 0, "nothing is cut off at the side"

    def picture(self, name: str) -> None:
        """Take the picture of the docs, if the test is to write it."""
        self.wait("document.getAnimations().length === 0")
        if os.environ.get("DURAK_TEST_WRITE_GUIDE"):
            IMAGES.mkdir(exist_ok=True)
            self.page.picture(IMAGES / f"{name}.png")


@contextmanager
def players(folder: Path, address: str, *tokens: str) -> Iterator[list[Client]]:
    with ExitStack() as stack:
        pages = [
            stack.enter_context(browsing(folder / str(number))) for number in range(len(tokens))
        ]
        yield [Client(page, address, token) for page, token in zip(pages, tokens, strict=True)]


@asynccontextmanager
async def site(
    database: Database, folder: Path, client: Path, *names: str, **roles: str
) -> AsyncIterator[tuple[str, list[str]]]:
    """Run service and edge. Yield the address and a token of each player, and of each role."""
    async with serving(database, folder / "data", trusted_proxies="127.0.0.1") as service:
        callers = [(it, "player") for it in names] + list(roles.items())
        tokens = [dict(service.metadata(*it))["authorization"][7:] for it in callers]
        async with edge(service.port, CLIENT=str(client)) as port:
            yield f"http://127.0.0.1:{port}", tokens


@asynccontextmanager
async def killable(database: Database, folder: Path, port: int) -> AsyncIterator[None]:
    """Run `durak serve` as a process of its own, and kill it at the end."""
    command = [str(Path(sys.executable).parent / "durak"), "serve", "--port", str(port)]
    environment = {**os.environ, "DURAK_DATABASE_URL": database.app_dsn}
    process = await asyncio.create_subprocess_exec(
        *command, "--data-dir", str(folder), env=environment, stderr=asyncio.subprocess.DEVNULL
    )
    try:
        yield
    finally:
        process.kill()
        await process.wait()
