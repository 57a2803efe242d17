"""The moves that a player has, numbered, and the one that an answer means.

An answer is a number, a card (`render.cards.parse_card`), a pair of cards for beating (attack card
first), or a word. On tricky tables a card that is not among the legal moves is taken as a cheat
(R11.1): the server lets it stand.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto
from types import MappingProxyType
from typing import Final

from domain.cards import Card, card_name
from domain.match.move_messages import pass_turn
from durak.v1.table_pb2 import (
    AttackMove,
    ChallengeMove,
    DefendMove,
    Move,
    TableView,
    TakeMove,
    TransferMove,
)
from service.render.cards import by_strength, parse_card
from service.render.table import trump_suit
from service.render.texts import Names, Translate


class Keyword(Enum):
    """Answers that are no moves."""

    HELP = auto()
    TABLE = auto()
    LEAVE = auto()
    QUIT = auto()


_WORDS: Final = MappingProxyType(
    dict.fromkeys(("?", "help", "h", "помощь", "справка", "βοήθεια"), Keyword.HELP)
    | dict.fromkeys(("table", "стол", "τραπέζι"), Keyword.TABLE)
    | dict.fromkeys(("leave", "уйти", "φεύγω"), Keyword.LEAVE)
    | dict.fromkeys(("quit", "exit", "выход", "έξοδος"), Keyword.QUIT)
)
_TAKE: Final = frozenset({"take", "t", "беру", "взять", "παίρνω"})
_PASS: Final = frozenset({"pass", "p", "пас", "бито", "πάσο"})


@dataclass(frozen=True, slots=True)
class Choice:
    """A legal move, what it is called, and the cards that name it: attack card, own card."""

    move: Move
    text: str
    card: Card | None = None
    attack_card: Card | None = None


@dataclass(frozen=True, slots=True)
class InvalidAnswer:
    """An answer that is no move now: a text of `table.ftl` and its arguments."""

    key: str
    arguments: dict[str, str]


def choices(view: TableView, names: Names, translate: Translate) -> list[Choice]:
    """The legal moves of the reader of a view, weakest cards first."""
    found = []
    trumps = trump_suit(view)
    for option in view.moves.defend:
        for card in by_strength(option.cards, trumps):
            move = Move(defend=DefendMove(attack_card=option.attack_card, card=card))
            text = translate(
                "move-beat", attack_card=card_name(option.attack_card), card=card_name(card)
            )
            found.append(Choice(move, text, card, option.attack_card))
    for card in by_strength(view.moves.transfer, trumps):
        text = translate("move-transfer", card=card_name(card))
        found.append(Choice(Move(transfer=TransferMove(card=card)), text, card))
    key = "move-throw-in" if view.table else "move-lead"
    for card in by_strength(view.moves.attack, trumps):
        text = translate(key, card=card_name(card))
        found.append(Choice(Move(attack=AttackMove(card=card)), text, card))
    if view.moves.can_take:
        found.append(Choice(Move(take=TakeMove()), translate("move-take")))
    if view.moves.can_pass:
        found.append(Choice(pass_turn(), translate("move-pass")))
    found.extend(_challenges(view, names, translate))
    return found


def _challenges(view: TableView, names: Names, translate: Translate) -> list[Choice]:
    plays = {card.attack_version: (card.attack_card, card.attack_seat) for card in view.table}
    plays |= {card.defence.version: (card.defence.card, card.defence.seat) for card in view.table}
    found = []
    for version in view.moves.challenge:
        card, seat = plays[version]
        text = translate("move-challenge", card=card_name(card), player=names[seat])
        found.append(Choice(Move(challenge=ChallengeMove(play_version=version)), text))
    return found


def parse_number(answer: str) -> int | None:
    """The number that an answer is."""
    text = answer.strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) < 4 else None


def parse_answer(
    answer: str, offered: Sequence[Choice], view: TableView
) -> Move | Keyword | InvalidAnswer:
    """What an answer means, given the moves that were offered."""
    text = " ".join(answer.casefold().split())
    if text in _WORDS:
        return _WORDS[text]
    number = parse_number(text)
    if number is not None and 1 <= number <= len(offered):
        return offered[number - 1].move
    if text in _TAKE | _PASS:
        kind = "take" if text in _TAKE else "pass"
        named = [choice.move for choice in offered if choice.move.WhichOneof("kind") == kind]
        return named[0] if named else _not_now(answer)
    cards = [parse_card(part) for part in text.split()]
    if cards and None not in cards and len(cards) <= 2:
        return _by_cards([card for card in cards if card], offered, view)
    return InvalidAnswer("answer-unknown", {"answer": answer.strip()})


def _by_cards(
    cards: Sequence[Card], offered: Sequence[Choice], view: TableView
) -> Move | Keyword | InvalidAnswer:
    *attack_cards, card = cards
    fitting = [
        choice
        for choice in offered
        if choice.card == card and (not attack_cards or choice.attack_card == attack_cards[0])
    ]
    if len(fitting) == 1:
        return fitting[0].move
    if fitting:
        return InvalidAnswer("answer-ambiguous", {"card": card_name(card)})
    if view.settings.tricky and card in view.hand:
        return _cheat(cards, view)
    return _not_now(" ".join(card_name(each) for each in cards))


def _cheat(cards: Sequence[Card], view: TableView) -> Move | InvalidAnswer:
    """A card without the right to play it, in the reader's own role (R11.1)."""
    *attack_cards, card = cards
    if view.your_seat != view.defender:
        return Move(attack=AttackMove(card=card))
    if attack_cards:
        return Move(defend=DefendMove(attack_card=attack_cards[0], card=card))
    unbeaten = [laid.attack_card for laid in view.table if not laid.defence.card]
    if len(unbeaten) == 1:
        return Move(defend=DefendMove(attack_card=unbeaten[0], card=card))
    return InvalidAnswer("answer-ambiguous", {"card": card_name(card)})


def _not_now(what: str) -> InvalidAnswer:
    return InvalidAnswer("answer-not-now", {"card": what.strip()})
