"""Flags for auditors: unusual numbers of results, with the matches as evidence.

Flags never punish: nothing else reads them.
"""

from collections.abc import Mapping
from typing import Final

from durak.v1 import audit_service_pb2 as api
from eventstore.read_models.flags import (
    LOSSES_TO_ONE,
    LOST_POSITIONS_LEFT,
    MATCHES_LEFT,
    NEW_ACCOUNT_WINS,
    PAIR_LOSSES,
    FlagRow,
    FlagRule,
)
from eventstore.read_models.standings import Standings
from service.audit import requests
from service.config import Config
from service.rpc.page_tokens import seal, token_invalid, unseal

FlagRules = Mapping[api.FlagKind.ValueType, FlagRule]
_SEPARATOR: Final = b"\n"
"""It is not in player ids."""


def flag_rules(config: Config) -> FlagRules:
    """Return the rule of each kind, with the thresholds of the settings."""
    return {
        api.FLAG_KIND_PAIR_LOSSES: FlagRule(
            PAIR_LOSSES, config.flag_pair_losses_min, config.flag_share_min
        ),
        api.FLAG_KIND_LOSSES_TO_ONE: FlagRule(
            LOSSES_TO_ONE, config.flag_pair_losses_min, config.flag_share_min
        ),
        api.FLAG_KIND_MATCHES_LEFT: FlagRule(MATCHES_LEFT, config.flag_matches_left_min),
        api.FLAG_KIND_LOST_POSITIONS_LEFT: FlagRule(
            LOST_POSITIONS_LEFT, config.flag_lost_positions_left_min
        ),
        api.FLAG_KIND_NEW_ACCOUNT_WINS: FlagRule(
            NEW_ACCOUNT_WINS,
            config.flag_new_account_wins_min,
            config.flag_share_min,
            config.flag_new_account_matches_max,
        ),
    }


async def list_flags(
    standings: Standings, rules: FlagRules, request: api.ListFlagsRequest
) -> api.ListFlagsResponse:
    """Return a page of flags. Raises Refused."""
    size, since, before = requests.list_flags(request)
    shape = api.ListFlagsRequest()
    shape.CopyFrom(request)
    shape.page_token, shape.page_size = "", 0
    filters = b"flags" + shape.SerializeToString(deterministic=True)
    rows = await standings.list_flags(
        rules[request.kind],
        since,
        before,
        player=request.player_id or None,
        after=_read_token(request.page_token, filters),
        limit=size + 1,  # one more row shows whether there is another page
    )
    page = rows[:size]
    last = _SEPARATOR.join(name.encode() for name in page[-1][:2]) if len(rows) > size else b""
    return api.ListFlagsResponse(
        flags=[_flag(request.kind, row) for row in page],
        next_page_token=seal(last, filters) if last else "",
    )


def _read_token(token: str, filters: bytes) -> tuple[str, str]:
    if not token:
        return "", ""
    names = unseal(token, filters).decode(errors="replace").split(_SEPARATOR.decode())
    if len(names) != 2 or "\0" in "".join(names):
        raise token_invalid()
    return names[0], names[1]


def _flag(kind: api.FlagKind.ValueType, row: FlagRow) -> api.Flag:
    flag = api.Flag(
        kind=kind,
        player_id=row.player,
        other_player_id=row.other,
        cases=row.cases,
        matches=row.matches,
        match_ids=map(str, row.match_ids),
    )
    flag.first_time.FromDatetime(row.first_at)
    flag.last_time.FromDatetime(row.last_at)
    return flag
