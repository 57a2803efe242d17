"""Checks the fields of FeedService's requests. See `service.rpc.validation`."""

from typing import Final

from durak.v1 import feed_service_pb2 as api
from durak.v1.settings_pb2 import Deck, ThrowIn
from durak.v1.table_pb2 import PHASE_WAITING, Phase
from service.feeds.board import PHASES
from service.rpc.validation import SEATS_MAX, STAKE_COINS_MAX, Faults

_DECKS: Final = frozenset(Deck.values())
_THROW_INS: Final = frozenset(ThrowIn.values())


def watch_lobby(request: api.WatchLobbyRequest) -> Phase.ValueType:
    """Return the phase; checks the filter too. Raises Refused MALFORMED_FIELD."""
    faults, wanted = Faults(), request.filter
    phase = request.phase or PHASE_WAITING
    if phase not in PHASES:
        faults.add("phase", "must be PHASE_WAITING, PHASE_PLAYING or unspecified")
    faults.known("filter.deck", wanted.deck, _DECKS)
    faults.at_most("filter.seats", wanted.seats, SEATS_MAX)
    faults.known("filter.throw_in", wanted.throw_in, _THROW_INS)
    faults.at_most("filter.stake_coins_min", wanted.stake_coins_min, STAKE_COINS_MAX)
    faults.at_most("filter.stake_coins_max", wanted.stake_coins_max, STAKE_COINS_MAX)
    faults.at_most("filter.free_seats_min", wanted.free_seats_min, SEATS_MAX)
    faults.check()
    return phase
