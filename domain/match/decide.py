"""Deciding a move: the events that it makes, or the refusal that names its rule.

Nothing here changes a match. A move that is taken gives one event for the deed, followed by all
that the rules make of it: the bout closes, hands are filled, seats go out, the match ends.
"""

from domain.cards import BEATERS, BIT_OF, RANK_MASK, RANK_OF, Card
from domain.match.consequences import Outcome, outcome, with_consequences
from domain.match.fold import Match
from domain.match.refusal import Refusal
from durak.v1.errors_pb2 import ErrorReason as Reason
from durak.v1.events_pb2 import Challenged, Event
from durak.v1.table_pb2 import PHASE_PLAYING, Move


def decide(match: Match, seat: int, move: Move) -> list[Event] | Refusal:
    """The events of a move by the player on a seat, or why it is refused.

    Args:
        match: the table as it stands.
        seat: the seat of the player who moves.
        move: the move; its cards are numbers of the contract.
    """
    deed = _deed(match, seat, move)
    if isinstance(deed, Refusal):
        return deed
    if deed.HasField("attacked") and not match.taking:
        return [deed]  # nothing follows from a card that waits to be beaten
    return with_consequences(match, deed)


def play(match: Match, seat: int, move: Move) -> Outcome | Refusal:
    """As `decide`, with the match that the move leaves."""
    deed = _deed(match, seat, move)
    return deed if isinstance(deed, Refusal) else outcome(match, deed)


def _deed(match: Match, seat: int, move: Move) -> Event | Refusal:
    refusal = out_of_play(match, seat)
    if refusal is not None:
        return refusal
    match move.WhichOneof("kind"):
        case "attack":
            card = move.attack.card
            return check_attack(match, seat, card) or _attacked(seat, card)
        case "defend":
            target, card = move.defend.attack_card, move.defend.card
            return check_defend(match, seat, target, card) or _defended(seat, target, card)
        case "transfer":
            card = move.transfer.card
            return check_transfer(match, seat, card) or _transferred(seat, card)
        case "take":
            return check_take(match, seat) or _take_declared(seat)
        case "pass":
            return check_pass(match, seat) or _passed(seat)
        case "challenge":
            version = move.challenge.play_version
            return check_challenge(match, seat, version) or Event(
                challenged=Challenged(
                    seat=seat, play_version=version, upheld=version in match.cheats
                )
            )
        case _:
            raise ValueError("a move of no kind: check the request before deciding it")


# --- the deeds: made empty and then filled, which takes half as long as making them of keywords ---


def _attacked(seat: int, card: Card) -> Event:
    event = Event()
    attacked = event.attacked
    attacked.seat = seat
    attacked.card = card
    return event


def _defended(seat: int, target: Card, card: Card) -> Event:
    event = Event()
    defended = event.defended
    defended.seat = seat
    defended.attack_card = target
    defended.card = card
    return event


def _transferred(seat: int, card: Card) -> Event:
    event = Event()
    transferred = event.transferred
    transferred.seat = seat
    transferred.card = card
    return event


def _take_declared(seat: int) -> Event:
    event = Event()
    event.take_declared.seat = seat
    return event


def _passed(seat: int) -> Event:
    event = Event()
    event.passed.seat = seat
    return event


# --- the checks, in the order in which their refusals are given -------------------------------


def out_of_play(match: Match, seat: int) -> Refusal | None:
    """Whether this seat can move at all."""
    if match.phase != PHASE_PLAYING:
        return Refusal(Reason.ERROR_REASON_MATCH_NOT_IN_PLAY, "R3.0")
    if not match.in_play >> seat & 1:
        return Refusal(Reason.ERROR_REASON_SEAT_IS_OUT, "R9.1")
    return None


def check_attack(match: Match, seat: int, card: Card) -> Refusal | None:
    """Whether a seat in play may lead this card, or throw it in (R4.1, R4.3, R5)."""
    if not match.attacks:
        if seat != match.attacker:
            return Refusal(Reason.ERROR_REASON_NOT_YOUR_TURN, "R4.1")
        return _check_held(match, seat, card, "R4.1")
    if seat == match.defender:
        return Refusal(Reason.ERROR_REASON_NOT_YOUR_TURN, "R5.2")
    if not match.throwers >> seat & 1:
        return Refusal(Reason.ERROR_REASON_NOT_A_NEIGHBOUR, "R5.2")
    refusal = _check_held(match, seat, card, "R5.1")
    if refusal is not None:
        return refusal
    if len(match.attacks) >= match.cap:
        return Refusal(Reason.ERROR_REASON_CAP_REACHED, "R4.3")
    if not match.ranks_on_table & BIT_OF[card] and not match.table.tricky:
        return Refusal(Reason.ERROR_REASON_RANK_NOT_ON_TABLE, "R5.1")
    return None


