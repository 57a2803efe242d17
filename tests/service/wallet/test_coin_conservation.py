"""R12.8 as a state machine: no actions at staked tables and no failures create or lose coins.

The store is the real one, and the calls go over real channels to two replicas. Each replica uses a
wire to the database that can be cut. After each step every balance is compared with the fold of the
transfers and with the logs of all matches. `DURAK_TEST_COIN_EXAMPLES` is the number of examples; 60
take about four minutes.
"""

from __future__ import annotations

import asyncio
import os
from uuid import UUID, uuid4

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    MultipleResults,
    RuleBasedStateMachine,
    initialize,
    invariant,
    multiple,
    rule,
    run_state_machine_as_test,
)

from domain.match.deal import secret_hash
from durak.v1 import errors_pb2 as reasons
from durak.v1 import match_service_pb2 as api
from durak.v1.settings_pb2 import Deck, Settings, ThrowIn
from eventstore import EmbeddedPostgres
from service.ids import rematch_id, table_id
from tests.conftest import TEMPLATE, execute
from tests.service.wallet.coin_machine import House, Request, Trouble

EXAMPLES = int(os.environ.get("DURAK_TEST_COIN_EXAMPLES", "6"))
STEPS = 25
REPLICAS = 2
PLAYERS = ("ann", "bob", "cid", "dan")
DAY_S = 86_400

people = st.sampled_from(PLAYERS)
replicas = st.integers(0, REPLICAS - 1)
stakes = st.sampled_from([1, 101, 333, 600, 1000])  # each player starts with 1000 coins
troubles = st.none() | st.builds(
    Trouble,
    kind=st.sampled_from(["cut", "cut", "crash", "terminate"]),
    step=st.integers(1, 16),
    swallow=st.booleans(),
    repeats=st.booleans(),
)


def secret_of(player: str) -> bytes:
    """The secret that a player promises at every table."""
    return player.encode().ljust(32, b".")


