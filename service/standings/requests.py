"""Check the fields of StandingsService's requests. See `service.rpc.validation`."""

from durak.v1 import standings_service_pb2 as api
from service.rpc.validation import Faults


def get_series(request: api.GetSeriesRequest) -> bytes:
    """Return the series id."""
    faults = Faults()
    series_id = faults.uuid("series_id", request.series_id)
    faults.check()
    return series_id


def get_rating(request: api.GetRatingRequest) -> None:
    """Check `player_id`. Empty means the caller."""
    faults = Faults()
    if request.player_id:
        faults.player("player_id", request.player_id)
    faults.check()


def list_ratings(request: api.ListRatingsRequest) -> int:
    """Check the fields; return the size of the page."""
    faults = Faults()
    size = faults.page(request)
    faults.check()
    return size
