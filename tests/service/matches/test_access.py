"""Private tables over gRPC: invitations, links, and what lists show to whom."""

from __future__ import annotations

import pytest

from durak.v1 import errors_pb2 as reasons
from durak.v1 import match_service_pb2 as api
from durak.v1.table_pb2 import PHASE_PLAYING, PHASE_WAITING
from tests.service.playing import SETTINGS, Player, Playing, log_of, new_id, playing, refused

__all__ = ["playing"]

LINK = bytes(range(16))


async def open_private(owner: Player, **access: object) -> str:
    request = api.OpenTableRequest(
        request_id=new_id(),
        settings=SETTINGS,
        **access,  # type: ignore[arg-type]
    )
    view = (await owner.call("OpenTable", request)).view
    again = (await owner.call("OpenTable", request)).view
    assert again.match_id == view.match_id
    return str(view.match_id)


async def listed(player: Player, **filters: object) -> list[str]:
    """The ids of all pages, which have one row each."""
    found: list[str] = []
    token = ""
    while True:
        request = api.ListMatchesRequest(page_size=1, page_token=token, **filters)  # type: ignore[arg-type]
        page = await player.call("ListMatches", request)
        found += [match.match_id for match in page.matches]
        token = page.next_page_token
        if not token:
            return found


async def test_T14_strangers_can_neither_join_nor_find_a_private_table(playing: Playing) -> None:
    replicas = [await playing.replica() for _ in range(2)]
    ann = await playing.player(replicas[0], "ann")
    bob, cid = [await playing.player(replicas[1], name) for name in ("bob", "cid")]
    by_link = await open_private(ann, link_secret=LINK)
    by_invitation = await open_private(ann, invited=["bob"])
    for match_id in (by_link, by_invitation):
        for secret in (b"", bytes(16)):
            async with refused(reasons.ERROR_REASON_NOT_INVITED):
                await cid.sit(match_id, link_secret=secret)
    open_to_all = (await ann.open()).match_id

    assert await listed(cid, phase=PHASE_WAITING) == [open_to_all]
    assert await listed(bob, phase=PHASE_WAITING) == [open_to_all, by_invitation]
    assert await listed(ann, phase=PHASE_WAITING) == [open_to_all, by_invitation, by_link]

    await cid.sit(by_link, link_secret=LINK)
    assert by_link in await listed(cid, mine=True)
    assert by_link not in await listed(bob)
    await ann.sit(by_invitation)
    assert (await bob.sit(by_invitation)).phase == PHASE_PLAYING
    assert by_invitation not in await listed(cid)
    log = await log_of(replicas[0].store, by_link)
    assert not any(LINK in record.SerializeToString() for record in log)


async def test_pages_without_a_row_lead_on_to_the_next(playing: Playing) -> None:
    replica = await playing.replica()
    ann, bob = [await playing.player(replica, name) for name in ("ann", "bob")]
    oldest = (await bob.open()).match_id
    for _ in range(12):
        await open_private(ann, link_secret=LINK)
    assert await listed(bob) == [oldest]


@pytest.mark.parametrize(
    "access",
    [{"link_secret": b"short"}, {"link_secret": bytes(65)}, {"invited": ["two words"]}],
)
async def test_malformed_access_is_refused(playing: Playing, access: dict[str, object]) -> None:
    replica = await playing.replica()
    ann = await playing.player(replica, "ann")
    async with refused(reasons.ERROR_REASON_MALFORMED_FIELD):
        await open_private(ann, **access)


async def test_at_most_32_players_are_invited(playing: Playing) -> None:
    replica = await playing.replica()
    ann = await playing.player(replica, "ann")
    await open_private(ann, invited=[f"guest-{number}" for number in range(32)])
    async with refused(reasons.ERROR_REASON_MALFORMED_FIELD):
        await open_private(ann, invited=[f"guest-{number}" for number in range(33)])
