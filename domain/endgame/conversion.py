"""The ending that stands on the table of a match."""

from domain.cards import CardMask, mask_of
from domain.endgame.position import Position, Role
from domain.match.state import ATTACK_CARDS_MAX_OPENING, State


def position_from_match(match: State, seat: int) -> Position:
    """A match of two seats with an empty stock as the solver takes it, where a seat may move.

    Raises ValueError where it is no such position (R10.1, R5.1).
    """
    unbeaten: CardMask = mask_of(card for card in match.attacks if card not in match.beaten_by)
    return Position(
        attacker_hand=match.hands[match.attacker],
        defender_hand=match.hands[match.defender],
        trump_suit=match.trump_suit,
        unbeaten=unbeaten,
        beaten=match.on_table & ~unbeaten,
        taking=match.taking,
        turn=Role.DEFENDER if seat == match.defender else Role.ATTACKER,
        transfer=match.table.transfer,
        draw_allowed=match.table.draw_allowed,
        five_card_limit=match.attacks_max == ATTACK_CARDS_MAX_OPENING,
        quiet_bouts=match.dry_bouts,
        attacker_seat=match.attacker,
        defender_seat=match.defender,
    )
