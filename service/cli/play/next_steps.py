"""Commands to suggest after `durak play`: come back, review, rematch, series."""

import shlex
from collections.abc import Sequence
from typing import Final

from durak.v1.events_pb2 import Outcome
from durak.v1.table_pb2 import PHASE_WAITING, TableView
from service.text.localisation import Translate

_PLAYED: Final = (Outcome.OUTCOME_PLAYED_OUT, Outcome.OUTCOME_DRAW)


class NextSteps:
    """Hints with commands, which repeat the `options` that say which server and which caller."""

    def __init__(self, options: Sequence[str], translate: Translate) -> None:
        self._options = options
        self._translate = translate

    def resume(self, view: TableView) -> str:
        """Return the hint how to come back to a table or match that goes on."""
        key = "come-back-waiting" if view.phase == PHASE_WAITING else "come-back"
        return self._hint(key, "play", "--match", view.match_id)

    def share(self, match_id: str, link_secret: bytes) -> str:
        """Return the hint with the command that joins a private table, for other players."""
        pairs = zip(self._options[::2], self._options[1::2], strict=True)
        server = [word for pair in pairs if pair[0] == "--server" for word in pair]
        arguments = (*server, "--match", match_id, "--link", link_secret.hex())
        return self._translate("share-link", command=shlex.join(["durak", "play", *arguments]))

    def after(self, view: TableView) -> list[str]:
        """Return the hints after the end of a match."""
        hints = []
        if view.result.outcome in _PLAYED and not view.settings.tricky:
            hints.append(self._hint("review-it", "review", view.match_id))
        if view.result.outcome != Outcome.OUTCOME_CANCELLED:  # has no rematch (R13.1)
            hints.append(self._hint("play-again", "play", "--rematch", view.match_id))
        if view.settings.series_id:
            hints.append(self._hint("series-stands", "series", view.settings.series_id))
        return hints

    def _hint(self, key: str, command: str, *arguments: str) -> str:
        words = ["durak", command, *self._options, *arguments]
        return self._translate(key, command=shlex.join(words))
