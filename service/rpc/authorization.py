"""The roles that each method requires. A method that is not in the table is denied to all."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from durak.v1 import errors_pb2 as reasons
from service.rpc.call import Caller
from service.rpc.errors import refuse

ROLES: Final = frozenset({"player", "operator", "auditor"})
"""The roles that a token can give. Other roles are ignored."""


class Access(NamedTuple):
    """The callers that may call a method: those with one of `roles` and none of `barred`.

    A `public` method needs no token. A `probe` is public and does not count as a call, so that it
    is answered under any load.
    """

    roles: frozenset[str] = frozenset()
    barred: frozenset[str] = frozenset()
    public: bool = False
    probe: bool = False


_PUBLIC = Access(public=True)
_PROBE = Access(public=True, probe=True)
_PLAY = Access(roles=frozenset({"player"}), barred=frozenset({"auditor"}))
"""Auditors can see every card of a match, so they must not play, even if they are players too."""
_READ = Access(roles=ROLES)
_REVIEW = Access(roles=frozenset({"player", "auditor"}))
_AUDIT = Access(roles=frozenset({"auditor"}))
_OPERATE = Access(roles=frozenset({"operator"}))
_OVERSEE = Access(roles=frozenset({"auditor", "operator"}))

_DENIED = Access()

ACCESS: Final[Mapping[str, Access]] = {
    "/durak.v1.AdministrationService/ChangeSigningKeys": _OPERATE,
    "/durak.v1.AdministrationService/RevokeTokens": _OPERATE,
    "/durak.v1.AuditService/ExportMatch": _AUDIT,
    "/durak.v1.AuditService/GetCheckpoint": _AUDIT,
    "/durak.v1.AuditService/GetInclusionProof": _AUDIT,
    "/durak.v1.AuditService/GetStateAt": _AUDIT,
    "/durak.v1.AuditService/ListAdministrativeEvents": _OVERSEE,
    "/durak.v1.AuditService/OpenMatch": _AUDIT,
    "/durak.v1.AuditService/ListFlags": _AUDIT,
    "/durak.v1.AuditService/ReadEvents": _AUDIT,
    "/durak.v1.AuditService/VerifyMatch": _AUDIT,
    "/durak.v1.AuditService/VerifyPayouts": _AUDIT,
    "/durak.v1.DisputeService/GetDispute": _READ,
    "/durak.v1.DisputeService/ListDisputes": _READ,
    "/durak.v1.DisputeService/OpenDispute": _PLAY,
    "/durak.v1.DisputeService/RuleOnDispute": _AUDIT,
    "/durak.v1.DisputeService/DecideCorrection": _OPERATE,
    "/durak.v1.FeedService/WatchLobby": _READ,
    "/durak.v1.FeedService/WatchPlayer": _PLAY,
    "/durak.v1.MatchService/OpenTable": _PLAY,
    "/durak.v1.MatchService/TakeSeat": _PLAY,
    "/durak.v1.MatchService/SeatBot": _PLAY,
    "/durak.v1.MatchService/LeaveMatch": _PLAY,
    "/durak.v1.MatchService/CancelTable": _PLAY,
    "/durak.v1.MatchService/RevealSeed": _PLAY,
    "/durak.v1.MatchService/RemovePlayer": _PLAY,
    "/durak.v1.MatchService/Play": _PLAY,
    "/durak.v1.MatchService/Rematch": _PLAY,
    "/durak.v1.MatchService/PlaySession": _PLAY,
    "/durak.v1.MatchService/GetMatch": _READ,
    "/durak.v1.MatchService/WatchMatch": _READ,
    "/durak.v1.MatchService/ListMatches": _READ,
    "/durak.v1.MatchService/ReviewMatch": _REVIEW,
    "/durak.v1.PracticeService/GetPuzzle": _PUBLIC,
    "/durak.v1.PracticeService/ListPuzzles": _PUBLIC,
    "/durak.v1.PracticeService/TryMove": _PUBLIC,
    "/durak.v1.RulesService/GetRuleSheet": _PUBLIC,
    "/durak.v1.RulesService/ListPresets": _PUBLIC,
    "/durak.v1.StandingsService/GetRating": _READ,
    "/durak.v1.StandingsService/GetSeries": _READ,
    "/durak.v1.StandingsService/ListRatings": _READ,
    "/durak.v1.WalletService/ApproveGrant": _OPERATE,
    "/durak.v1.WalletService/GetBalance": _PLAY,
    "/durak.v1.WalletService/GrantCoins": _OPERATE,
    "/durak.v1.WalletService/ListTransfers": _PLAY,
    "/durak.v1.WalletService/ProposeGrant": _OPERATE,
    "/grpc.health.v1.Health/Check": _PROBE,
    "/grpc.health.v1.Health/Watch": _PUBLIC,
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo": _PUBLIC,
}
"""Method → the callers that may call it. A test compares it with the descriptors."""


def access_to(method: str, table: Mapping[str, Access] = ACCESS) -> Access:
    """Return the access to `method` (`/package.Service/Name`)."""
    return table.get(method, _DENIED)


def authorise(caller: Caller, access: Access) -> None:
    """Raise Refused ROLE_REQUIRED, with the roles that may call, unless the caller may."""
    if caller.roles.isdisjoint(access.roles) or not caller.roles.isdisjoint(access.barred):
        raise refuse(reasons.ERROR_REASON_ROLE_REQUIRED, roles=",".join(sorted(access.roles)))
