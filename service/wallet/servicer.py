"""WalletService: the balance and the transfers of a player, and grants of operators (R12.1)."""

from hashlib import sha256
from uuid import UUID

from domain.administration import GrantCoins
from durak.v1 import wallet_service_pb2 as api
from durak.v1 import wallet_service_pb2_grpc as api_grpc
from durak.v1.administration_pb2 import CoinsGranted, GrantProposed
from eventstore import EventStore
from eventstore.ledger.transfers import Balance
from service.administration.log import Actor, AdministrationLog
from service.config import Config
from service.rpc.call import Context, current_call
from service.rpc.page_tokens import seal_number, unseal_number
from service.times import Now
from service.wallet import requests
from service.wallet.messages import transfer_message


class WalletService(api_grpc.WalletServiceServicer):
    """The servicer. The interceptor turns its exceptions into a status."""

    def __init__(self, store: EventStore, config: Config, now_us: Now) -> None:
        """Serve the ledger of this store."""
        self._ledger = store.ledger
        self._news = store.news
        self._administration = AdministrationLog(store, config.conflict_retries_max, now_us)
        self._config = config

    async def GetBalance(
        self, request: api.GetBalanceRequest, context: Context
    ) -> api.GetBalanceResponse:
        """Return the caller's balance. The first call opens the account."""
        balance = await self._open_account(current_call().caller.subject)
        return api.GetBalanceResponse(balance=_balance(balance))

    async def ListTransfers(
        self, request: api.ListTransfersRequest, context: Context
    ) -> api.ListTransfersResponse:
        """Return a page of the caller's transfers, newest first."""
        size = requests.list_transfers(request)
        player_id = current_call().caller.subject
        filters = b"transfers" + player_id.encode()
        token = request.page_token
        before = unseal_number(token, filters) if token else None
        if before is None:
            await self._open_account(player_id)
        page = await self._ledger.list_transfers(player_id, before=before, limit=size)
        # Transfers of a player are numbered from 1 without gaps.
        more = bool(page) and page[-1].number > 1
        return api.ListTransfersResponse(
            transfers=[transfer_message(transfer) for transfer in page],
            next_page_token=seal_number(page[-1].number, filters) if more else "",
        )

    async def GrantCoins(
        self, request: api.GrantCoinsRequest, context: Context
    ) -> api.GrantCoinsResponse:
        """Issue coins to a player, once for each request id of an operator."""
        request_id = requests.grant_coins(request, self._config.grant_coins_max)
        call = current_call()
        operator_id = call.caller.subject
        granted = CoinsGranted(
            grant_id=str(grant_id(request_id, operator_id)),
            player_id=request.player_id,
            coins=request.coins,
        )
        await self._open_account(request.player_id)  # the grant adds to the opening balance
        actor = Actor(operator_id, request_id, call.trace_id, request.reason)
        limit_coins = self._config.grant_coins_per_day_max
        await self._administration.grant(actor, GrantCoins(granted, limit_coins))
        self._news.notify([request.player_id])
        balance = await self._ledger.read_balance(request.player_id)
        return api.GrantCoinsResponse(balance=_balance(balance))

    async def ProposeGrant(
        self, request: api.ProposeGrantRequest, context: Context
    ) -> api.ProposeGrantResponse:
        """Record a grant for another operator to approve."""
        request_id = requests.grant_coins(request, self._config.proposed_grant_coins_max)
        call = current_call()
        operator_id = call.caller.subject
        proposed = GrantProposed(
            grant_id=str(grant_id(request_id, operator_id)),
            player_id=request.player_id,
            coins=request.coins,
        )
        await self._open_account(request.player_id)  # the grant adds to the opening balance
        actor = Actor(operator_id, request_id, call.trace_id, request.reason)
        seconds = self._config.proposed_grant_seconds
        record = await self._administration.propose_grant(actor, proposed, seconds)
        recorded = record.event.grant_proposed
        return api.ProposeGrantResponse(
            grant_id=recorded.grant_id, expire_time=recorded.expire_time
        )

    async def ApproveGrant(
        self, request: api.ApproveGrantRequest, context: Context
    ) -> api.ApproveGrantResponse:
        """Issue the coins of a grant that another operator proposed."""
        request_id, wanted = requests.approve_grant(request)
        call = current_call()
        actor = Actor(call.caller.subject, request_id, call.trace_id, request.reason)
        record = await self._administration.approve_grant(actor, str(wanted))
        player_id = record.event.grant_approved.player_id
        self._news.notify([player_id])
        balance = await self._ledger.read_balance(player_id)
        return api.ApproveGrantResponse(player_id=player_id, balance=_balance(balance))

    async def _open_account(self, player_id: str) -> Balance:
        return await self._ledger.open_account(player_id, self._config.opening_balance_coins)


def grant_id(request_id: bytes, operator_id: str) -> UUID:
    """Return the id of a grant, which is the same for the same operator and request id.

    It has the first 16 bytes of
    SHA-256("durak.v1.grant" ‖ request id, 16 bytes ‖ operator id in UTF-8).
    """
    text = b"durak.v1.grant" + request_id + operator_id.encode()
    return UUID(bytes=sha256(text).digest()[:16])


def _balance(balance: Balance) -> api.Balance:
    return api.Balance(available_coins=balance.available, escrow_coins=balance.escrow)
