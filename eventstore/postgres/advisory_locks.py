"""The keys of the advisory locks that processes share in one database."""

from enum import IntEnum


class AdvisoryLock(IntEnum):
    """An advisory lock of the service, by its key in Postgres."""

    MIGRATION = 0x6475_7261_6B
    """Held while migrations run. The key spells "durak"."""
    TREE_UPDATE = MIGRATION + 1
    """Held while ended matches are added to the Merkle tree."""
    STANDINGS_UPDATE = MIGRATION + 2
    """Held while ended matches are counted in the standings."""
