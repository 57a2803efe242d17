"""`durak feed`: all that concerns a player, as it happens."""

import asyncio
from pathlib import Path

import click

from durak.v1 import feed_service_pb2 as api
from durak.v1.dispute_service_pb2 import DisputeStatus
from durak.v1.events_pb2 import Outcome
from service.cli.coins import transfer_kind
from service.cli.connection import Connection, with_connection
from service.cli.exits import CommandError
from service.cli.output_file import write_output
from service.render.texts import format_utc, player_name, printable, translator
from service.text.localisation import Translate


@click.command("feed")
@click.option(
    "--position",
    "position_file",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File that keeps the position: continue after it, also in a later run.",
)
@with_connection("player")
def feed_command(*, connection: Connection, position_file: Path | None) -> None:
    """Print all that concerns you until you press Ctrl-C.

    Turns with their deadlines, seats and deals at your tables, invitations, rematches, results,
    disputes, coins and ratings. It begins with the turns that wait for you now.
    """
    asyncio.run(_follow(connection, position_file, translator(connection.language)))


async def _follow(connection: Connection, file: Path | None, translate: Translate) -> None:
    async with connection.client() as client:
        async for message in client.feed(_read_position(file)):
            for news in message.news:
                click.echo(news_line(news, translate))
            if file is not None:
                write_output(file, message.position.encode())


def _read_position(file: Path | None) -> str:
    if file is None or not file.exists():
        return ""
    try:
        return file.read_text("ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{file} is not a file with a position: {error}") from error


def news_line(news: api.PlayerNews, translate: Translate) -> str:
    """Return news in one line."""
    time = format_utc(news.event_time.ToMicroseconds()) if news.HasField("event_time") else ""
    return f"{time:23}  {_text(news, translate)}".rstrip()


def _text(news: api.PlayerNews, translate: Translate) -> str:
    match news.WhichOneof("kind"):
        case "your_turn":
            until = format_utc(news.your_turn.deadline_time.ToMicroseconds())
            return translate("feed-your-turn", until=until, match=news.your_turn.match_id)
        case "invitation":
            table = news.invitation
            player = player_name(table.owner_id)
            return translate("feed-invitation", player=player, match=table.match_id)
        case "rematch_offered":
            return translate("feed-rematch-offered", match=news.rematch_offered.match_id)
        case "dealt":
            return translate("feed-dealt", match=news.dealt.match_id)
        case "match_over":
            outcome = _word(Outcome.Name(news.match_over.result.outcome), "OUTCOME_")
            return translate("feed-match-over", outcome=outcome, match=news.match_over.match_id)
        case "rating_changed":
            rating = news.rating_changed
            return translate("feed-rating-changed", points=rating.points, match=rating.match_id)
        case "seat_taken" | "seat_vacated":
            return _seat_text(news, translate)
        case "dispute" | "coins_moved":
            return _dispute_or_coins_text(news, translate)
    return ""  # a kind that this client does not know


def _seat_text(news: api.PlayerNews, translate: Translate) -> str:
    if news.HasField("seat_vacated"):
        vacated = news.seat_vacated
        key = "feed-seat-removed" if vacated.removed else "feed-seat-vacated"
        player = player_name(vacated.player_id)
        return translate(key, player=player, seat=vacated.seat, match=vacated.match_id)
    taken = news.seat_taken
    if taken.bot_level:
        return translate("feed-bot-seated", seat=taken.seat, match=taken.match_id)
    player = printable(taken.display_name) or player_name(taken.player_id)
    return translate("feed-seat-taken", player=player, seat=taken.seat, match=taken.match_id)


def _dispute_or_coins_text(news: api.PlayerNews, translate: Translate) -> str:
    if news.HasField("dispute"):
        dispute = news.dispute
        status = _word(DisputeStatus.Name(dispute.status), "DISPUTE_STATUS_")
        return translate(
            "feed-dispute", status=status, dispute=dispute.dispute_id, match=dispute.match_id
        )
    moved = news.coins_moved
    return translate(
        "feed-coins-moved",
        coins=moved.coins,
        available=moved.available_after_coins,
        kind=transfer_kind(moved, translate),
    )


def _word(name: str, prefix: str) -> str:
    return name.removeprefix(prefix).lower().replace("_", "-")
