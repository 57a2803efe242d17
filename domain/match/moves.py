"""The legal moves of a seat.

`decide` accepts exactly these, and on tricky tables also the illegal cards of R11.1, which this
list never contains.
"""

from domain.cards import BEATERS, RANK_MASK, RANK_OF, cards_in
from domain.match.decide import transfer_room
from domain.match.fold import Match
from durak.v1.table_pb2 import PHASE_PLAYING, Moves


def legal_moves(match: Match, seat: int) -> Moves:
    """What the player on this seat can do now; all empty where it is nothing."""
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
    if match.table.transfer and not match.beaten_by and transfer_room(match) > len(match.attacks):
        rank_led = RANK_MASK[RANK_OF[match.attacks[0]]]
        moves.transfer.extend(cards_in(hand & rank_led))