class CoinConservation(RuleBasedStateMachine):
    """Tables are opened, joined, left, played, cancelled and repeated during failures."""

    postgres: EmbeddedPostgres
    tables = Bundle("tables")

    def __init__(self) -> None:
        super().__init__()
        self._ids = 0
        self._sent: list[Request] = []
        self._granted: dict[str, int] = {}
        self._patch = pytest.MonkeyPatch()
        # One seed is enough: each match id gives another deck.
        self._patch.setattr("service.matches.commands.secrets.token_bytes", bytes)
        self._runner = asyncio.Runner()
        self._database = f"test_{uuid4().hex}"
        self._admin = self.postgres.owner_dsn("postgres")
        create = f"CREATE DATABASE {self._database} TEMPLATE {TEMPLATE}"
        self._runner.run(execute(self._admin, create))
        self._house = House(
            self.postgres.app_dsn(self._database), self.postgres.owner_dsn(self._database)
        )
        self._runner.run(self._house.open(REPLICAS))

    def teardown(self) -> None:
        try:
            self._runner.run(self._end_all())
        finally:
            self._runner.run(self._house.close())
            drop = f"DROP DATABASE {self._database} WITH (FORCE)"
            self._runner.run(execute(self._admin, drop))
            self._runner.close()
            self._patch.undo()

    async def _end_all(self) -> None:
        """Wait until the clock has ended every match. Then no coins are in escrow."""
        for _ in range(40):
            self._house.clock.advance(2 * DAY_S)
            await self._house.sweep(0, None)
            if not await self._house.escrow():
                break
        await self._house.check(self._granted)
        assert await self._house.escrow() == 0, "coins are stuck"

    def _id(self) -> str:
        self._ids += 1
        return str(UUID(int=self._ids, version=4))

    def _request(self, player: str, method: str, match_id: str) -> Request:
        message = getattr(api, f"{method}Request")(match_id=match_id, request_id=self._id())
        request = Request(player, method, message)
        self._sent.append(request)
        return request

    def _send(self, *requests: Request, at: int, trouble: Trouble | None = None) -> None:
        """Send requests at the same time, alternating between replicas, with a failure at one."""
        self._runner.run(self._house.send_all(requests, at, trouble))

    # --- actions of players ---------------------------------------------------------------------

    @initialize(target=tables, owner=people, some=st.lists(stakes, min_size=2, max_size=4))
    def open_some_tables(self, owner: str, some: list[int]) -> MultipleResults[str]:
        return multiple(*(self._open(owner, 0, stake, 2, 0) for stake in some))

    @rule(
        target=tables,
        owner=people,
        at=replicas,
        stake=stakes,
        seats=st.integers(2, 3),
        timer=st.sampled_from([0, 60]),
    )
    def open_table(self, owner: str, at: int, stake: int, seats: int, timer: int) -> str:
        return self._open(owner, at, stake, seats, timer)

    def _open(self, owner: str, at: int, stake: int, seats: int, timer: int) -> str:
        request_id = self._id()
        wanted = Settings(
            deck=Deck.DECK_24,
            seats=seats,
            throw_in=ThrowIn.THROW_IN_ALL,
            draw_allowed=True,
            turn_timer_seconds=timer,
            stake_coins=stake,
        )
        message = api.OpenTableRequest(request_id=request_id, settings=wanted)
        self._send(Request(owner, "OpenTable", message), at=at)
        return str(UUID(bytes=table_id(UUID(request_id).bytes, owner)))

    @rule(
        seats=st.lists(st.tuples(people, tables), min_size=1, max_size=8),
        at=replicas,
        trouble=troubles,
    )
    def join_all_at_once(
        self, seats: list[tuple[str, str]], at: int, trouble: Trouble | None
    ) -> None:
        requests = [self._request(player, "TakeSeat", match_id) for player, match_id in seats]
        self._send(*requests, at=at, trouble=trouble)

    @rule(match_id=tables, at=replicas, moves=st.sampled_from([0, 5, 500]), trouble=troubles)
    def fill_and_play(self, match_id: str, at: int, moves: int, trouble: Trouble | None) -> None:
        for player in PLAYERS:
            if not self._runner.run(self._house.has_free_seats(match_id)):
                break
            request = self._request(player, "TakeSeat", match_id)
            self._send(request, at=at)
            if request.refusal == reasons.ERROR_REASON_INSUFFICIENT_COINS:
                self._runner.run(self._house.check_short(player, match_id))
        self._runner.run(self._house.play(match_id, moves, at, self._id, trouble))

    @rule(match_id=tables, at=replicas, silent=st.booleans(), trouble=troubles)
    def promise_and_reveal(
        self, match_id: str, at: int, silent: bool, trouble: Trouble | None
    ) -> None:
        """Fill a table with promised secrets. If `silent`, one is not revealed (R3.6)."""
        for player in PLAYERS:
            if not self._runner.run(self._house.has_free_seats(match_id)):
                break
            request = self._request(player, "TakeSeat", match_id)
            request.message.client_seed_hash = secret_hash(
                UUID(match_id).bytes, player, secret_of(player)
            )
            self._send(request, at=at)
        reveals = []
        for player in self._runner.run(self._house.list_to_reveal(match_id)):
            reveal = self._request(player, "RevealSeed", match_id)
            reveal.message.secret = secret_of(player)
            reveals.append(reveal)
        self._send(*(reveals[1:] if silent else reveals), at=at, trouble=trouble)
        self._runner.run(self._house.play(match_id, 5, at, self._id))

    @rule(match_id=tables, number=st.integers(0, 2), rival=people, at=replicas, trouble=troubles)
    def leave_while_another_sits_down(
        self, match_id: str, number: int, rival: str, at: int, trouble: Trouble | None
    ) -> None:
        seated = self._house.players_of(match_id) or PLAYERS
        leave = self._request(seated[number % len(seated)], "LeaveMatch", match_id)
        sit = self._request(rival, "TakeSeat", match_id)
        self._send(leave, sit, at=at, trouble=trouble)

    @rule(match_id=tables, player=people, at=replicas, trouble=troubles)
    def sit_down_and_get_up(
        self, match_id: str, player: str, at: int, trouble: Trouble | None
    ) -> None:
        self._send(self._request(player, "TakeSeat", match_id), at=at)
        self._send(self._request(player, "LeaveMatch", match_id), at=at, trouble=trouble)

    @rule(match_id=tables, at=replicas, rivals=st.lists(people, max_size=2), trouble=troubles)
    def cancel_while_others_sit_down(
        self, match_id: str, at: int, rivals: list[str], trouble: Trouble | None
    ) -> None:
        requests = [self._request(player, "TakeSeat", match_id) for player in rivals]
        owner = self._house.owner_of(match_id) or "ann"
        cancel = self._request(owner, "CancelTable", match_id)
        self._send(cancel, *requests, at=at, trouble=trouble)

    @rule(target=tables, match_id=tables, at=replicas, trouble=troubles)
    def play_to_the_end_and_again(self, match_id: str, at: int, trouble: Trouble | None) -> str:
        self.fill_and_play(match_id, at, 500, None)
        requests = [self._request(player, "Rematch", match_id) for player in PLAYERS]
        self._send(*requests, at=at, trouble=trouble)
        return str(UUID(bytes=rematch_id(UUID(match_id).bytes)))

    @rule(numbers=st.lists(st.integers(0, 100), min_size=1, max_size=5), at=replicas)
    def repeat_requests(self, numbers: list[int], at: int) -> None:
        for number in numbers:
            if number < len(self._sent):
                self._send(self._sent[-1 - number], at=at)

    # --- actions of the service and its operators -----------------------------------------------

    @rule(player=people, coins=st.integers(1, 1000), at=replicas, trouble=troubles)
    def grant(self, player: str, coins: int, at: int, trouble: Trouble | None) -> None:
        self._granted[player] = self._granted.get(player, 0) + coins
        grant = self._house.grant(at, UUID(self._id()), player, coins, trouble)
        self._runner.run(grant)

    @rule(seconds=st.sampled_from([61, DAY_S + 1]), at=replicas, trouble=troubles)
    def wait(self, seconds: int, at: int, trouble: Trouble | None) -> None:
        self._house.clock.advance(seconds)
        self._runner.run(self._house.sweep(at, trouble))

    @invariant()
    def every_coin_is_where_it_should_be(self) -> None:
        self._runner.run(self._house.check(self._granted))


@pytest.mark.timeout(1800)  # mostly for shrinking a failing example
def test_R12_8_no_coins_appear_or_disappear_during_failures(postgres: EmbeddedPostgres) -> None:
    CoinConservation.postgres = postgres
    run_state_machine_as_test(
        CoinConservation,
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=STEPS,
            deadline=None,
            derandomize=True,
            database=None,
            report_multiple_bugs=False,
            suppress_health_check=list(HealthCheck),
        ),
    )
