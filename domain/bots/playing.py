"""Moves as values, for bots and other players of this package."""

from durak.v1.table_pb2 import Move


def passing() -> Move:
    """The move "pass". Its field is a Python keyword, so it cannot be named as an argument."""
    move = Move()
    getattr(move, "pass").SetInParent()
    return move
