"""Limits on the rate of one caller, and on the number of concurrent calls and watches."""

import asyncio
import time
from collections import Counter, OrderedDict
from collections.abc import Callable

from domain.match.refusal import Refusal
from durak.v1 import errors_pb2 as reasons
from service.config import Config
from service.rpc.errors import Refused, refuse

_NANOSECONDS = 1_000_000_000


class RateLimit:
    """A token bucket for each caller, stored as one number: the time when it is full again.

    This is the generic cell rate algorithm (ITU-T I.371). Beyond `remembered_max` callers, the
    least recently active one is dropped. Its bucket is the fullest.
    """

    def __init__(
        self,
        per_second: float,
        burst: int,
        remembered_max: int,
        clock_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        """Allow `burst` calls at once and `per_second` on average; 0 is no limit."""
        self._interval_ns = max(1, round(_NANOSECONDS / per_second)) if per_second else 0
        self.burst = burst
        self._tolerance_ns = self._interval_ns * (burst - 1)
        self._remembered_max = remembered_max
        self._clock_ns = clock_ns
        self._full_at_ns: OrderedDict[str, int] = OrderedDict()

    def __len__(self) -> int:
        """Return the number of callers that have a bucket."""
        return len(self._full_at_ns)

    @property
    def interval_seconds(self) -> float:
        """The time until a spent bucket allows one more call."""
        return self._interval_ns / _NANOSECONDS

    def wait_seconds(self, caller: str) -> float:
        """Return the seconds until the bucket has a call; 0 if it has one now. Takes nothing."""
        now_ns = self._clock_ns()
        over_ns = self._full_at_ns.get(caller, now_ns) - now_ns - self._tolerance_ns
        return max(0, over_ns) / _NANOSECONDS

    def spend(self, caller: str, calls: int = 1) -> float:
        """Take calls from the bucket, but no more than a burst.

        Returns 0, or the seconds until the bucket has enough. Then nothing is taken.
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
        if len(self._full_at_ns) > self._remembered_max:
            self._full_at_ns.popitem(last=False)
        return 0.0


class Limits:
    """Counts running calls and open watches. Every `begin_…` that returns needs its `end_…`.

    Commands and watches have separate limits, so that open watches never block commands.
    """

    def __init__(self, config: Config) -> None:
        self._rate = RateLimit(
            config.caller_calls_per_second, config.caller_calls_burst, config.callers_remembered_max
        )
        self._refused_tokens = RateLimit(
            config.refused_tokens_per_second,
            config.refused_tokens_burst,
            config.callers_remembered_max,
        )
        self._public_rate = RateLimit(
            config.public_calls_per_second, config.public_calls_burst, config.callers_remembered_max
        )
        self._calls_max = config.calls_max
        self._watches_max = config.watches_max
        self._caller_watches_max = config.caller_watches_max
        self._public_calls_max = config.public_calls_max
        self._public_streams_max = config.public_streams_max
        self._address_streams_max = config.address_streams_max
        self._watch_events_per_call = config.watch_events_per_call
        self._watches_by_caller = Counter[str]()
        self._public_streams_by_address = Counter[str]()
        self.calls = 0
        """Running unary calls and commands of sessions."""
        self.watches = 0
        """Open watches and sessions."""
        self.public_calls = 0
        """Running unary calls without a token."""
        self.public_streams = 0
        """Open streams without a token."""
        self._idle = asyncio.Event()

    @property
    def interval_seconds(self) -> float:
        """The time between calls at the average rate of one caller."""
        return self._rate.interval_seconds

    def admit_token(self, address: str) -> None:
        """Refuse to verify a token from an address that has sent too many refused tokens.

        Raises Refused RATE_LIMITED. A verification costs 0.2 ms of CPU.
        """
        wait_seconds = self._refused_tokens.wait_seconds(address)
        if wait_seconds:
            raise rate_limited("refused tokens", wait_seconds)

    def count_refused_token(self, address: str) -> None:
        """Count a refused token of an address."""
        self._refused_tokens.spend(address)

    def begin_call(self, caller: str) -> None:
        """Count a unary call or a command of a session. Raises Refused RATE_LIMITED, OVERLOADED."""
        if self.calls >= self._calls_max:
            raise refuse(reasons.ERROR_REASON_OVERLOADED)
        self._spend(caller)
        self.calls += 1

    def end_call(self) -> None:
        """Release a call that `begin_call` counted."""
        self.calls -= 1
        self._note_idle()

    def charge(self, caller: str, calls: int) -> None:
        """Count a running call as `calls` more, because it causes much work.

        The sum is at most a burst. Raises Refused RATE_LIMITED.
        """
        rest = self._rate.burst - 1
        # A repetition of the call counts itself before it gets here, so it has to wait for both.
        self._spend(caller, min(calls, rest), repeated=1)

    async def charge_events(self, caller: str, events: int) -> None:
        """Charge a caller for past events that a stream sends, as `charge_in_time` does.

        One account that opens and closes watches of long matches delays its own watches only.
        """
        calls = events // self._watch_events_per_call
        if calls:
            await self.charge_in_time(caller, calls)

    async def charge_in_time(self, caller: str, calls: int) -> None:
        """Count `calls` for the next part of a stream, at most a burst, as soon as it is allowed.

        Waits where a call would be refused. The other calls of the caller can delay it further.
        """
        while wait_seconds := self._rate.spend(caller, calls):  # noqa: ASYNC110 - time, no event
            await asyncio.sleep(wait_seconds)

    def begin_watch(self, caller: str) -> None:
        """Count a watch or a session. Raises Refused RATE_LIMITED, TOO_MANY_WATCHES, OVERLOADED."""
        if self.watches >= self._watches_max:
            raise refuse(reasons.ERROR_REASON_OVERLOADED)
        if self._watches_by_caller[caller] >= self._caller_watches_max:
            raise refuse(reasons.ERROR_REASON_TOO_MANY_WATCHES, quota="watches")
        self._spend(caller)
        self._watches_by_caller[caller] += 1
        self.watches += 1

    def end_watch(self, caller: str) -> None:
        """Release a watch or session that `begin_watch` counted."""
        self.watches -= 1
        _count_down(self._watches_by_caller, caller)
        self._note_idle()

    def admit_public(self, address: str) -> None:
        """Count a call without a token, or a request of its stream. Raises Refused RATE_LIMITED."""
        wait_seconds = self._public_rate.spend(address)
        if wait_seconds:
            raise rate_limited("calls without a token", wait_seconds)

    def begin_public_call(self, address: str) -> None:
        """Count a unary call without a token. Raises Refused RATE_LIMITED, OVERLOADED."""
        if self.public_calls >= self._public_calls_max:
            raise refuse(reasons.ERROR_REASON_OVERLOADED)
        self.admit_public(address)
        self.public_calls += 1

    def end_public_call(self) -> None:
        """Release a call that `begin_public_call` counted."""
        self.public_calls -= 1

    def begin_public_stream(self, address: str) -> None:
        """Count a stream without a token.

        Raises Refused RATE_LIMITED, TOO_MANY_WATCHES, OVERLOADED.
        """
        if self.public_streams >= self._public_streams_max:
            raise refuse(reasons.ERROR_REASON_OVERLOADED)
        if self._public_streams_by_address[address] >= self._address_streams_max:
            raise refuse(reasons.ERROR_REASON_TOO_MANY_WATCHES, quota="streams without a token")
        self.admit_public(address)
        self._public_streams_by_address[address] += 1
        self.public_streams += 1

    def end_public_stream(self, address: str) -> None:
        """Release a stream that `begin_public_stream` counted."""
        self.public_streams -= 1
        _count_down(self._public_streams_by_address, address)

    async def idle(self) -> None:
        """Wait until no call is running and no watch is open."""
        while self.calls or self.watches:
            self._idle.clear()
            await self._idle.wait()

    def _spend(self, caller: str, calls: int = 1, *, repeated: int = 0) -> None:
        wait_seconds = self._rate.spend(caller, calls)
        if wait_seconds:
            raise rate_limited("calls", wait_seconds + repeated * self._rate.interval_seconds)

    def _note_idle(self) -> None:
        if not self.calls and not self.watches:
            self._idle.set()


def rate_limited(quota: str, wait_seconds: float) -> Refused:
    """Return the refusal of a caller that has to wait."""
    refusal = Refusal(reasons.ERROR_REASON_RATE_LIMITED, metadata={"quota": quota})
    return Refused(refusal, wait_seconds)


def _count_down(counts: Counter[str], name: str) -> None:
    counts[name] -= 1
    if not counts[name]:
        del counts[name]
