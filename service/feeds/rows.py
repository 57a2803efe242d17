"""Rows of the store as news: invitations, disputes, ratings and transfers of coins."""

from google.protobuf.message import DecodeError

from domain.match.fold import CorruptLogError
from durak.v1 import dispute_service_pb2 as disputes
from durak.v1 import feed_service_pb2 as api
from durak.v1.match_service_pb2 import MatchSummary
from eventstore.ledger.transfers import Transfer
from eventstore.log.news import NewsKind
from eventstore.read_models.news import NewsRow
from service.wallet.messages import transfer_message

_RULED = {
    disputes.RULING_UPHELD: disputes.DISPUTE_STATUS_UPHELD,
    disputes.RULING_REJECTED: disputes.DISPUTE_STATUS_REJECTED,
}


def row_news(row: NewsRow) -> api.PlayerNews | None:
    """Return the news in a row that is no match, or None if its source is not there.

    The rating is missing while the standings count the match again, and the lobby's row of an
    invitation only if the lobby was lost. Raises CorruptLogError.
    """
    try:
        if row.kind is NewsKind.INVITATION and row.summary is not None:
            return _invitation(MatchSummary.FromString(row.summary))
        if row.kind is NewsKind.DISPUTE and row.record is not None:
            return _dispute(row, disputes.DisputeRecord.FromString(row.record))
    except DecodeError as error:
        raise CorruptLogError(f"{row.kind.name} {row.source_id} is not a message") from error
    if row.kind is NewsKind.RATING and row.points is not None:
        changed = api.RatingChanged(match_id=str(row.source_id), points=row.points)
        return api.PlayerNews(rating_changed=changed)
    return None


def transfer_news(transfer: Transfer) -> api.PlayerNews:
    """Return the news of a transfer."""
    message = transfer_message(transfer)
    return api.PlayerNews(event_time=message.create_time, coins_moved=message)


def _invitation(summary: MatchSummary) -> api.PlayerNews:
    return api.PlayerNews(event_time=summary.open_time, invitation=summary)


def _dispute(row: NewsRow, record: disputes.DisputeRecord) -> api.PlayerNews:
    news = api.DisputeNews(
        dispute_id=str(row.source_id),
        match_id=str(row.match_id),
        status=_status_after(record.event),
        version=record.version,
    )
    return api.PlayerNews(event_time=record.event_time, dispute=news)


def _status_after(event: disputes.DisputeEvent) -> disputes.DisputeStatus.ValueType:
    """Return the status that an event of a dispute leads to."""
    kind = event.WhichOneof("kind")
    if kind == "ruled" and event.ruled.corrections:
        return disputes.DISPUTE_STATUS_CORRECTION_PENDING
    if kind == "ruled":
        return _RULED[event.ruled.ruling]
    if event.correction_decided.decision == disputes.CORRECTION_DECISION_APPROVED:
        return disputes.DISPUTE_STATUS_UPHELD
    return disputes.DISPUTE_STATUS_OPEN
