"""Check the fields of WalletService's requests. See `service.rpc.validation`."""

from uuid import UUID

from durak.v1 import wallet_service_pb2 as api
from service.rpc.validation import Faults


def list_transfers(request: api.ListTransfersRequest) -> int:
    """Check the fields; return the size of the page."""
    faults = Faults()
    size = faults.page(request)
    faults.check()
    return size


def grant_coins(request: api.GrantCoinsRequest | api.ProposeGrantRequest, coins_max: int) -> bytes:
    """Return the request id. Checks `player_id`, `coins` and `reason` too."""
    faults = Faults()
    request_id = faults.uuid("request_id", request.request_id)
    faults.player("player_id", request.player_id)
    if request.coins:
        faults.at_most("coins", request.coins, coins_max)
    else:
        faults.add("coins", "is required")
    faults.reason("reason", request.reason)
    faults.check()
    return request_id


def approve_grant(request: api.ApproveGrantRequest) -> tuple[bytes, UUID]:
    """Return the request id and the grant id. Checks `reason` too."""
    faults = Faults()
    request_id = faults.uuid("request_id", request.request_id)
    grant = faults.uuid("grant_id", request.grant_id)
    faults.reason("reason", request.reason)
    faults.check()
    return request_id, UUID(bytes=grant)
