"""Reviews of ended matches: which callers may have one, and how much computing it may take."""

import time
from typing import Final
from uuid import UUID

from domain.endgame import Value
from domain.endgame.conversion import to_move_message
from domain.endgame.review import MoveReview, PlayedMove
from durak.v1 import errors_pb2 as reasons
from durak.v1 import match_service_pb2 as api
from durak.v1.table_pb2 import EndgameResult, Phase
from service.matches.live_matches import LiveMatches
from service.rpc.call import Caller
from service.rpc.errors import refuse
from service.workers.errors import PoolClosedError, PoolFullError, TaskTimeoutError
from service.workers.pool import WorkerPool
from service.workers.tasks import find_endings, judge_move
from service.workers.turns import Turns

_RESULTS: Final = {
    Value.LOSS: EndgameResult.ENDGAME_RESULT_LOSS,
    Value.DRAW: EndgameResult.ENDGAME_RESULT_DRAW,
    Value.WIN: EndgameResult.ENDGAME_RESULT_WIN,
    None: EndgameResult.ENDGAME_RESULT_UNSPECIFIED,
}


class Reviews:
    """Makes reviews: a few at a time, and one at a time for each caller.

    Further callers wait, in order of arrival. As nobody waits twice, a caller waits for no more
    than one review of each other caller. Each move is a task of its own for the workers. So the
    tasks of bots run in between, and a review whose caller is gone ends soon.
    """

    def __init__(self, matches: LiveMatches, workers: WorkerPool) -> None:
        """Review these matches in `workers`."""
        self._matches = matches
        self._workers = workers
        config = matches.context.config
        self._turns = Turns(config.reviews_max, config.reviews_max + config.reviews_waiting_max)
        self._callers: set[str] = set()

    async def review(self, match_id: bytes, caller: Caller) -> list[api.ReviewedMove]:
        """Return the moves of a match (its id: 16 bytes) that can be judged, in order.

        Raises Refused MATCH_NOT_FOUND, NOT_SEATED, MATCH_NOT_ENDED, OVERLOADED or DRAINING, and
        PoolBrokenError.
        """
        if caller.subject in self._callers:  # before anything is read
            raise refuse(reasons.ERROR_REASON_OVERLOADED)
        self._callers.add(caller.subject)
        try:
            stream_id = await self._ended_match(match_id, caller)
            return await self._review_in_turn(stream_id, caller.subject)
        except (PoolFullError, TaskTimeoutError) as error:
            raise refuse(reasons.ERROR_REASON_OVERLOADED) from error
        except PoolClosedError as error:
            raise refuse(reasons.ERROR_REASON_DRAINING) from error
        finally:
            self._callers.remove(caller.subject)

    async def _ended_match(self, match_id: bytes, caller: Caller) -> UUID:
        """Return the stream of a match that the caller may have reviewed."""
        with self._matches.pinned(match_id) as live:
            await live.submit(live.catch_up)
            name = str(live.stream_id)
            if not live.match.version:
                raise refuse(reasons.ERROR_REASON_MATCH_NOT_FOUND, match_id=name)
            is_seated = live.match.table.seat_of(caller.subject) is not None
            if not is_seated and "auditor" not in caller.roles:
                raise refuse(reasons.ERROR_REASON_NOT_SEATED, match_id=name)
            if live.match.phase != Phase.PHASE_ENDED:
                raise refuse(reasons.ERROR_REASON_MATCH_NOT_ENDED, match_id=name)
            return live.stream_id

    async def _review_in_turn(self, stream_id: UUID, caller_id: str) -> list[api.ReviewedMove]:
        context = self._matches.context
        turn = await self._turns.take(caller_id, context.config.review_wait_seconds_max)
        try:
            stored = await context.store.read(stream_id)
            return await self._judge(caller_id, [one.record for one in stored])
        finally:
            self._turns.give_back(turn)

    async def _judge(self, caller_id: str, records: list[bytes]) -> list[api.ReviewedMove]:
        config = self._matches.context.config
        deadline = time.monotonic() + config.review_seconds_max
        found = await self._workers.run(
            caller_id, config.review_seconds_max, find_endings, records, is_slow=True
        )
        judged = []
        # The last moves come first: they are the easiest, so all of them are decided in time.
        for played in reversed(found):
            left_seconds = deadline - time.monotonic()
            try:
                verdict = await self._workers.run(
                    caller_id,
                    left_seconds,
                    judge_move,
                    played,
                    config.review_positions_max,
                    is_slow=True,
                )
            except TaskTimeoutError:
                verdict = MoveReview()
            judged.append(_message(played, verdict))
        return judged[::-1]


def _message(played: PlayedMove, judged: MoveReview) -> api.ReviewedMove:
    better = judged.better
    better_move = None if better is None else to_move_message(better)
    message = api.ReviewedMove(
        version=played.version,
        seat=played.seat,
        move=to_move_message(played.move),
        by_clock=played.by_clock,
        verdict=_verdict(judged),
        before=_RESULTS[judged.before],
        after=_RESULTS[judged.after],
        better_move=better_move,
    )
    if better is not None and better_move is None:
        message.better_to_wait = True
    return message


def _verdict(judged: MoveReview) -> api.ReviewVerdict.ValueType:
    if judged.before is None or judged.after is None:
        return api.ReviewVerdict.REVIEW_VERDICT_UNDECIDED
    if judged.after < judged.before:
        return api.ReviewVerdict.REVIEW_VERDICT_GAVE_AWAY
    return api.ReviewVerdict.REVIEW_VERDICT_KEPT
