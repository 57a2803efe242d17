"""MatchService and the live engine behind it: commands, watches and sessions.

`watch` decides when a watcher gets a message, `changes` builds it, and `domain.match.view` hides
what its reader may not see. `coin_moves` derives the coin moves from the events.
"""
