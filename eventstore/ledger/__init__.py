"""The double-entry ledger of coins.

`service/matches/coin_moves.py` decides which coins move, `books` whether they may, and
`coin_append` stores them together with the events.
"""
