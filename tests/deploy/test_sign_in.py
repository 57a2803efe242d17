"""Sign-in of the web client at an issuer of OpenID Connect, in a real browser, through the edge."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.request import urlopen

import pytest
from pydantic import SecretStr

from service.checkpoints import signing_keys
from service.config import Config
from service.server import running
from tests.browser import CHROMIUM, browsing
from tests.conftest import Database
from tests.deploy.edging import edge, free_port
from tests.deploy.web_site import CLIENT, Client
from tests.service.serving import LOG_NAME

TOKEN_SECONDS = 5
RENEWALS = (
    "performance.getEntriesByType('resource').filter(it => it.name.endsWith('/token')).length"
)
MOVE = "document.querySelector('.in-hand.lit, .my-turn .primary')"
SAID = "document.querySelector('.said').innerText"
KEEPS_THE_TABLE = """
window.lost = 0
new MutationObserver(() => {
  if (document.querySelector('.sign-in') || !document.querySelector('.felt')) window.lost++
}).observe(document.body, { childList: true, subtree: true })
"""

pytestmark = pytest.mark.skipif(
    not (CHROMIUM and shutil.which("npm")), reason="needs chromium, node and npm"
)


@asynccontextmanager
async def issuer(origin: str) -> AsyncIterator[str]:
    """Run an issuer for the client of this origin. Yield the name of the issuer."""
    port = free_port()
    process = await asyncio.create_subprocess_exec(
        "node", "test/issuer.mjs", str(port), origin, str(TOKEN_SECONDS),
        cwd=CLIENT, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    assert process.stdout is not None
    try:
        assert (await process.stdout.readline()) == b"ready\n"
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        await process.wait()


@asynccontextmanager
async def site(database: Database, folder: Path, client: Path) -> AsyncIterator[tuple[str, str]]:
    """Run issuer, service and edge. Yield the addresses of the edge and of the issuer."""
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    async with issuer(address) as name:
        config = Config(
            database_url=SecretStr(database.app_dsn), data_dir=folder, listen_port=0,
            trusted_proxies="127.0.0.1", bot_delay_seconds=0.2, token_issuer=name,
            token_jwks=f"{name}/jwks", token_roles_claim="realm_access.roles",
        )  # fmt: skip
        signing_keys.make(config.note_key_file, LOG_NAME)
        settings = {
            "CLIENT": str(client), "LISTEN_PORT": str(port), "OIDC_ISSUER": name,
            "OIDC_CLIENT_ID": "durak-web", "OIDC_PARAMETERS": "resource=urn:durak",
            "OIDC_ROLES_CLAIM": "realm_access.roles",
        }  # fmt: skip
        async with (
            running(config) as server,
            edge(int(server.address.rpartition(":")[2]), **settings),
        ):
            yield address, name


def sign_in(anna: Client, *, is_known: bool) -> None:
    """Sign in at the page of the issuer as `anna`, who is known if the issuer has a session."""
    address = anna.run("location.origin")
    anna.click("Sign in")
    if not is_known:
        anna.wait("!!document.querySelector('input[name=login]')")
        anna.type("input[name=login]", "anna")
        anna.type("input[name=password]", "any")
        anna.run("document.querySelector('form').requestSubmit()")
    anna.wait("!!document.querySelector('[name=prompt][value=consent]')")
    anna.run("document.querySelector('form').requestSubmit()")
    anna.wait(f"location.origin === '{address}' && !!document.querySelector('.who, .felt')")


def load(anna: Client, link: str = "") -> None:
    """Open a link, or the same page again. Wait until the new page is drawn."""
    anna.run("window.isOld = true")
    if link:
        anna.open(link)
    else:
        anna.page.send("Page.reload")
    anna.wait("!window.isOld && !!document.querySelector('#app > *')")


def renewals_after(anna: Client, before: int) -> None:
    anna.wait(f"{RENEWALS} > {before}", seconds=3 * TOKEN_SECONDS)


@pytest.mark.timeout(120)
async def test_a_player_signs_in_by_redirect_and_keeps_the_table_when_tokens_expire(
    database: Database, tmp_path: Path, client: Path
) -> None:
    """Renewed while the issuer allows it, signed in again on the same page, and signed out."""

    def play(address: str, name: str) -> None:
        with browsing(tmp_path / "profile") as page:
            anna = Client(page, f"{address}/#/ratings")
            assert anna.violations() == []
            sign_in(anna, is_known=False)
            assert anna.run("location.href") == f"{address}/#/ratings", "back at the page"
            anna.wait("document.querySelector('.who').innerText.startsWith('anna of the issuer')")
            stored = json.dumps(anna.run("Object.entries(localStorage)"))
            assert "eyJ" not in stored, "tokens end with the tab"
            anna.run("void (location.hash = '#/')")
            table = anna.open_table(seats=2)
            anna.click("Seat a bot")
            anna.wait("!!document.querySelector('.seat:not(.free)')")
            anna.click("Sit down")
            anna.wait(f"!!{MOVE}")
            anna.run(KEEPS_THE_TABLE)
            renewals_after(anna, anna.run(RENEWALS))
            renewals_after(anna, anna.run(RENEWALS))
            said = anna.run(SAID)
            anna.run(f"{MOVE}.click()")
            anna.wait(f"{SAID} !== {said!r}")
            assert anna.run("window.lost") == 0
            assert anna.run("location.href") == table
            load(anna)
            anna.wait("document.querySelectorAll('.in-hand').length > 4")

            end_session(anna, name)
            anna.wait("!!document.querySelector('.overlay .sign-in')", seconds=3 * TOKEN_SECONDS)
            assert anna.run("!!document.querySelector('.felt')"), "the table stays on the page"
            assert anna.violations() == []
            sign_in(anna, is_known=True)
            assert anna.run("location.href") == table
            anna.wait("document.querySelectorAll('.in-hand').length > 4")

            anna.run("void (location.hash = '#/settings')")
            anna.click("Sign out")
            anna.wait(f"location.origin === '{name}' && !!document.querySelector('form')")
            anna.run("document.querySelector('[name=logout]').click()")
            anna.wait(f"location.origin === '{address}' && !!document.querySelector('.sign-in')")
            assert anna.run("Object.keys(sessionStorage)") == []
            anna.click("Sign in")
            anna.wait("!!document.querySelector('input[name=login]')")

    async with site(database, tmp_path, client) as (address, name):
        await asyncio.to_thread(play, address, name)


def end_session(anna: Client, name: str) -> None:
    """Make the issuer revoke the refresh token of the page."""
    anna.run(f"""
        fetch('{name}/token/revocation', {{ method: 'POST', body: new URLSearchParams({{
            client_id: 'durak-web',
            token: JSON.parse(Object.values(sessionStorage)[0]).refresh_token,
        }}) }}).then(it => {{ if (!it.ok) throw it.status }})
    """)


@pytest.mark.timeout(60)
async def test_links_cannot_sign_a_player_in(
    database: Database, tmp_path: Path, client: Path
) -> None:
    """A link with a token or an answer of the issuer could sign a player in as another one."""

    def open_links(address: str, name: str) -> None:
        with browsing(tmp_path / "profile") as page:
            anna = Client(page, f"{address}/#token=eyJhbGciOiJub25lIn0.eyJzdWIiOiJtYWwifQ.x")
            assert not anna.run("document.querySelector('.who')")
            load(anna, f"{address}/?code=stolen&state=forged#/ratings")
            anna.wait("!!document.querySelector('.problem')")
            assert anna.run("location.href") == f"{address}/#/ratings"
            load(anna, f"{address}/?error=x&error_description=Call+555&state=forged")
            anna.wait("!!document.querySelector('.problem')")
            assert "555" not in anna.run("document.body.innerText")
            assert anna.run("location.search") == ""
            load(anna)
            anna.wait("!!document.querySelector('.sign-in')")
            assert not anna.run("document.querySelector('.problem')")
        policy = urlopen(address).headers["content-security-policy"]
        assert f"connect-src 'self' {name};" in policy

    async with site(database, tmp_path, client) as (address, name):
        await asyncio.to_thread(open_links, address, name)
