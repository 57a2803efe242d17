"""No view and no event shows a card that its reader may not see (C17, C18, R11.2, R14.1)."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from google.protobuf.message import Message

from domain.cards import Card, cards_in
from domain.match.fold import Match
from domain.match.view import match_summary, redact, table_view
from durak.v1.cards_pb2 import Card as CardEnum
from durak.v1.events_pb2 import Dealt, DealtHand, Drew, Event, Record, SeatDraw
from durak.v1.settings_pb2 import BotLevel, Settings
from durak.v1.table_pb2 import PHASE_PLAYING
from tests.domain.random_play import all_settings, dealt_by_seed, play_out, step
from tests.domain.tables import SERVER_SEED, Table, cards, dealt, opened, settings

SOME_SETTINGS = list(all_settings())[::37]  # 23 settings with every deck and number of seats


def cards_shown(message: Message) -> Iterator[Card]:
    """All cards in all fields of a message, found by type and not by name."""
    for field, value in message.ListFields():
        if field.message_type:
            for part in value if field.is_repeated else [value]:
                yield from cards_shown(part)
        elif field.enum_type and field.enum_type.full_name == "durak.v1.Card":
            yield from (value if field.is_repeated else [value])


class Known:
    """The cards that a reader may know: all that were ever open to it, from the log alone."""

    def __init__(self, viewer: int | None) -> None:
        self.viewer = viewer
        self.cards: set[int] = {0}

    def learn(self, event: Event) -> None:
        """Add the cards that R3, R8 and the moves show to this reader."""
        kind = event.WhichOneof("kind")
        if kind == "dealt":
            self.cards.add(event.dealt.trump_card)
            hands = event.dealt.hands
            self.cards.update(c for hand in hands if hand.seat == self.viewer for c in hand.cards)
        elif kind == "drew":
            draws = event.drew.draws
            self.cards.update(c for draw in draws if draw.seat == self.viewer for c in draw.cards)
        elif kind == "attacked":
            self.cards.add(event.attacked.card)
        elif kind == "defended":
            self.cards.add(event.defended.card)
        elif kind == "transferred":
            self.cards.add(event.transferred.card)


@pytest.mark.parametrize("wanted", SOME_SETTINGS, ids=lambda s: " ".join(str(s).split()))
def test_C17_C18_views_and_events_show_only_what_the_reader_may_know(wanted: Settings) -> None:
    chance = random.Random(str(wanted))
    table = dealt_by_seed(wanted, chance.getrandbits(64))
    seed = table.match.table.server_seed
    play_out(table, chance)
    readers = [Known(viewer) for viewer in (None, *range(wanted.seats))]
    match = Match()
    for record in table.records:
        match.apply(record)
        over = record.event.HasField("finished")
        for reader in readers:
            reader.learn(record.event)
            shown = redact(record.event, reader.viewer, match.trump_card)
            view = table_view(match, reader.viewer)
            for message in (shown, view, match_summary(match)):
                assert set(cards_shown(message)) <= reader.cards
                assert (seed in message.SerializeToString()) == (over and seed_belongs(message))
            if reader.viewer is None:
                assert not view.hand
                assert not view.HasField("moves")


def seed_belongs(message: Any) -> bool:
    """After the end the server seed is in the last event, in views and in summaries."""
    return not isinstance(message, Event) or message.HasField("finished")


def test_a_seat_sees_its_own_cards_and_the_trump_card_in_any_hand() -> None:
    mine, theirs, trump = cards("5♣ 6♣"), cards("7♣ 8♣"), CardEnum.CARD_8C
    draws = [SeatDraw(seat=0, cards=mine), SeatDraw(seat=1, cards=theirs)]
    hands = [DealtHand(seat=0, cards=mine), DealtHand(seat=1, cards=theirs)]
    deal = Dealt(hands=hands, stock=cards("9♣ 10♣"), trump_card=trump)

    drew = redact(Event(drew=Drew(draws=draws)), 0, trump).drew
    shown = redact(Event(dealt=deal), 0, trump).dealt

    assert [list(draw.cards) for draw in drew.draws] == [mine, [0, trump]]
    assert [list(hand.cards) for hand in shown.hands] == [mine, [0, trump]]
    assert list(shown.stock) == [0, 0]
    assert shown.trump_card == trump


def test_the_seeds_of_the_server_and_of_bots_are_hidden() -> None:
    table = opened(settings())
    shown = redact(table.records[0].event, None, CardEnum.CARD_UNSPECIFIED)
    assert shown.table_opened.server_seed == b""
    assert len(shown.table_opened.server_seed_hash) == 32
    assert SERVER_SEED not in table_view(table.match, None).SerializeToString()
    bot = Event()
    bot.seat_taken.bot_level = BotLevel.BOT_LEVEL_EASY
    bot.seat_taken.bot_seed = 12345
    assert redact(bot, 0, CardEnum.CARD_UNSPECIFIED).seat_taken.bot_seed == 0
    assert bot.seat_taken.bot_seed == 12345, "the stored event is untouched"


# --- matches that differ only in hidden cards look the same -------------------------------------


@pytest.mark.parametrize("seed", range(12))
def test_C17_matches_that_differ_only_in_hidden_cards_give_identical_views(seed: int) -> None:
    chance = random.Random(seed)
    wanted = chance.choice([s for s in SOME_SETTINGS if s.deck != 24 and s.seats < 5])
    table = dealt_by_seed(wanted, seed)
    for _ in range(chance.randrange(1, 60)):
        if table.match.phase == PHASE_PLAYING:
            table.store(step(table, chance))
    twins = list(hidden_pairs(table, viewer=0))
    if table.match.phase != PHASE_PLAYING or not twins:
        pytest.skip("nothing is hidden any more")
    for one, other in chance.sample(twins, min(len(twins), 5)):
        twin = Match()
        for record, copied in zip(table.records, exchanged(table.records, one, other), strict=True):
            twin.apply(copied)
            for viewer in (0, None):
                mine, theirs = (
                    redact(each.event, viewer, twin.trump_card) for each in (record, copied)
                )
                assert mine == theirs
        for viewer in (0, None):
            assert table_view(twin, viewer) == table_view(table.match, viewer)
        assert match_summary(twin) == match_summary(table.match)


def hidden_pairs(table: Table, viewer: int) -> Iterator[tuple[Card, Card]]:
    """Pairs of cards in two different hidden places that the viewer has never seen."""
    known = Known(viewer)
    for record in table.records:
        known.learn(record.event)
    match = table.match
    place_of = {
        card: seat
        for seat, hand in enumerate(match.hands)
        for card in cards_in(hand)
        if card not in known.cards
    }
    place_of |= {card: -1 for card in match.stock if card not in known.cards}
    lowest = min((c for c in place_of if (c - 1) // 13 == match.trump_suit), default=None)
    for one, first in place_of.items():
        for other, second in place_of.items():
            if one < other and first != second and lowest not in (one, other):
                yield one, other


def exchanged(records: Iterable[Record], one: Card, other: Card) -> list[Record]:
    """The log with the two cards exchanged in all hidden hands and in the stock."""
    swap = {one: other, other: one}
    copies = []
    for record in records:
        copy = Record.FromString(record.SerializeToString())
        kind = copy.event.WhichOneof("kind")
        lists = []
        if kind == "dealt":
            lists = [*(hand.cards for hand in copy.event.dealt.hands), copy.event.dealt.stock]
        elif kind == "drew":
            lists = [draw.cards for draw in copy.event.drew.draws]
        for places in lists:
            places[:] = [swap.get(card, card) for card in places]
        copies.append(copy)
    return copies


def test_R3_3_the_trump_card_in_a_hand_is_open() -> None:
    six = ["6♣ 7♣ 8♣ 9♣ 10♣ J♣", "Q♣ K♣ A♣ 6♦ 7♦ 8♦", "9♦ 10♦ J♦ Q♦ K♦ A♦"]
    six += ["6♥ 7♥ 8♥ 9♥ 10♥ J♥", "Q♥ K♥ A♥ 6♠ 7♠ 8♠", "9♠ 10♠ J♠ Q♠ K♠ A♠"]
    table = dealt(*six, trump="A♠")
    deal = table.records[-1].event
    shown = redact(deal, None, table.match.trump_card)
    assert set(cards_shown(shown)) == {0, CardEnum.CARD_AS}
    assert list(shown.dealt.hands[5].cards) == [0, 0, 0, 0, 0, CardEnum.CARD_AS]
