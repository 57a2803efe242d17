"""The web client in real browsers, through the edge, against the service."""

from __future__ import annotations

import asyncio
import gzip
import shutil
import subprocess
import time
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from service.cli.tokens import development_token
from service.config import Config
from tests.browser import CHROMIUM, browsing
from tests.conftest import Database
from tests.deploy.edging import edge, free_port
from tests.deploy.web_site import CLIENT, SIZES, Client, killable, players, site

FIRST_LOAD_BYTES_MAX = 150_000
# The card to beat or the use of a chosen card, then a legal card, then take or pass.
CHOICES = (".hit", ".my-turn button:not(.primary, .quiet)", ".in-hand.lit", ".my-turn .primary")
PLAY = " || ".join(f"document.querySelector('{it}')" for it in CHOICES)
PLAY = f"({PLAY})?.click()"

pytestmark = pytest.mark.skipif(
    not (CHROMIUM and shutil.which("npm")), reason="needs chromium, node and npm"
)


@pytest.mark.usefixtures("client")
def test_the_client_folds_the_vectors_of_the_service() -> None:
    done = subprocess.run(
        ["npm", "test", "--silent"], cwd=CLIENT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_first_load_is_small(client: Path) -> None:
    files = [it for it in client.rglob("*") if it.is_file()]
    assert sum(len(gzip.compress(it.read_bytes())) for it in files) < FIRST_LOAD_BYTES_MAX


@pytest.mark.timeout(90)
async def test_two_browsers_and_two_bots_play_a_match_to_its_end(
    database: Database, tmp_path: Path, client: Path
) -> None:
    """One of the players reloads the page in the middle. Both check the deal with their secrets."""

    def play(address: str, tokens: list[str]) -> None:
        with players(tmp_path, address, *tokens) as (anna, boris):
            assert anna.violations() == []
            link = anna.open_table(seats=4, transfer=True, series=True)
            anna.click("Sit down")
            anna.wait("!!document.querySelector('.mine')")
            assert anna.violations() == []
            anna.click("Rules")
            anna.wait("!!document.querySelector('.sheet li')")
            assert anna.violations() == []
            anna.click("Close")
            anna.click("Seat a bot")
            anna.wait("document.querySelectorAll('.seat.free').length === 2")
            anna.click("Seat a bot")
            boris.go(link)
            boris.click("Sit down")
            for one in (anna, boris):
                one.wait("document.querySelectorAll('.in-hand').length === 6")
            end = time.monotonic() + 60
            reloaded = False
            while not anna.run("!!document.querySelector('.ending')"):
                assert time.monotonic() < end, anna.run("document.body.innerText")
                anna.run(PLAY)
                boris.run(PLAY)
                if not reloaded and anna.run("document.querySelectorAll('.pair').length > 1"):
                    reloaded = True
                    anna.look("table")
                    anna.page.send("Page.reload")
                    anna.wait("!!document.querySelector('.in-hand, .ending')")
            for one in (anna, boris):
                one.wait("!!document.querySelector('.fair.own')")
                one.wait("document.querySelector('.series')?.innerText.startsWith('Series: ')")
                assert one.violations() == []
            anna.click("Rematch")
            anna.wait("!!document.querySelector('.waiting')")
            boris.click("Accept the rematch")
            boris.wait("document.querySelectorAll('.in-hand').length === 6")

    async with site(database, tmp_path, client, "anna", "boris") as (address, tokens):
        await asyncio.to_thread(play, address, tokens)


@pytest.mark.timeout(60)
async def test_a_cheat_at_a_tricky_staked_table_is_caught(
    database: Database, tmp_path: Path, client: Path
) -> None:
    """R11: an illegal card counts until a player challenges it. Leaving gives the bank away."""

    def play(address: str, tokens: list[str]) -> None:
        with players(tmp_path, address, *tokens) as both:
            link = both[0].open_table(seats=2, tricky=True, stake_coins=100)
            both[1].go(link)
            for one in both:
                one.click("Sit down")
            for one in both:
                one.wait("document.querySelectorAll('.in-hand').length === 6")
            leads = [one.run("!!document.querySelector('.in-hand.lit')") for one in both]
            attacker, defender = both if leads[0] else both[::-1]
            attacker.run("document.querySelector('.in-hand.lit').click()")
            illegal = "document.querySelector('.in-hand:not(.lit)[aria-disabled=false]')"
            defender.wait(f"!!{illegal}")
            defender.run(f"{illegal}.click()")
            attacker.wait("!!document.querySelector('.doubt')")
            assert attacker.violations() == []
            attacker.run("document.querySelector('.doubt').click()")
            attacker.wait("document.querySelector('.said').innerText.includes('caught cheating')")
            defender.run("window.confirm = () => true")
            defender.click("Leave")
            attacker.wait("document.querySelector('.ending')?.innerText.includes('+200')")

    async with site(database, tmp_path, client, "anna", "boris") as (address, tokens):
        await asyncio.to_thread(play, address, tokens)


@pytest.mark.timeout(90)
async def test_a_complaint_from_the_replay_is_ruled_on_at_the_desk_of_the_auditor(
    database: Database, tmp_path: Path, client: Path
) -> None:
    """A staked match ends by leaving. The auditor moves coins, and an operator approves."""

    def play(address: str, tokens: list[str]) -> None:
        with players(tmp_path, address, *tokens) as (anna, boris, auditor, operator):
            link = anna.open_table(seats=2, tricky=True, stake_coins=100)
            boris.go(link)
            for one in (anna, boris):
                one.click("Sit down")
            for one in (anna, boris):
                one.wait("document.querySelectorAll('.in-hand').length === 6")
            leads = anna if anna.run("!!document.querySelector('.in-hand.lit')") else boris
            leads.run("document.querySelector('.in-hand.lit').click()")
            leads.wait("document.querySelectorAll('.pair').length === 1")
            anna.run("window.confirm = () => true")
            anna.click("Leave")
            anna.wait("!!document.querySelector('.ending')")
            anna.run(
                "[...document.querySelectorAll('a')].find(it => it.innerText === 'Replay').click()"
            )
            check_replay(anna)
            anna.click("Open a dispute")
            anna.wait("!!document.querySelector('dialog[open] textarea')")
            assert anna.violations() == []
            anna.run("document.querySelector('[name=about]').value = 'payout'")
            anna.type("textarea", "I left because the table did not answer.")
            anna.click("Send")
            anna.wait("document.querySelector('.badge')?.innerText === 'open'")
            dispute = anna.run("location.href")
            check_ruling(auditor, operator, dispute)
            check_news(boris)
            anna.page.send("Page.reload")
            anna.wait("document.querySelector('.badge')?.innerText === 'upheld'")
            anna.run("void (location.hash = '#/disputes')")
            anna.wait("document.querySelectorAll('.tables li').length === 1")
            assert anna.violations() == []
            anna.run("void (location.hash = '#/coins')")
            anna.wait("document.querySelectorAll('.transfers tr').length === 4")
            assert anna.violations() == []
            for page in ("practice", "ratings", "settings"):
                anna.run(f"void (location.hash = '#/{page}')")
                anna.wait(f"document.querySelector('[aria-current=page]').hash === '#/{page}'")
                assert anna.violations() == [], page

    roles = {"anna": "player", "boris": "player", "vera": "auditor", "oleg": "operator"}
    async with site(database, tmp_path, client, **roles) as (address, tokens):
        await asyncio.to_thread(play, address, tokens)


def check_replay(anna: Client) -> None:
    """Go through a match, with the cards of all seats after its end."""
    anna.wait("!!document.querySelector('.replay')")
    assert anna.violations() == []
    anna.run("document.querySelector('[aria-label=\"To the start\"]').click()")
    anna.wait("document.querySelectorAll('.in-hand').length === 0")
    anna.run("document.querySelector('.replay [type=checkbox]').click()")
    cards = "document.querySelectorAll('.in-hand, .open-hand [data-card]').length"
    forward = "document.querySelector('[aria-label=Forward]').click()"
    while anna.run(f"{cards} < 12"):
        anna.run(forward)
    anna.run(forward)
    anna.wait("document.querySelectorAll('.pair').length === 1")
    assert anna.run(cards) == 11, "the led card is on the table"
    anna.wait("/at=\\d+$/.test(location.hash)")
    anna.click("Moves")
    anna.wait("document.querySelectorAll('.moves li').length > 3")
    assert anna.violations() == []
    anna.run("document.querySelector('.moves li:last-child button').click()")
    anna.wait("document.querySelector('[aria-label=\"To the end\"]').disabled")
    for size in SIZES:
        anna.resize(size)
        anna.picture(f"replay-{size}")


def check_ruling(auditor: Client, operator: Client, dispute: str) -> None:
    """The auditor sees the evidence and returns the stake; the operator approves it."""
    auditor.open(dispute)
    auditor.wait("document.querySelectorAll('.open-table .card').length > 12")
    assert auditor.violations() == []
    auditor.picture("dispute-desk")
    auditor.run("document.querySelector('[name=ruling]').value = 1")
    auditor.run("document.querySelector('[name=\"coins anna\"]').value = 100")
    auditor.run("document.querySelector('[name=\"coins boris\"]').value = -100")
    auditor.type("textarea", "The log shows an outage at this time.")
    auditor.click("Rule")
    auditor.wait("document.querySelector('.badge').innerText === 'waits for an operator'")
    operator.open(dispute)
    operator.wait("!!document.querySelector('[name=decision]')")
    operator.type("textarea", "Checked against the log of the service.")
    operator.click("Decide")
    operator.wait("document.querySelector('.badge').innerText === 'upheld'")
    assert operator.violations() == []


def check_news(boris: Client) -> None:
    """The opponent gets the news of the match, of its coins and of the dispute, once each."""
    boris.show("news")
    news = "[...document.querySelectorAll('.news b')].map(it => it.innerText)"
    expected = {
        "The match is over. You got out!",
        "Coins, share of the bank: +200",
        "Dispute about your match: open",
        "Dispute about your match: waits for an operator",
        "Dispute about your match: upheld",
        "Coins, correction: -100",
    }
    boris.wait(f"{sorted(expected)}.every(it => {news}.includes(it))")
    found = boris.run(news)
    assert [found.count(it) for it in sorted(expected)] == [1] * len(expected), found
    boris.look()
    boris.run("void (document.querySelector('.logo').click())")
    boris.wait("document.querySelector('.coins')?.innerText.includes('1000')")


@pytest.mark.timeout(60)
async def test_an_owner_plays_by_a_preset_and_removes_a_player(
    database: Database, tmp_path: Path, client: Path
) -> None:
    def play(address: str, tokens: list[str]) -> None:
        with players(tmp_path, address, *tokens) as (anna, boris):
            anna.click("Open a table")
            anna.wait("document.querySelectorAll('.opening select option').length > 11")
            anna.run(
                "void (document.querySelector('.opening select').value = 'duraka-net-transfer', "
                "document.querySelector('.opening select').dispatchEvent(new Event('change')))"
            )
            anna.wait("document.querySelector('[name=transfer]').disabled")
            assert anna.run("document.querySelector('[name=transfer]').checked")
            assert anna.violations() == []
            anna.click("Open")
            anna.wait("document.querySelector('.game')?.innerText === 'perevodnoy · 36'")
            boris.go(anna.run("location.href"))
            boris.click("Sit down")
            anna.click("Remove boris")
            boris.wait("document.querySelectorAll('.seat.free').length === 2")
            boris.click("Sit down")
            boris.wait("!!document.querySelector('.strip.problem')")

    async with site(database, tmp_path, client, "anna", "boris") as (address, tokens):
        await asyncio.to_thread(play, address, tokens)


@pytest.mark.timeout(60)
async def test_a_table_goes_on_by_itself_after_the_service_was_killed(
    database: Database, tmp_path: Path, client: Path
) -> None:
    port, data = free_port(), tmp_path / "data"
    token = development_token(Config(data_dir=data), "anna")

    def until_killed(anna: Client) -> None:
        anna.open_table(seats=2)
        anna.click("Seat a bot")
        anna.wait("!!document.querySelector('.seat:not(.free)')")
        anna.click("Sit down")
        anna.wait("!!document.querySelector('.in-hand.lit, .lead .primary')")

    def afterwards(anna: Client) -> None:
        anna.wait("!document.querySelector('.strip')")
        end = time.monotonic() + 30
        while not anna.run("!!document.querySelector('.ending')"):
            assert time.monotonic() < end, anna.run("document.body.innerText")
            anna.run(PLAY)
        anna.wait("!!document.querySelector('.fair.own')")

    async with AsyncExitStack() as stack:
        async with killable(database, data, port):
            served = await stack.enter_async_context(edge(port, CLIENT=str(client)))
            address = f"http://127.0.0.1:{served}"
            page = stack.enter_context(browsing(tmp_path))
            anna = await asyncio.to_thread(Client, page, address, token)
            await asyncio.to_thread(until_killed, anna)
        await asyncio.to_thread(anna.wait, "!!document.querySelector('.strip')")
        async with killable(database, data, port):
            await asyncio.to_thread(afterwards, anna)
