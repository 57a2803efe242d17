"""Cards, answers, tables and narration, with expectations written by hand."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

from domain.cards import CARDS, card_name
from durak.v1 import events_pb2
from durak.v1.cards_pb2 import Card, Suit
from durak.v1.events_pb2 import Event
from durak.v1.settings_pb2 import BOT_LEVEL_EASY, BOT_LEVEL_UNSPECIFIED, Deck, Settings, ThrowIn
from durak.v1.table_pb2 import (
    PHASE_PLAYING,
    DefendOptions,
    Move,
    Moves,
    SeatView,
    TableCard,
    TableView,
)
from service.render.cards import colour_cards, format_cards, format_hand, parse_card
from service.render.moves import Choice, InvalidAnswer, Keyword, list_choices, parse_answer
from service.render.narration import Narrator
from service.render.table import seat_names, table_lines
from service.render.texts import Names, translator
from service.text.card_text import Spelling
from service.text.localisation import LANGUAGES
from tests.domain.audit.audit_matches import random_match

TRANSLATE = translator("en")
NAME = "K♠ van A♥"
MATCH = random_match(12, deck=36, seats=3, transfer=1)
for record in MATCH.records:
    if record.event.HasField("seat_taken") and not record.event.seat_taken.bot_level:
        record.event.seat_taken.display_name = NAME
SPADES = 3


@pytest.mark.parametrize(
    ("typed", "card"),
    [
        ("6h", Card.CARD_6H),
        ("6♥", Card.CARD_6H),
        ("6♥️", Card.CARD_6H),
        (" 10S ", Card.CARD_10S),
        ("Qd", Card.CARD_QD),
        ("Вч", Card.CARD_JH),
        ("дб", Card.CARD_QD),
        ("Кт", Card.CARD_KC),
        ("Тп", Card.CARD_AS),
        ("А♠", Card.CARD_AS),
        ("Ρ♦", Card.CARD_KD),
        ("νh", Card.CARD_QH),
        ("1h", None),
        ("11h", None),
        ("Th", None),  # neither ten nor ace: the Latin T looks like the Russian ace
        ("h6", None),
        ("6", None),
        ("", None),
    ],
)
def test_cards_are_parsed_in_every_alphabet(typed: str, card: Card.ValueType | None) -> None:
    assert parse_card(typed) == card


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_formatted_card_is_parsed_and_coloured(language: str) -> None:
    written = [Spelling().spell(card_name(card), language) for card in CARDS]
    assert [parse_card(text) for text in written] == list(CARDS)
    assert all(colour_cards(text).spans for text in written)


@pytest.mark.parametrize(("language", "hand"), [("ru", "7♦ К♥ │ 6♠ Т♠"), ("el", "7♦ Ρ♥ │ 6♠ Α♠")])
def test_a_hand_has_the_letters_of_its_language(language: str, hand: str) -> None:
    cards = [Card.CARD_AS, Card.CARD_KH, Card.CARD_6S, Card.CARD_7D]
    assert translator(language)("hand", cards=format_hand(cards, SPADES)).endswith(hand)


@pytest.mark.parametrize("language", ["ru", "el"])
def test_narration_translates_the_letters_of_cards_but_not_of_names(
    language: str,
) -> None:
    narrator = Narrator(translator(language))
    lines = [line.text for record in MATCH.records for line in narrator.describe(record.event)]
    assert not re.search(r"[JQKA][♣♦♥♠]", "\n".join(lines).replace(NAME, ""))
    assert any(NAME in line for line in lines)


def test_a_hand_has_its_trumps_apart_and_hidden_cards_are_face_down() -> None:
    hand = [Card.CARD_AS, Card.CARD_KH, Card.CARD_6S, Card.CARD_7D]
    assert format_hand(hand, SPADES) == "7♦ K♥ │ 6♠ A♠"
    assert format_cards([Card.CARD_6H, Card.CARD_UNSPECIFIED]) == "6♥ ▮"


def test_suits_have_colours_and_trumps_are_underlined() -> None:
    console = Console(file=io.StringIO(), force_terminal=True, color_system="standard", width=60)
    console.print(colour_cards("Anna leads 10♥ and 6♠", SPADES))
    assert isinstance(console.file, io.StringIO)
    assert console.file.getvalue() == "Anna leads \x1b[1;31m10♥\x1b[0m and \x1b[1;4m6♠\x1b[0m\n"


def a_defence(*, tricky: bool = False) -> TableView:
    """Return the view of Boris, who faces 6♥ and 6♣ with 9♥, 6♦ and the trump 7♠."""
    table = [
        TableCard(attack_card=Card.CARD_6H, attack_seat=0, attack_version=7),
        TableCard(attack_card=Card.CARD_6C, attack_seat=0, attack_version=8),
    ]
    moves = Moves(
        defend=[
            DefendOptions(attack_card=Card.CARD_6H, cards=[Card.CARD_7S, Card.CARD_9H]),
            DefendOptions(attack_card=Card.CARD_6C, cards=[Card.CARD_7S]),
        ],
        transfer=[Card.CARD_6D],
        can_take=True,
    )
    return TableView(
        seats=[
            SeatView(seat=0, taken=True, display_name="Anna", card_count=4),
            SeatView(seat=1, taken=True, display_name="Boris", card_count=3),
        ],
        settings=Settings(deck=Deck.DECK_36, seats=2, throw_in=ThrowIn.THROW_IN_ALL, tricky=tricky),
        your_seat=1,
        phase=PHASE_PLAYING,
        attacker=0,
        defender=1,
        on_clock=[1],
        attacks_left=1,
        hand=[Card.CARD_6D, Card.CARD_9H, Card.CARD_7S],
        trump_suit=Suit.SUIT_SPADES,
        trump_card=Card.CARD_AS,
        bout=4,
        stock_count=2,
        table=table,
        moves=moves,
    )


def offered(view: TableView) -> list[Choice]:
    return list_choices(view, seat_names(view.seats, TRANSLATE), TRANSLATE)


def test_a_table_shows_bout_seats_cards_and_hand() -> None:
    assert table_lines(a_defence(), TRANSLATE) == [
        "Bout 4 · trumps ♠ (A♠) · stock 2 · discard pile 0",
        "  Anna    4 ▮▮▮▮ attacks",
        "  Boris   3 ▮▮▮ you, defends, to move",
        "On the table: 6♥/… 6♣/…",
        "One more attack card is allowed.",
        "Your hand: 6♦ 9♥ │ 7♠",
    ]


def test_moves_are_offered_weakest_card_first() -> None:
    assert [choice.text for choice in offered(a_defence())] == [
        "beat 6♥ with 9♥",
        "beat 6♥ with 7♠",
        "beat 6♣ with 7♠",
        "transfer with 6♦",
        "take",
    ]


@pytest.mark.parametrize(
    ("answer", "meaning"),
    [
        ("1", "defend 6♥ 9♥"),
        ("9h", "defend 6♥ 9♥"),
        ("6c 7s", "defend 6♣ 7♠"),
        ("6♥ 7п", "defend 6♥ 7♠"),
        ("6d", "transfer 6♦"),
        ("TAKE", "take"),
        ("беру", "take"),
        ("7s", "answer-ambiguous"),
        ("6c 9h", "answer-not-now"),
        ("pass", "answer-not-now"),
        ("6", "answer-unknown"),
        ("0", "answer-unknown"),
        ("hello", "answer-unknown"),
        ("?", "HELP"),
        ("leave", "LEAVE"),
        ("выход", "QUIT"),
    ],
)
def test_an_answer_is_a_number_a_card_or_a_keyword(answer: str, meaning: str) -> None:
    view = a_defence()
    assert short(parse_answer(answer, offered(view), view)) == meaning


def test_R11_1_at_a_tricky_table_an_illegal_card_is_sent_as_it_is() -> None:
    view = a_defence(tricky=True)
    assert short(parse_answer("6c 9h", offered(view), view)) == "defend 6♣ 9♥"
    assert short(parse_answer("6c Kh", offered(view), view)) == "answer-not-now"  # not held


def short(meaning: Move | Keyword | InvalidAnswer) -> str:
    """Return a meaning as a short text."""
    if isinstance(meaning, InvalidAnswer):
        return meaning.key
    if isinstance(meaning, Keyword):
        return meaning.name
    kind = meaning.WhichOneof("kind") or ""
    move = getattr(meaning, kind)
    cards = [value for _, value in move.ListFields()]
    return " ".join((kind, *(card_name(card) for card in cards)))


def test_narration_counts_hands_and_stock_without_hidden_cards() -> None:
    hidden = [Card.CARD_UNSPECIFIED] * 6
    stock = [Card.CARD_UNSPECIFIED] * 23 + [Card.CARD_9S]
    dealt = events_pb2.Dealt(
        hands=[
            events_pb2.DealtHand(seat=0, cards=hidden),
            events_pb2.DealtHand(seat=1, cards=hidden),
        ],
        trump_card=Card.CARD_9S,
        stock=stock,
        first_attacker=1,
    )
    settings = Settings(deck=Deck.DECK_36, seats=2, throw_in=ThrowIn.THROW_IN_ALL, transfer=True)
    draws = [
        events_pb2.SeatDraw(seat=1, cards=[Card.CARD_UNSPECIFIED]),
        events_pb2.SeatDraw(seat=0, cards=[Card.CARD_UNSPECIFIED]),
    ]
    took = events_pb2.Took(
        seat=0,
        cards=[Card.CARD_8D, Card.CARD_8C],
        reason=events_pb2.TOOK_REASON_DECLARED,
    )
    events = [
        Event(table_opened=events_pb2.TableOpened(settings=settings, owner_id="ann")),
        Event(seat_taken=events_pb2.SeatTaken(seat=0, player_id="ann", display_name="Anna\x1b")),
        Event(seat_taken=events_pb2.SeatTaken(seat=1, bot_level=BOT_LEVEL_EASY)),
        Event(dealt=dealt),
        Event(attacked=events_pb2.Attacked(seat=1, card=Card.CARD_6H)),
        Event(defended=events_pb2.Defended(seat=0, attack_card=Card.CARD_6H, card=Card.CARD_7H)),
        Event(passed=events_pb2.Passed(seat=1)),
        Event(discarded=events_pb2.Discarded(cards=[Card.CARD_6H, Card.CARD_7H])),
        Event(drew=events_pb2.Drew(draws=draws)),
        Event(attacked=events_pb2.Attacked(seat=0, card=Card.CARD_8D)),
        Event(transferred=events_pb2.Transferred(seat=1, card=Card.CARD_8C)),
        Event(take_declared=events_pb2.TakeDeclared(seat=0)),
        Event(took=took),
        Event(attacked=events_pb2.Attacked(seat=1, card=Card.CARD_9C)),
    ]
    narrator = Narrator(TRANSLATE)
    assert [line for event in events for line in narrator.numbered_lines(event)] == [
        "    1  A table is opened: 36 cards, 2 seats, perevodnoy, all throw in, no draws.",
        "    2  Anna sits down on seat 0.",
        "    3  Bot 1 (easy) sits down on seat 1.",
        "    4  The cards are dealt: trumps are ♠ (9♠), 24 cards in the stock.",
        "",
        "Bout 1: Bot 1 (easy) attacks Anna · hands Anna 6, Bot 1 (easy) 6 · stock 24",
        "    5  Bot 1 (easy) leads 6♥.",
        "    6  Anna beats 6♥ with 7♥.",
        "    7  Bot 1 (easy) passes.",
        "    8  Beaten: 2 cards go to the discard pile.",
        "    9  Drawn: Bot 1 (easy) 1, Anna 1.",
        "",
        "Bout 2: Anna attacks Bot 1 (easy) · hands Anna 6, Bot 1 (easy) 6 · stock 22",
        "   10  Anna leads 8♦.",
        "   11  Bot 1 (easy) transfers to Anna with 8♣.",
        "   12  Anna says “take”.",
        "   13  Anna picks up 2 cards on the table: 8♦ 8♣.",
        "",
        "Bout 3: Bot 1 (easy) attacks Anna · hands Anna 7, Bot 1 (easy) 5 · stock 22",
        "   14  Bot 1 (easy) leads 9♣.",
    ]


def test_players_of_the_same_name_have_their_seat_added() -> None:
    names = Names(TRANSLATE)
    names.add(0, "Anna", BOT_LEVEL_UNSPECIFIED)
    names.add(2, "Anna", BOT_LEVEL_UNSPECIFIED)
    assert names.join([0, 1, 2]) == "Anna, seat 1, Anna (2)"
