"""The legal moves of a seat.

`domain.decide` accepts exactly these, and on tricky tables also the illegal cards of R11.1, which
are listed nowhere.
"""

from domain.cards import BEATERS, RANK_MASK, RANK_OF, cards_in
from domain.decide import transfer_room
from domain.match import Match
from durak.v1.table_pb2 import Moves, Phase


def legal_moves(match: Match, seat: int) -> Moves:
    """What the player on this seat can do now; all empty where it is nothing."""
    moves = Moves()
    if match.phase != Phase.PHASE_PLAYING or not match.in_play >> seat & 1:
        return moves
    hand = match.hands[seat]
    if seat == match.defender:
        _defences(match, hand, moves)
    elif not match.pairs:
        if seat == match.attacker:
            moves.attack.extend(cards_in(hand))
    else:
        if len(match.pairs) < match.cap and match.throwers() >> seat & 1:
            moves.attack.extend(cards_in(hand & match.ranks_on_table))
        if match.taking or not match.unbeaten:
            moves.can_pass = bool(match.awaited() >> seat & 1)
    if match.plays:
        moves.challenge.extend(v for v, play in match.plays.items() if play.seat != seat)
    return moves


def _defences(match: Match, hand: int, moves: Moves) -> None:
    if not match.unbeaten or match.taking:
        return
    beaters = BEATERS[match.trump_suit]
    for pair in match.pairs:
        if not pair.defence:
            options = hand & beaters[pair.attack]
            if options:
                moves.defend.add(attack_card=pair.attack, cards=cards_in(options))
    moves.can_take = True
    if (
        match.table.transfer
        and match.unbeaten == len(match.pairs)
        and transfer_room(match) > len(match.pairs)
    ):
        rank_led = RANK_MASK[RANK_OF[match.pairs[0].attack]]
        moves.transfer.extend(cards_in(hand & rank_led))
