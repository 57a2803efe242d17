"""Texts for people in Russian, Greek and English.

The texts are in `locale/<language>/<topic>.ftl`; the words for moves are in `table.ftl`. The words
that a player may type are in `service/render/moves.py`.
"""
