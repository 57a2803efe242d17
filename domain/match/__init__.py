"""The rules of a match: commands become events, events become state, and state becomes views.

`decide` turns a command into events or a refusal. `Match.apply` folds stored events. `table_view`
and `redact` show a match and its events to a player or spectator. All of it is pure.

>>> from domain.cards import card_name
>>> from domain.match.commands import OpenTable, Play, TakeSeat, by_player
>>> from domain.match.decide import decide
>>> from domain.match.fold import Match
>>> from domain.match.move_messages import attack
>>> from domain.match.view import table_view
>>> from durak.v1.events_pb2 import Record
>>> from durak.v1.settings_pb2 import Deck, Settings, ThrowIn

>>> match = Match(match_id=bytes(16))
>>> def run(player, command):
...     outcome = decide(match, by_player(player), command)
...     for event in outcome.events:
...         match.apply(Record(match_id=match.match_id, version=match.version + 1, event=event))
...     return [event.WhichOneof("kind") for event in outcome.events]

>>> settings = Settings(deck=Deck.DECK_36, seats=2, throw_in=ThrowIn.THROW_IN_ALL)
>>> opening = OpenTable(settings, bytes(32), idle_limit_seconds=3600, reveal_limit_seconds=30)
>>> run("ann", opening)
['table_opened']
>>> run("ann", TakeSeat("Ann"))
['seat_taken']
>>> run("bob", TakeSeat("Bob"))
['seat_taken', 'dealt']

>>> view = table_view(match, viewer=match.attacker)
>>> [card_name(card) for card in view.moves.attack]
['A♣', '6♦', '7♦', 'A♦', 'Q♥', '8♠']
>>> attacker = ("ann", "bob")[match.attacker]
>>> run(attacker, Play(attack(view.moves.attack[0])))
['attacked']
>>> spectator = table_view(match, viewer=None)
>>> list(spectator.hand), [seat.card_count for seat in spectator.seats]
([], [6, 5])
"""