def check_defend(match: Match, seat: int, target: Card, card: Card) -> Refusal | None:
    """Whether a seat in play may beat this attack card with this card (R4.2, R1.3)."""
    refusal = _check_defends(match, seat, "R4.2")
    if refusal is not None:
        return refusal
    if target not in match.attacks:
        return Refusal(Reason.ERROR_REASON_NO_SUCH_ATTACK_CARD, "R4.2")
    if target in match.beaten_by:
        return Refusal(Reason.ERROR_REASON_ALREADY_BEATEN, "R4.2")
    refusal = _check_held(match, seat, card, "R4.2")
    if refusal is not None:
        return refusal
    if not BEATERS[match.trump_suit][target] & BIT_OF[card] and not match.table.tricky:
        return Refusal(Reason.ERROR_REASON_DOES_NOT_BEAT, "R1.3")
    return None


def check_transfer(match: Match, seat: int, card: Card) -> Refusal | None:
    """Whether a seat in play may transfer the attack with this card (R6)."""
    if not match.table.transfer:
        return Refusal(Reason.ERROR_REASON_TRANSFER_OFF, "R6")
    refusal = _check_defends(match, seat, "R6.1") or _check_held(match, seat, card, "R6.1")
    if refusal is not None:
        return refusal
    if transfer_room(match) < len(match.attacks) + 1:
        return Refusal(Reason.ERROR_REASON_TRANSFER_TOO_MANY, "R6.2")
    if match.table.tricky:
        return None
    if match.beaten_by:
        return Refusal(Reason.ERROR_REASON_TRANSFER_TOO_LATE, "R6.1")
    if not RANK_MASK[RANK_OF[match.attacks[0]]] & BIT_OF[card]:
        return Refusal(Reason.ERROR_REASON_NOT_THE_RANK_LED, "R6.1")
    return None


def transfer_room(match: Match) -> int:
    """The most attack cards that the next seat may face (R6.2)."""
    held = match.hands[match.next_in_play(match.defender)].bit_count()
    return min(held, match.attacks_max)


def check_take(match: Match, seat: int) -> Refusal | None:
    """Whether a seat in play may say "take" (R7.2)."""
    refusal = _check_defends(match, seat, "R7.2")
    if refusal is not None:
        return refusal
    if not match.unbeaten:
        return Refusal(Reason.ERROR_REASON_NOTHING_TO_TAKE, "R7.2")
    return None


def check_pass(match: Match, seat: int) -> Refusal | None:
    """Whether a seat in play may pass (R5.3, R11.5)."""
    if seat == match.defender:
        return Refusal(Reason.ERROR_REASON_NOT_YOUR_TURN, "R5.3")
    if not match.attacks or (match.unbeaten and not match.taking):
        return Refusal(Reason.ERROR_REASON_PASS_TOO_EARLY, "R5.3")
    if match.passed >> seat & 1:
        return Refusal(Reason.ERROR_REASON_ALREADY_PASSED, "R5.3")
    if not match.awaited() >> seat & 1:
        return Refusal(Reason.ERROR_REASON_NOTHING_TO_PASS, "R5.3")
    return None


def check_challenge(match: Match, seat: int, play_version: int) -> Refusal | None:
    """Whether a seat in play may challenge this play (R11.3)."""
    if not match.table.tricky:
        return Refusal(Reason.ERROR_REASON_NOT_TRICKY, "R11")
    accused = match.player_of(play_version)
    if accused is None:
        return Refusal(Reason.ERROR_REASON_NO_SUCH_PLAY, "R11.3")
    if accused == seat:
        return Refusal(Reason.ERROR_REASON_OWN_PLAY, "R11.3")
    return None


def _check_defends(match: Match, seat: int, clause: str) -> Refusal | None:
    if seat != match.defender:
        return Refusal(Reason.ERROR_REASON_NOT_YOUR_TURN, clause)
    if not match.attacks:
        return Refusal(Reason.ERROR_REASON_NOTHING_LED, "R4.1")
    if match.taking:
        return Refusal(Reason.ERROR_REASON_TAKE_DECLARED, "R7.2")
    return None


def _check_held(match: Match, seat: int, card: Card, clause: str) -> Refusal | None:
    if not 0 < card < len(BIT_OF) or not match.hands[seat] & BIT_OF[card]:
        return Refusal(Reason.ERROR_REASON_CARD_NOT_HELD, clause)
    return None
