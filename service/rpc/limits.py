"""What one caller, and all callers together, may ask of the service at once."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable

from durak.v1 import errors_pb2 as reasons
from service.config import Config
from service.rpc.errors import Refused, refuse

_NANOSECONDS = 1_000_000_000


class RateLimit:
    """A token bucket for each caller, kept as one number: when the bucket would be full again.

    (The generic cell rate algorithm, ITU-T I.371.) `remembered` bounds the memory: beyond it the
    caller who called longest ago, whose bucket is the fullest, is forgotten.
    """

    def __init__(
        self,
        per_second: float,
        burst: int,
        remembered: int,
        clock_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        """Allow `burst` calls at once and `per_second` for long; 0 is no limit."""
        self._interval_ns = max(1, round(_NANOSECONDS / per_second)) if per_second else 0
        self.burst = burst
        self._tolerance_ns = self._interval_ns * (burst - 1)
        self._remembered = remembered
        self._clock_ns = clock_ns
        self._full_at_ns: OrderedDict[str, int] = OrderedDict()

    def __len__(self) -> int:
        """For how many callers a bucket is kept."""
        return len(self._full_at_ns)

    @property
    def interval_seconds(self) -> float:
        """How long it takes until one more call is allowed."""
        return self._interval_ns / _NANOSECONDS

    def spend(self, caller: str, calls: int = 1) -> float:
        """Take calls from the bucket, at most a burst: 0, or the seconds until they are there.

        Where it is to wait, none is taken.
        """
        if not self._interval_ns:
            return 0.0
        now_ns = self._clock_ns()
        full_at_ns = max(self._full_at_ns.get(caller, now_ns), now_ns)
        taken_ns = min(calls, self.burst) * self._interval_ns
        over_ns = full_at_ns - now_ns + taken_ns - self._interval_ns - self._tolerance_ns
        if over_ns > 0:
            return over_ns / _NANOSECONDS
        self._full_at_ns[caller] = full_at_ns + taken_ns
        self._full_at_ns.move_to_end(caller)
        if len(self._full_at_ns) > self._remembered:
            self._full_at_ns.popitem(last=False)
        return 0.0


class Limits:
    """Counts what is running. Every `begin_…` that returns needs its `end_…`.

    Commands and watches are counted apart, so that open watches never keep commands out.
    """

    def __init__(self, config: Config) -> None:
        self._rate = RateLimit(
            config.caller_calls_per_second, config.caller_calls_burst, config.callers_remembered_max
        )
        self._calls_max = config.calls_max
        self._watches_max = config.watches_max
        self._caller_watches_max = config.caller_watches_max
        self._public_calls_max = config.public_calls_max
        self._public_streams_max = config.public_streams_max
        self._watches_by_caller: dict[str, int] = {}
        self.calls = 0
        """Unary calls and commands of sessions that are running."""
        self.watches = 0
        """Watches and sessions that are open."""
        self.public_calls = 0
        """Unary calls of callers without a token that are running."""
        self.public_streams = 0
        """Streams that are open to callers without a token."""
        self._idle = asyncio.Event()

    @property
    def interval_seconds(self) -> float:
        """The time between calls at the rate at which one caller may call for long."""
        return self._rate.interval_seconds

    def begin_call(self, caller: str) -> None:
        """Count a unary call, or a command of a session. Refused: RATE_LIMITED, OVERLOADED."""
        if self.calls >= self._calls_max:
            raise refuse(reasons.ERROR_REASON_OVERLOADED)
        self._spend(caller)
        self.calls += 1

    def end_call(self) -> None:
        """The call that was counted is over."""
        self.calls -= 1
        self._note_idle()

    def charge(self, caller: str, calls: int) -> None:
        """Count a call that has begun as so many more, as it makes much work.

        As many at most as the burst has beside the call. Refused: RATE_LIMITED.
        """
        beside = self._rate.burst - 1
        # Repeated, the call itself counts again, before this: it has to wait for that as well.
        self._spend(caller, min(calls, beside), again=1)

    def begin_watch(self, caller: str) -> None:
        """Count a watch, or a session. Refused: RATE_LIMITED, TOO_MANY_WATCHES, OVERLOADED."""
        if self.watches >= self._watches_max:
            raise refuse(reasons.ERROR_REASON_OVERLOADED)
        own = self._watches_by_caller.get(caller, 0)
        if own >= self._caller_watches_max:
            raise refuse(reasons.ERROR_REASON_TOO_MANY_WATCHES, quota="watches")
        self._spend(caller)
        self._watches_by_caller[caller] = own + 1
        self.watches += 1

    def end_watch(self, caller: str) -> None:
        """The watch or session that was counted is over."""
        self.watches -= 1
        own = self._watches_by_caller[caller] - 1
        if own:
            self._watches_by_caller[caller] = own
        else:
            del self._watches_by_caller[caller]
        self._note_idle()

    def begin_public_call(self) -> None:
        """Count a unary call of a caller without a token. Refused: OVERLOADED."""
        if self.public_calls >= self._public_calls_max:
            raise refuse(reasons.ERROR_REASON_OVERLOADED)
        self.public_calls += 1

    def end_public_call(self) -> None:
        """The call that was counted is over."""
        self.public_calls -= 1

    def begin_public_stream(self) -> None:
        """Count a stream of a caller without a token. Refused: OVERLOADED."""
        if self.public_streams >= self._public_streams_max:
            raise refuse(reasons.ERROR_REASON_OVERLOADED)
        self.public_streams += 1

    def end_public_stream(self) -> None:
        """The stream that was counted is over."""
        self.public_streams -= 1

    async def idle(self) -> None:
        """Wait until no call runs and no watch is open."""
        while self.calls or self.watches:
            self._idle.clear()
            await self._idle.wait()

    def _spend(self, caller: str, calls: int = 1, *, again: int = 0) -> None:
        wait_seconds = self._rate.spend(caller, calls)
        if wait_seconds:
            wait_seconds += again * self._rate.interval_seconds
            refusal = refuse(reasons.ERROR_REASON_RATE_LIMITED, quota="calls").refusal
            raise Refused(refusal, wait_seconds)

    def _note_idle(self) -> None:
        if not self.calls and not self.watches:
            self._idle.set()
