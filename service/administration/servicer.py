"""AdministrationService: acts of operators that concern the service itself."""

from durak.v1 import administration_service_pb2 as api
from durak.v1 import administration_service_pb2_grpc as api_grpc
from durak.v1.administration_pb2 import SigningKeysChanged, TokensRevoked
from eventstore import EventStore
from service.administration import requests
from service.administration.log import Actor, AdministrationLog
from service.config import Config
from service.rpc.call import Context, current_call
from service.times import Now


class AdministrationService(api_grpc.AdministrationServiceServicer):
    """The servicer. The interceptor turns its exceptions into statuses."""

    def __init__(self, store: EventStore, config: Config, now_us: Now) -> None:
        """Record the acts in the administrative log of this store."""
        self._administration = AdministrationLog(store, config.conflict_retries_max, now_us)

    async def RevokeTokens(
        self, request: api.RevokeTokensRequest, context: Context
    ) -> api.RevokeTokensResponse:
        """Record the revocation. Each replica reads it soon: see `revocation_feed`."""
        request_id = requests.revoke_tokens(request)
        revoked = TokensRevoked(player_id=request.player_id, token_id=request.token_id)
        await self._administration.revoke_tokens(_actor(request_id, request.reason), revoked)
        return api.RevokeTokensResponse()

    async def ChangeSigningKeys(
        self, request: api.ChangeSigningKeysRequest, context: Context
    ) -> api.ChangeSigningKeysResponse:
        """Record the keys. The checkpointer signs with them alone."""
        request_id, keys = requests.change_signing_keys(request)
        changed = SigningKeysChanged(verifier_keys=map(str, keys))
        await self._administration.change_signing_keys(_actor(request_id, request.reason), changed)
        return api.ChangeSigningKeysResponse()


def _actor(request_id: bytes, reason: str) -> Actor:
    call = current_call()
    return Actor(call.caller.subject, request_id, call.trace_id, reason)
