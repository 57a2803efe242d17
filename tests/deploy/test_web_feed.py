"""News and the live lobby in real browsers, through the edge, against the service."""

from __future__ import annotations

import asyncio
import shutil
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from service.cli.tokens import development_token
from service.config import Config
from tests.browser import CHROMIUM
from tests.conftest import Database
from tests.deploy.edging import edge, free_port
from tests.deploy.web_site import Client, killable, players, site

NOTICE = "document.querySelector('.notice a')?.innerText"
COUNT = "document.querySelector('.bell .count')?.innerText"
NEWS = "[...document.querySelectorAll('.news b')].map(it => it.innerText)"
LINKS = "[...document.querySelectorAll('.news a')].map(it => it.href)"
TABLES = "document.querySelectorAll('.tables li').length"

pytestmark = pytest.mark.skipif(
    not (CHROMIUM and shutil.which("npm")), reason="needs chromium, node and npm"
)


@pytest.mark.timeout(90)
async def test_a_player_gets_news_of_invitation_seat_and_turn_on_another_page(
    database: Database, tmp_path: Path, client: Path
) -> None:
    def play(address: str, tokens: list[str]) -> None:
        with players(tmp_path, address, *tokens) as (anna, boris):
            boris.show("settings")
            anna.open_table(seats=2, invited="'boris'")
            boris.wait(f"{NOTICE} === 'anna invites you: podkidnoy · 36'")
            assert boris.run(COUNT) == "1"
            assert boris.run("document.title") == "(1) Durak"
            assert boris.run("!!document.querySelector('[role=status] .notice')")
            assert ("link", "News: 1") in boris.page.accessible()
            boris.look()
            anna.click("Sit down")
            anna.wait("!!document.querySelector('.mine')")
            assert anna.run(f"{COUNT} ?? ''") == "", "what a player does is no news for them"
            anna.show("ratings")
            boris.run("document.querySelector('.notice a').focus(), 0")
            boris.page.press("Enter")
            boris.click("Sit down")
            # The table waits for the secret of Anna.
            anna.wait(f"{NOTICE} === 'A table waits for you'")
            boris.wait(f"document.title === 'Durak' && {NOTICE} === undefined")
            anna.run("document.querySelector('.notice a').click()")
            for one in (anna, boris):
                one.wait("document.querySelectorAll('.in-hand').length === 6")
            leads = anna.run("!!document.querySelector('.in-hand.lit')")
            attacker, defender = (anna, boris) if leads else (boris, anna)
            defender.show("practice")
            attacker.run("document.querySelector('.in-hand.lit').click()")
            defender.wait(f"{NOTICE} === 'A table waits for you'")
            defender.run("document.querySelector('.notice button').click()")
            defender.wait(f"{NOTICE} === undefined && {COUNT} === '1'")
            defender.show("news")
            defender.wait(f"{NEWS}[0] === 'A table waits for you' && {COUNT} === undefined")
            defender.look()
            before = defender.run(NEWS)
            defender.page.send("Page.reload")
            defender.wait(f"{NEWS}.length > 0")
            assert defender.run(NEWS) == before
            assert len(set(before)) == len(before), before
            defender.run("document.querySelector('.news a').click()")
            defender.wait("document.querySelectorAll('.in-hand').length === 6")

    async with site(database, tmp_path, client, "anna", "boris") as (address, tokens):
        await asyncio.to_thread(play, address, tokens)


@pytest.mark.timeout(60)
async def test_the_lobby_shows_tables_as_they_come_and_go(
    database: Database, tmp_path: Path, client: Path
) -> None:
    def play(address: str, tokens: list[str]) -> None:
        with players(tmp_path, address, *tokens) as (anna, boris):
            anna.wait("!!document.querySelector('.empty')")
            boris.open_table(seats=3, transfer=True)
            anna.wait(f"{TABLES} === 1")
            boris.click("Sit down")
            anna.wait("document.querySelector('.tables .taken')?.innerText === 'boris'")
            anna.choose("Game", "podkidnoy")
            anna.wait(f"{TABLES} === 0")
            anna.choose("Game", "perevodnoy")
            anna.choose("Players", "3")
            anna.wait(f"{TABLES} === 1")
            anna.choose("Deck", "52")
            anna.wait(f"{TABLES} === 0")
            anna.choose("Deck", "36")
            anna.wait(f"{TABLES} === 1")
            anna.look()
            boris.click("Close the table")
            anna.wait(f"{TABLES} === 0")
            anna.click("Playing")
            boris.show("")
            boris.click("Play with bots")
            anna.choose("Game", "anyGame")
            anna.choose("Players", "4")
            anna.wait(f"{TABLES} === 1")
            boris.show("")
            boris.click("Mine")
            boris.wait(f"{TABLES} === 2")

    async with site(database, tmp_path, client, "anna", "boris") as (address, tokens):
        await asyncio.to_thread(play, address, tokens)


@pytest.mark.timeout(90)
async def test_news_is_neither_lost_nor_repeated_by_a_lost_network_and_a_killed_service(
    database: Database, tmp_path: Path, client: Path
) -> None:
    port, data = free_port(), tmp_path / "data"
    names = ("anna", "boris")
    tokens = [development_token(Config(data_dir=data), name) for name in names]
    invited: list[str] = []

    def invite(boris: Client) -> None:
        boris.show("")
        invited.insert(0, boris.open_table(seats=2, invited="'anna'"))

    def has_all(anna: Client) -> None:
        anna.show("news")
        anna.wait(f"{LINKS}.length >= {len(invited)}")
        assert anna.run(LINKS) == invited

    def until_killed(anna: Client, boris: Client) -> None:
        invite(boris)
        has_all(anna)
        anna.show("")
        anna.wait("!!document.querySelector('.empty, .tables')")
        anna.network(is_on=False)
        anna.wait("!!document.querySelector('.strip')")
        invite(boris)
        assert anna.run(COUNT) is None, "the network is off"
        anna.network(is_on=True)
        anna.wait(f"!document.querySelector('.strip') && {COUNT} === '1'")
        has_all(anna)
        anna.page.send("Page.navigate", url="about:blank")
        invite(boris)

    def afterwards(anna: Client, boris: Client, address: str) -> None:
        anna.page.send("Page.navigate", url=f"{address}/")
        anna.wait(f"{COUNT} === '1'")
        has_all(anna)
        invite(boris)
        has_all(anna)
        anna.page.send("Page.reload")
        anna.wait("!!document.querySelector('main.page h1')")
        has_all(anna)

    async with AsyncExitStack() as stack:
        async with killable(database, data, port):
            served = await stack.enter_async_context(edge(port, CLIENT=str(client)))
            address = f"http://127.0.0.1:{served}"
            opened = players(tmp_path, address, *tokens)
            anna, boris = await asyncio.to_thread(opened.__enter__)
            stack.push(opened)
            await asyncio.to_thread(until_killed, anna, boris)
        async with killable(database, data, port):
            await asyncio.to_thread(afterwards, anna, boris, address)
