"""The HTML report of an audit: the file, and its use in a browser."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from domain.audit import audit
from domain.audit.transcript import verify
from domain.cards import card_name, cards_in
from domain.match.fold import fold
from durak.v1.events_pb2 import ACTOR_KIND_BOT, Record, TableOpened
from durak.v1.settings_pb2 import Deck, Settings
from durak.v1.transcript_pb2 import Transcript
from service.cli.verify import verification_lines
from service.report.page import NoTranscriptError, render_report
from service.text.localisation import LANGUAGES
from tests.browser import CHROMIUM, Page, browsing
from tests.domain.audit.audit_matches import PlayedMatch, random_match
from tests.domain.audit.audit_transcripts import PUBLIC_KEY, transcript_of

NEEDS_CHROMIUM = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
PICTURES = os.environ.get("DURAK_TEST_PICTURES")
"""A folder to keep screenshots in."""


def tricky_match() -> PlayedMatch:
    """Return a staked match of four with an illegal play."""
    wanted = {"seats": 4, "deck": 36, "stake_coins": 100, "tricky": 1}
    matches = (random_match(seed, **wanted) for seed in range(300))
    return next(told for told in matches if len(told.records) > 80 and audit(told.stored).cheats)


TOLD = tricky_match()
CHEAT = audit(TOLD.stored).cheats[0]


def page_of(transcript: Transcript, language: str = "en") -> str:
    return render_report(transcript.SerializeToString(), PUBLIC_KEY, language)


def forged() -> tuple[Transcript, int]:
    """Return a transcript with another card in one play, and the version of that play."""
    transcript = transcript_of(TOLD)
    at = next(n for n, one in enumerate(TOLD.records) if n > 60 and one.event.HasField("attacked"))
    record = type(TOLD.records[at])()
    record.CopyFrom(TOLD.records[at])
    held = fold(TOLD.records[:at]).hands[record.event.attacked.seat]
    other = next(card for card in range(5, 53) if not held >> (card - 1) & 1)
    record.event.attacked.card = other  # type: ignore[assignment] # any card that is not held
    transcript.records[at].record = record.SerializeToString()
    return transcript, at + 1


# --- the file -------------------------------------------------------------------------------------


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_page_has_all_texts_in_every_language(language: str) -> None:
    page = page_of(transcript_of(TOLD), language)
    assert f'<html lang="{language}">' in page
    assert "{$" not in page
    assert not re.search(r"\$[a-z_]+\b", re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL))


def test_the_page_loads_nothing() -> None:
    page = page_of(transcript_of(TOLD))
    addresses = set(re.findall(r"https?://[^\s\"']+", page))
    assert addresses <= {"http://www.w3.org/2000/svg"}  # a namespace, not an address
    assert "default-src &#x27;none&#x27;" in page
    assert not re.search(r"<(link|img|iframe|script src)", page)


def test_names_of_players_cannot_close_an_element() -> None:
    told = random_match(4, seats=2)
    for record in told.records:
        if record.event.seat_taken.player_id:
            record.event.seat_taken.display_name = "</script><script>alert(1)</script><b>"
    transcript = Transcript(format_version=1, match_id=told.match_id)
    for version, data, link in told.stored:
        assert version
        transcript.records.add(record=data, hash=link)
    page = page_of(transcript)
    assert page.count("<script") == 2
    assert page.count("</script>") == 2
    assert "<b>" not in page


def test_the_log_needs_no_script() -> None:
    transcript, version = forged()
    page = page_of(transcript)
    log = page[page.index('<ol class="log">') : page.index("</ol>")]
    assert len(re.findall(r'<li id="v\d+">', log)) == len(TOLD.records)
    item = log[log.index(f'<li id="v{version}">') : log.index(f'<li id="v{version + 1}">')]
    assert '<li class="fault">Fault (chain, ' in item
    assert '<section class="verdict refuted"' in page


def test_a_file_that_is_not_a_transcript_is_refused() -> None:
    empty = Transcript(format_version=1, match_id=TOLD.match_id).SerializeToString()
    for data in (b"nonsense", b"", empty):
        with pytest.raises(NoTranscriptError):
            render_report(data, None, "en")


def test_corrupt_records_give_a_page_too() -> None:
    for garbage in (b"", b"\xff", b"\x10\x01"):
        transcript = Transcript(format_version=1, match_id=TOLD.match_id)
        transcript.records.add(record=garbage, hash=bytes(32))
        assert "verdict refuted" in page_of(transcript)
    shuffled = transcript_of(TOLD)
    records = list(shuffled.records)
    del shuffled.records[:]
    shuffled.records.extend(records[::-1])
    assert "verdict refuted" in page_of(shuffled)


CONTROL_TEXT = "\x1b]0;gone\x07\x9b2J\u202e\u200b\n"
"""Control sequences of terminals, and characters that change the direction of text."""


def hostile() -> Transcript:
    """Return a transcript whose texts are all control sequences, with an impossible time."""
    settings = Settings(deck=Deck.DECK_36, seats=2, stake_coins=5, preset=CONTROL_TEXT)
    opened = TableOpened(settings=settings, owner_id=CONTROL_TEXT, rules_version=CONTROL_TEXT)
    record = Record(match_id=TOLD.match_id, version=1, actor_kind=ACTOR_KIND_BOT)
    record.actor_id = CONTROL_TEXT
    record.event_time.seconds = 2**62
    record.event.table_opened.CopyFrom(opened)
    seat = Record(match_id=TOLD.match_id, version=7)
    seat.event.seat_taken.display_name = seat.event.seat_taken.player_id = CONTROL_TEXT
    transcript = Transcript(format_version=1, match_id=TOLD.match_id, checkpoint=CONTROL_TEXT)
    for data in (record.SerializeToString(), seat.SerializeToString()):
        transcript.records.add(record=data, hash=bytes(32))
    transcript.ledger.add(player_id=CONTROL_TEXT, coins=-5)
    return transcript


def test_a_hostile_file_gives_a_page_of_printable_text() -> None:
    page = page_of(hostile())
    assert "verdict refuted" in page
    assert page.replace("\n", "").isprintable()


def test_a_hostile_file_cannot_control_the_terminal() -> None:
    lines = verification_lines(verify(hostile().SerializeToString(), None))
    assert lines[0].startswith("REFUTED")
    assert all(line.isprintable() for line in lines)
    assert any("\\x1b]0;gone" in line for line in lines)  # escaped


# --- in the browser -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with browsing(tmp_path_factory.mktemp("browser")) as page:
        yield page


@pytest.fixture
def honest(tmp_path: Path) -> Path:
    path = tmp_path / "honest.html"
    path.write_text(page_of(transcript_of(TOLD)), "utf-8")
    return path


def at(browser: Page) -> int:
    """Return the version that the page shows. Log, text and slider must agree."""
    current = browser.run("document.querySelectorAll('[aria-current]').length")
    assert current == 1
    version = browser.run("document.querySelector('[aria-current] .version').textContent")
    assert browser.run("document.getElementById('now').textContent").startswith(f"{version}. ")
    assert browser.run("Number(document.getElementById('slider').value)") == int(version) - 1
    return int(version)


def await_address(browser: Page, version: int) -> None:
    """Return once the address names a version."""
    seen = f'location.hash === "#at={version}" ? done() : setTimeout(look, 20)'
    browser.run(f"new Promise((done) => {{ const look = () => {seen}; look(); }})")


def labels(browser: Page) -> list[str]:
    """Return the labels of the board for screen readers."""
    query = "[...document.querySelectorAll('#board [role=img]')].map(e => e.ariaLabel)"
    found: list[str] = browser.run(query)
    return found


@NEEDS_CHROMIUM
def test_the_table_is_drawn_for_every_record(browser: Page, honest: Path) -> None:
    browser.open(honest, "#at=1")
    for version in range(1, len(TOLD.records) + 1):
        assert at(browser) == version
        match = fold(TOLD.records[:version])
        shown = labels(browser)
        for hand, label in zip(match.hands, shown, strict=False):
            cards = set() if label == "no cards" else set(label.split())
            assert cards == {card_name(card) for card in cards_in(hand)}
        for card, label in zip(match.attacks, shown[len(match.hands) :], strict=False):
            assert label.startswith(card_name(card))
            if card in match.beaten_by:
                assert label.endswith(f"beaten by {card_name(match.beaten_by[card])}")
        drawn = browser.run("document.querySelectorAll('#board svg.card').length")
        on_board = [*match.hands, match.on_table]
        assert drawn == sum(cards.bit_count() for cards in on_board) + len(match.stock)
        browser.press("ArrowRight")
    assert at(browser) == len(TOLD.records)


@NEEDS_CHROMIUM
def test_the_address_follows_the_version_also_after_many_quick_steps(
    browser: Page, honest: Path
) -> None:
    browser.open(honest, "#at=7")
    browser.press("ArrowRight")
    await_address(browser, 8)
    browser.press(*["ArrowLeft", "ArrowRight"] * 150)  # Chromium ignores changes from the 201st on
    browser.press("ArrowRight")
    await_address(browser, 9)


@NEEDS_CHROMIUM
def test_keys_step_through_the_match(browser: Page, honest: Path) -> None:
    browser.open(honest)
    last = len(TOLD.records)
    assert TOLD.records[at(browser) - 1].event.HasField("dealt")
    browser.press("End")
    assert at(browser) == last
    browser.press("ArrowRight", "ArrowLeft", "ArrowLeft")
    assert at(browser) == last - 2
    browser.press("Home", "ArrowLeft")
    assert at(browser) == 1
    browser.press("PageDown")
    first_bout = at(browser)
    assert TOLD.records[first_bout - 1].event.HasField("attacked")
    browser.press("PageDown")
    assert at(browser) > first_bout
    browser.press("PageUp")
    assert at(browser) == first_bout
    browser.press("Home", "f")
    assert at(browser) == CHEAT.version or browser.run(
        "document.querySelector('[aria-current]').parentElement.querySelector('.findings') !== null"
    )


@NEEDS_CHROMIUM
def test_tab_and_enter_are_enough(browser: Page, honest: Path) -> None:
    browser.open(honest)
    reached = []
    for _ in range(25):
        browser.press("Tab")
        reached.append(browser.run("document.activeElement.id || document.activeElement.tagName"))
    for control in ("slider", "next", "last", "hands"):
        assert control in reached
    browser.run("document.getElementById('next').focus()")
    dealt = at(browser)
    browser.press("Enter", "Enter")
    assert at(browser) == dealt + 2
    browser.run("document.querySelector('button[data-at=\"9\"]').focus()")
    browser.press(" ")
    assert at(browser) == 10


@NEEDS_CHROMIUM
def test_a_switch_closes_the_hands(browser: Page, honest: Path) -> None:
    dealt = next(one.version for one in TOLD.records if one.event.HasField("dealt"))
    browser.open(honest, f"#at={dealt}")
    assert at(browser) == dealt
    match = fold(TOLD.records[:dealt])
    browser.press("h")
    assert browser.run("document.getElementById('hands').ariaChecked") == "false"
    hands = labels(browser)[: len(match.hands)]
    assert hands == ["6 cards, face down"] * 4
    text = browser.run("document.getElementById('board').innerHTML")
    assert not [
        card for hand in match.hands for card in cards_in(hand) if f'"{card_name(card)}"' in text
    ]
    assert labels(browser)[-1] == card_name(match.trump_card)
    browser.run("document.getElementById('hands').click()")
    assert browser.run("document.getElementById('hands').ariaChecked") == "true"
    assert labels(browser)[0] != "6 cards, face down"


@NEEDS_CHROMIUM
def test_findings_are_shown_with_their_record_and_the_verdict_on_top(
    browser: Page, tmp_path: Path
) -> None:
    transcript, version = forged()
    path = tmp_path / "forged.html"
    path.write_text(page_of(transcript), "utf-8")
    browser.open(path, f"#at={version}")
    assert "fault" in browser.run("document.querySelector('.verdict').innerText.toLowerCase()")
    assert "Fault (chain" in browser.run("document.getElementById('now').textContent")
    assert "do not make a table" in browser.run("document.querySelector('.broken').textContent")


@NEEDS_CHROMIUM
def test_the_verdict_links_to_every_fault(browser: Page, tmp_path: Path) -> None:
    transcript, version = forged()
    path = tmp_path / "forged.html"
    path.write_text(page_of(transcript), "utf-8")
    browser.open(path)
    links = browser.run("[...document.querySelectorAll('.verdict a')].map(e => e.textContent)")
    assert str(at(browser)) == min(links, key=int)  # opens at the first
    assert str(version) in links
    assert len(links) == len(re.findall(r'<li class="fault">', path.read_text("utf-8")))
    for wanted in dict.fromkeys(links):
        browser.run(f"document.querySelector('.verdict a[href=\"#at={wanted}\"]').click()")
        browser.run("new Promise(done => setTimeout(done))")  # after hashchange
        assert at(browser) == int(wanted)


@NEEDS_CHROMIUM
def test_an_illegal_card_is_marked_on_the_table(browser: Page, honest: Path) -> None:
    browser.open(honest, f"#at={CHEAT.version}")
    assert browser.run("document.querySelectorAll('#board svg.card.illegal').length") == 1
    browser.press("ArrowLeft")
    assert browser.run("document.querySelectorAll('#board svg.card.illegal').length") == 0


@NEEDS_CHROMIUM
def test_the_page_has_roles_and_names_for_screen_readers(browser: Page, honest: Path) -> None:
    browser.open(honest, f"#at={CHEAT.version}")
    nodes = browser.accessible()
    roles = {role for role, _ in nodes}
    assert {"banner", "main", "contentinfo", "heading", "slider", "switch", "status"} <= roles
    nameless = [role for role, text in nodes if role in {"button", "slider", "switch"} and not text]
    assert not nameless
    value = browser.run("document.getElementById('slider').getAttribute('aria-valuetext')")
    assert value.startswith(f"{CHEAT.version}. ")
    assert "Illegal play" in value
    headings = [text for role, text in nodes if role == "heading"]
    assert "The table" in headings


def long_hands() -> PlayedMatch:
    """Return a match of six in which a hand needs more than one row."""
    for seed in range(100):
        told = random_match(seed, seats=6, deck=52, tricky=0)
        if any(hand.bit_count() > 18 for hand in told.match.hands):
            return told
    raise AssertionError


@NEEDS_CHROMIUM
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("width", "height"), [(360, 740), (768, 1024), (1300, 900)])
def test_the_page_fits_phones_and_desktops(
    browser: Page, tmp_path: Path, width: int, height: int, scheme: str
) -> None:
    browser.send(
        "Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}]
    )
    six = long_hands()
    forgery, fault = forged()
    for name_, transcript, version in (
        ("tricky", transcript_of(TOLD), CHEAT.version),
        ("forged", forgery, fault),
        ("six", transcript_of(six), len(six.records)),
    ):
        path = tmp_path / f"{name_}.html"
        path.write_text(page_of(transcript), "utf-8")
        browser.open(path, f"#at={version}", width=width, height=height)
        assert browser.run("document.documentElement.scrollWidth") <= width
        controls = "document.querySelectorAll('.controls button, .bar button')"
        small = f"[...{controls}].filter(e => e.getBoundingClientRect().height < 40).length"
        assert browser.run(small) == 0
        outside = (
            "[...document.querySelectorAll('#board svg.card')].filter(e => "
            "e.getBoundingClientRect().right > board.getBoundingClientRect().right).length"
        )
        assert browser.run(outside) == 0
        keep(browser, f"{name_}-{width}-{scheme}")


@NEEDS_CHROMIUM
def test_the_page_sends_no_request_and_logs_no_error(browser: Page, honest: Path) -> None:
    browser.open(honest)
    browser.press("End", "h", "Home", "f", "PageDown")
    asked: list[Any] = [
        event["params"]["request"]["url"]
        for event in browser.events
        if event["method"] == "Network.requestWillBeSent"
    ]
    assert [url for url in asked if not url.startswith(honest.as_uri())] == []
    troubles = [
        event
        for event in browser.events
        if event["method"] in {"Runtime.exceptionThrown", "Log.entryAdded"}
    ]
    assert troubles == []


def keep(browser: Page, label: str) -> None:
    """Keep a screenshot if DURAK_TEST_PICTURES is set."""
    if PICTURES is not None:
        browser.picture(Path(PICTURES) / f"{label}.png")
