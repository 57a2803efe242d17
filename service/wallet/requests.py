"""Check the fields of WalletService's requests. See `service.rpc.validation`."""

from durak.v1 import wallet_service_pb2 as api
from service.rpc.validation import Faults


def list_transfers(request: api.ListTransfersRequest) -> None:
    """Check `page_size` and the length of `page_token`."""
    faults = Faults()
    faults.page(request.page_size, request.page_token)
    faults.check()


def grant_coins(request: api.GrantCoinsRequest, limit_coins: int) -> bytes:
    """The request id; `player_id` and `coins` are checked."""
    faults = Faults()
    request_id = faults.uuid("request_id", request.request_id)
    faults.player("player_id", request.player_id)
    if request.coins:
        faults.at_most("coins", request.coins, limit_coins)
    else:
        faults.add("coins", "is required")
    faults.check()
    return request_id
