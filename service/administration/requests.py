"""Check the fields of AdministrationService's requests. See `service.rpc.validation`."""

from typing import Final

from domain.transparency.checkpoint import NoteError, VerifierKey
from durak.v1 import administration_service_pb2 as api
from service.rpc.authentication import TOKEN_ID_CHARS_MAX
from service.rpc.validation import Faults

SIGNING_KEYS_MAX: Final = 8


def revoke_tokens(request: api.RevokeTokensRequest) -> bytes:
    """Return the request id. Checks the other fields too."""
    faults = Faults()
    request_id = faults.uuid("request_id", request.request_id)
    faults.player("player_id", request.player_id)
    faults.length("token_id", request.token_id, TOKEN_ID_CHARS_MAX)
    faults.reason("reason", request.reason)
    faults.check()
    return request_id


def change_signing_keys(request: api.ChangeSigningKeysRequest) -> tuple[bytes, list[VerifierKey]]:
    """Return the request id and the keys. Checks `reason` too."""
    faults = Faults()
    request_id = faults.uuid("request_id", request.request_id)
    keys: list[VerifierKey] = []
    if not 0 < len(request.verifier_keys) <= SIGNING_KEYS_MAX:
        faults.add("verifier_keys", f"must have 1 to {SIGNING_KEYS_MAX} keys")
    else:
        for index, text in enumerate(request.verifier_keys):
            try:
                keys.append(VerifierKey.parse(text))
            except NoteError:
                faults.add(f"verifier_keys[{index}]", "must be a line of `durak key public`")
    if len({key.name for key in keys}) > 1 or len(set(keys)) < len(keys):
        faults.add("verifier_keys", "must be different keys of one name")
    faults.reason("reason", request.reason)
    faults.check()
    return request_id, keys
