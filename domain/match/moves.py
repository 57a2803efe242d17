"""Moves: the legal moves of a seat, and the event of a move or the refusal that names its rule.

`initiating_event` accepts exactly the moves that `legal_moves` lists, and on tricky tables also the
illegal cards of R11.1, which the list never contains.
"""

from domain.cards import BEATERS, BIT_OF, RANK_MASK, RANK_OF, Card, cards_in
from domain.match.fold import Match
from domain.match.refusal import Refusal
from durak.v1.errors_pb2 import ErrorReason as Reason
from durak.v1.events_pb2 import Challenged, Event
from durak.v1.table_pb2 import PHASE_PLAYING, Move, Moves


def legal_moves(match: Match, seat: int) -> Moves:
    """Return what the player on this seat may do now. All fields are empty if that is nothing."""
    moves = Moves()
    if match.phase != PHASE_PLAYING or not match.in_play >> seat & 1:
        return moves
    hand = match.hands[seat]
    if seat == match.defender:
        _defences(match, hand, moves)
    elif not match.attacks:
        if seat == match.attacker:
            moves.attack.extend(cards_in(hand))
    else:
        if len(match.attacks) < match.cap and match.throwers >> seat & 1:
            moves.attack.extend(cards_in(hand & match.ranks_on_table))
        if match.taking or not match.unbeaten:
            moves.can_pass = bool(match.awaited() >> seat & 1)
    if match.table.tricky:
        moves.challenge.extend(sorted(version for by, version in match.laid.values() if by != seat))
    return moves


def _defences(match: Match, hand: int, moves: Moves) -> None:
    if not match.unbeaten or match.taking:
        return
    beaters = BEATERS[match.trump_suit]
    for attack in match.attacks:
        if attack not in match.beaten_by:
            options = hand & beaters[attack]
            if options:
                moves.defend.add(attack_card=attack, cards=cards_in(options))
    moves.can_take = True
    if match.table.transfer and not match.beaten_by and match.transfer_room() > len(match.attacks):
        rank_led = RANK_MASK[RANK_OF[match.attacks[0]]]
        moves.transfer.extend(cards_in(hand & rank_led))


def initiating_event(match: Match, seat: int, move: Move) -> Event | Refusal:
    """Return the event of a move by the player on a seat, without its consequences.

    Raises ValueError for a move of no kind: requests are checked before they are decided.
    """
    refusal = _out_of_play(match, seat)
    if refusal is not None:
        return refusal
    match move.WhichOneof("kind"):
        case "attack":
            card = move.attack.card
            return _check_attack(match, seat, card) or _attacked(seat, card)
        case "defend":
            target, card = move.defend.attack_card, move.defend.card
            return _check_defend(match, seat, target, card) or _defended(seat, target, card)
        case "transfer":
            card = move.transfer.card
            return _check_transfer(match, seat, card) or _transferred(seat, card)
        case "take":
            return _check_take(match, seat) or _take_declared(seat)
        case "pass":
            return _check_pass(match, seat) or _passed(seat)
        case "challenge":
            version = move.challenge.play_version
            return _check_challenge(match, seat, version) or _challenged(match, seat, version)
        case _:
            raise ValueError("a move of no kind")


# --- the events: made empty and then filled, which takes half as long as from keywords -----------


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


def _challenged(match: Match, seat: int, play_version: int) -> Event:
    upheld = play_version in match.cheats  # R11.4
    return Event(challenged=Challenged(seat=seat, play_version=play_version, upheld=upheld))


# --- the checks, in the order in which their refusals are given -----------------------------------


def _out_of_play(match: Match, seat: int) -> Refusal | None:
    """Return why this seat cannot move at all, or None."""
    if match.phase != PHASE_PLAYING:
        return Refusal(Reason.ERROR_REASON_MATCH_NOT_IN_PLAY, "R3.0")
    if not match.in_play >> seat & 1:
        return Refusal(Reason.ERROR_REASON_SEAT_IS_OUT, "R9.1")
    return None


def _check_attack(match: Match, seat: int, card: Card) -> Refusal | None:
    """Return why a seat in play may not lead or throw in this card, or None (R4.1, R4.3, R5)."""
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


def _check_defend(match: Match, seat: int, target: Card, card: Card) -> Refusal | None:
    """Return why a seat in play may not beat ``target`` with this card, or None (R4.2, R1.3)."""
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


def _check_transfer(match: Match, seat: int, card: Card) -> Refusal | None:
    """Return why a seat in play may not transfer the attack with this card, or None (R6)."""
    if not match.table.transfer:
        return Refusal(Reason.ERROR_REASON_TRANSFER_OFF, "R6")
    refusal = _check_defends(match, seat, "R6.1") or _check_held(match, seat, card, "R6.1")
    if refusal is not None:
        return refusal
    if match.transfer_room() < len(match.attacks) + 1:
        return Refusal(Reason.ERROR_REASON_TRANSFER_TOO_MANY, "R6.2")
    if match.table.tricky:
        return None
    if match.beaten_by:
        return Refusal(Reason.ERROR_REASON_TRANSFER_TOO_LATE, "R6.1")
    if not RANK_MASK[RANK_OF[match.attacks[0]]] & BIT_OF[card]:
        return Refusal(Reason.ERROR_REASON_NOT_THE_RANK_LED, "R6.1")
    return None


def _check_take(match: Match, seat: int) -> Refusal | None:
    """Return why a seat in play may not say "take", or None (R7.2)."""
    refusal = _check_defends(match, seat, "R7.2")
    if refusal is not None:
        return refusal
    if not match.unbeaten:
        return Refusal(Reason.ERROR_REASON_NOTHING_TO_TAKE, "R7.2")
    return None


def _check_pass(match: Match, seat: int) -> Refusal | None:
    """Return why a seat in play may not pass, or None (R5.3, R11.5)."""
    if seat == match.defender:
        return Refusal(Reason.ERROR_REASON_NOT_YOUR_TURN, "R5.3")
    if not match.attacks or (match.unbeaten and not match.taking):
        return Refusal(Reason.ERROR_REASON_PASS_TOO_EARLY, "R5.3")
    if match.passed >> seat & 1:
        return Refusal(Reason.ERROR_REASON_ALREADY_PASSED, "R5.3")
    if not match.awaited() >> seat & 1:
        return Refusal(Reason.ERROR_REASON_NOTHING_TO_PASS, "R5.3")
    return None


def _check_challenge(match: Match, seat: int, play_version: int) -> Refusal | None:
    """Return why a seat in play may not challenge this play, or None (R11.3)."""
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
