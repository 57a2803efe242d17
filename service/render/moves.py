"""The legal moves as a numbered list, and the parser for a player's typed answer.

An answer is a number, a card (`render.cards.parse_card`), a pair of cards to beat with (attack card
first), or a word. On tricky tables a held card that is not a legal move is sent as it is (R11.1).
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
from service.render.cards import parse_card, sort_by_strength
from service.render.table import trump_suit
from service.render.texts import Names
from service.text.localisation import Translate


class Keyword(Enum):
    """Answers that control the terminal or the seat instead of making a move."""

    HELP = auto()
    TABLE = auto()
    LEAVE = auto()
    QUIT = auto()


_KEYWORDS: Final = MappingProxyType(
    dict.fromkeys(("?", "help", "h", "помощь", "справка", "βοήθεια"), Keyword.HELP)
    | dict.fromkeys(("table", "стол", "τραπέζι"), Keyword.TABLE)
    | dict.fromkeys(("leave", "уйти", "φεύγω"), Keyword.LEAVE)
    | dict.fromkeys(("quit", "exit", "выход", "έξοδος"), Keyword.QUIT)
)
_TAKE: Final = frozenset({"take", "t", "беру", "взять", "παίρνω"})
_PASS: Final = frozenset({"pass", "p", "пас", "бито", "πάσο"})


@dataclass(frozen=True, slots=True)
class Choice:
    """A legal move with its text, and the cards that a player can type for it."""

    move: Move
    text: str
    """For the menu, in the player's language."""
    card: Card | None = None
    """The card to play; None for moves without one."""
    attack_card: Card | None = None
    """The attack card to beat; None for other moves."""


@dataclass(frozen=True, slots=True)
class InvalidAnswer:
    """An answer that is not a move now: the message of `table.ftl` and its variables."""

    key: str
    arguments: dict[str, str]


def list_choices(view: TableView, names: Names, translate: Translate) -> list[Choice]:
    """Return the legal moves of the view's reader, weakest cards first."""
    found = []
    trumps = trump_suit(view)
    for option in view.moves.defend:
        for card in sort_by_strength(option.cards, trumps):
            move = Move(defend=DefendMove(attack_card=option.attack_card, card=card))
            text = translate(
                "move-beat", attack_card=card_name(option.attack_card), card=card_name(card)
            )
            found.append(Choice(move, text, card, option.attack_card))
    for card in sort_by_strength(view.moves.transfer, trumps):
        text = translate("move-transfer", card=card_name(card))
        found.append(Choice(Move(transfer=TransferMove(card=card)), text, card))
    key = "move-throw-in" if view.table else "move-lead"
    for card in sort_by_strength(view.moves.attack, trumps):
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
    """Return the number from 0 to 999 that an answer consists of; None for other answers."""
    text = answer.strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) < 4 else None


def parse_answer(
    answer: str, offered: Sequence[Choice], view: TableView
) -> Move | Keyword | InvalidAnswer:
    """Return the meaning of an answer to the moves on offer."""
    text = " ".join(answer.casefold().split())
    if text in _KEYWORDS:
        return _KEYWORDS[text]
    number = parse_number(text)
    if number is not None and 1 <= number <= len(offered):
        return offered[number - 1].move
    if text in _TAKE | _PASS:
        kind = "take" if text in _TAKE else "pass"
        matching = [choice.move for choice in offered if choice.move.WhichOneof("kind") == kind]
        return matching[0] if matching else _not_now(answer)
    cards = [parse_card(part) for part in text.split()]
    if cards and None not in cards and len(cards) <= 2:
        return _parse_cards([card for card in cards if card], offered, view)
    return InvalidAnswer("answer-unknown", {"answer": answer.strip()})


def _parse_cards(
    cards: Sequence[Card], offered: Sequence[Choice], view: TableView
) -> Move | Keyword | InvalidAnswer:
    *attack_cards, card = cards
    matching = [
        choice
        for choice in offered
        if choice.card == card and (not attack_cards or choice.attack_card == attack_cards[0])
    ]
    if len(matching) == 1:
        return matching[0].move
    if matching:
        return InvalidAnswer("answer-ambiguous", {"card": card_name(card)})
    if view.settings.tricky and card in view.hand:
        return _illegal_play(cards, view)
    return _not_now(" ".join(card_name(each) for each in cards))


def _illegal_play(cards: Sequence[Card], view: TableView) -> Move | InvalidAnswer:
    """Return the illegal play of a held card, in the reader's own role (R11.1)."""
    *attack_cards, card = cards
    if view.your_seat != view.defender:
        return Move(attack=AttackMove(card=card))
    if attack_cards:
        return Move(defend=DefendMove(attack_card=attack_cards[0], card=card))
    unbeaten = [laid.attack_card for laid in view.table if not laid.defence.card]
    if len(unbeaten) == 1:
        return Move(defend=DefendMove(attack_card=unbeaten[0], card=card))
    return InvalidAnswer("answer-ambiguous", {"card": card_name(card)})


def _not_now(answer: str) -> InvalidAnswer:
    return InvalidAnswer("answer-not-now", {"card": answer.strip()})
