"""Texts of practice: situations, choices, events and results."""

from functools import partial
from types import MappingProxyType
from typing import Final

from domain.cards import CardMask, card_name, cards_in
from domain.endgame import EndgameMove, MoveKind, Value
from domain.practice import PLAYER, Puzzle, PuzzleMatch
from durak.v1.events_pb2 import Event, Finished, Outcome
from service.text.card_text import CardTexts

_SUITS: Final = ("clubs", "diamonds", "hearts", "spades")
_CHOICES: Final = MappingProxyType(
    {
        MoveKind.DEFEND: "choice-beat",
        MoveKind.TRANSFER: "choice-transfer",
        MoveKind.TAKE: "choice-take",
        MoveKind.PASS: "choice-pass",
        MoveKind.WAIT: "choice-wait",
    }
)


class PracticeTexts:
    """The texts of practice in every language. Reads the files when it is created."""

    def __init__(self) -> None:
        self._texts = CardTexts("practice")

    def of_puzzle(self, puzzle: Puzzle, started: PuzzleMatch, key: str, language: str) -> str:
        """Return a text of the puzzle itself: its title, its question, or a comment."""
        if puzzle.mined is None:
            return self._texts.spelling.spell(puzzle.texts[language][key], language)
        is_lead = not started.match.attacks
        [right] = puzzle.right
        role = "attacker" if is_lead else "thrower"
        return self._say(
            language,
            f"mined-{key}",
            role="defender" if started.match.defender == PLAYER else role,
            result=puzzle.mined.result.name.lower(),
            cards=_cards(puzzle.hands[PLAYER]),
            right=self.choice(right, language, is_lead=is_lead),
            mistake=self.choice(puzzle.mined.mistake, language, is_lead=is_lead),
        )

    def situation(self, puzzle: Puzzle, started: PuzzleMatch, language: str) -> str:
        """Describe the situation: trumps, unusual rules, the table, both hands."""
        say = partial(self._say, language)
        match = started.match
        sentences = [say("situation-trumps", suit=say(f"suit-{_SUITS[puzzle.trump_suit]}"))]
        if puzzle.transfer:
            sentences.append(say("situation-transfer"))
        if not puzzle.draw_allowed:
            sentences.append(say("situation-no-draw"))
        if match.attacks:
            laid = [
                say("beaten", attack=card_name(card), card=card_name(match.beaten_by[card]))
                if card in match.beaten_by
                else card_name(card)
                for card in match.attacks
            ]
            sentences.append(say("situation-table", cards=", ".join(laid)))
        if match.taking:
            sentences.append(say("situation-taking"))
        yours, theirs = (_cards(hand) or say("situation-no-cards") for hand in puzzle.hands)
        sentences.append(say("situation-hands", yours=yours, theirs=theirs))
        return " ".join(sentences)

    def open_hand(self, language: str) -> str:
        """Explain why the hand of the opponent is open."""
        return self._say(language, "open-hand")

    def choice(self, move: EndgameMove, language: str, *, is_lead: bool) -> str:
        """Describe a choice."""
        key = _CHOICES.get(move.kind, "choice-lead" if is_lead else "choice-throw")
        return self._say(language, key, card=_cards(move.card), attack=_cards(move.target))

    def step(self, event: Event, language: str, *, is_lead: bool) -> str:
        """Describe an event. `is_lead` distinguishes a lead from a card thrown in."""
        say = partial(self._say, language)
        match event.WhichOneof("kind"):
            case "attacked":
                attacked = event.attacked
                key = "step-led" if is_lead else "step-thrown"
                text = say(key, who=_who(attacked.seat), card=card_name(attacked.card))
            case "defended":
                defended = event.defended
                attack, card = card_name(defended.attack_card), card_name(defended.card)
                text = say("step-defended", who=_who(defended.seat), attack=attack, card=card)
            case "transferred":
                card = card_name(event.transferred.card)
                text = say("step-transferred", who=_who(event.transferred.seat), card=card)
            case "passed":
                text = say("step-passed", who=_who(event.passed.seat))
            case "take_declared":
                text = say("step-take-declared", who=_who(event.take_declared.seat))
            case "took":
                text = say("step-took", who=_who(event.took.seat), count=len(event.took.cards))
            case "discarded":
                text = say("step-discarded", count=len(event.discarded.cards))
            case "went_out":
                seats = event.went_out.seats
                text = say("step-went-out", who=_who(*seats) if len(seats) == 1 else "both")
            case "finished":
                text = say("step-finished", outcome=_outcome(event.finished))
            case kind:
                raise ValueError(f"{kind} does not happen in practice")
        return text

    def outcome(self, value: Value, language: str, *, is_over: bool) -> str:
        """Describe the result for the player: final, or with the best play from here on."""
        key = f"outcome-{value.name.lower()}"
        return self._say(language, key if is_over else f"{key}-later")

    def _say(self, language: str, key: str, **arguments: str | int) -> str:
        return self._texts.format(key, language, arguments)


def _cards(mask: CardMask) -> str:
    return " ".join(card_name(card) for card in cards_in(mask))


def _who(seat: int) -> str:
    return "you" if seat == PLAYER else "opponent"


def _outcome(finished: Finished) -> str:
    if finished.outcome == Outcome.OUTCOME_DRAW:
        return "draw"
    return "loss" if finished.durak == PLAYER else "win"
