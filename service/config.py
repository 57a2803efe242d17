"""The settings of the service: environment variables `DURAK_…`, or keyword arguments.

Every limit, interval and timeout of the service stands here with its default. Names end in their
unit.
"""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import AliasChoices, Field, SecretStr, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

Seconds = Annotated[float, Field(gt=0, le=86_400)]
Count = Annotated[int, Field(gt=0, le=10_000_000)]
Points = Annotated[int, Field(ge=0, le=100_000)]


class Config(BaseSettings):
    """All settings. Frozen; raises pydantic.ValidationError for a value out of range."""

    model_config = SettingsConfigDict(
        env_prefix="DURAK_", frozen=True, extra="forbid", populate_by_name=True
    )

    # Where things are.
    listen_host: str = "127.0.0.1"
    """The address to listen on; `[::]` or `0.0.0.0` for all."""
    listen_port: Annotated[int, Field(ge=0, le=65_535)] = 50_051
    """The port; 0 lets the system choose."""
    data_dir: Path = Path(".durak")
    """Where the embedded Postgres and the development key live."""
    database_url: SecretStr | None = None
    """The Postgres to use, migrated (`durak migrate`). Without it an embedded one is run."""

    # TLS.
    tls_certificate: Path | None = None
    """PEM file with the certificate chain. With `tls_key` the service speaks TLS alone."""
    tls_key: Path | None = None
    """PEM file with the private key of the certificate."""

    # Tokens.
    token_issuer: str = "durak"  # noqa: S105 - a name
    """What `iss` must be."""
    token_audience: str = "durak"  # noqa: S105 - a name
    """What `aud` must be, or contain."""
    token_jwks: str | None = None
    """Path or address of the issuer's public keys. Without it a development key is made."""
    token_jwks_refresh_seconds: Seconds = 300.0
    """How old the keys may get before they are read again."""
    token_jwks_retry_seconds: Seconds = 30.0
    """How long after a look at the keys a token with an unknown key id may cause another."""
    token_jwks_timeout_seconds: Seconds = 5.0
    """How long reading the keys may take."""
    token_leeway_seconds: Annotated[float, Field(ge=0, le=300)] = 5.0
    """How far the issuer's clock may be ahead of ours."""
    token_cache_size: Count = 20_000
    """How many verified tokens are remembered."""

    # Limits of the calls.
    receive_limit_bytes: Count = 64 * 1024
    """The largest message taken from a client."""
    metadata_limit_bytes: Count = 16 * 1024
    """The largest metadata taken from a client."""
    connection_streams_limit: Count = 1_000
    """Calls at once on one connection."""
    calls_limit: Count = 2_000
    """Unary calls and commands of sessions running at once, in all. Beyond: OVERLOADED."""
    caller_calls_per_second: Annotated[float, Field(ge=0, le=1_000_000)] = 100.0
    """How fast one caller may call for long; 0 is no limit. Beyond: RATE_LIMITED."""
    caller_calls_burst: Count = 200
    """How many calls one caller may make at once after a rest."""
    seat_bot_calls: Count = 10
    """As how many calls seating a bot counts: it plays on by itself."""
    callers_remembered: Count = 100_000
    """For how many callers the rate is kept; beyond, who called longest ago is forgotten."""
    caller_watches_limit: Count = 32
    """Watches and sessions that one caller may have open. Beyond: TOO_MANY_WATCHES."""
    caller_tables_limit: Count = 16
    """Tables that one player has opened, rematches included, and that still wait for players.
    Beyond: TOO_MANY_TABLES. What other replicas let in at the same moment comes on top."""
    watches_limit: Count = 20_000
    """Watches and sessions open in all. Beyond: OVERLOADED."""
    public_calls_limit: Count = 64
    """Unary calls of callers without a token (practice, rules) at once. Beyond: OVERLOADED."""
    public_calls_per_second: Annotated[float, Field(ge=0, le=1_000_000)] = 20.0
    """How fast one network address may call practice and rules for long, without a token; 0 is no
    limit. Beyond: RATE_LIMITED."""
    public_calls_burst: Count = 100
    """How many such calls one network address may make at once after a rest."""
    practice_attempts_remembered: Count = 1_000
    """Choices in puzzles whose outcome is kept in memory."""
    rule_sheets_remembered: Count = 512
    """Rule sheets kept in memory, in whichever languages they were asked for."""
    public_streams_limit: Count = 256
    """Open streams of callers without a token (health, reflection), in all. Beyond: OVERLOADED."""

    # Connections.
    keepalive_interval_seconds: Seconds = 60.0
    """How long a connection may be silent before the server asks whether it is alive."""
    keepalive_timeout_seconds: Seconds = 20.0
    """How long the answer may take before the connection counts as lost, with its calls."""
    client_ping_least_seconds: Seconds = 10.0
    """How often clients may ping; the guide for clients tells them 30 seconds."""

    # Life and end of the process.
    readiness_interval_seconds: Seconds = 2.0
    """How often the database is asked whether it is there."""
    drain_seconds: Seconds = 10.0
    """How long running commands may take when the service stops."""
    session_grace_seconds: Seconds = 2.0
    """How long the running commands of a session may take when its token expires."""

    # Matches.
    live_matches_limit: Count = 10_000
    """Matches held in memory; beyond, the one used longest ago is dropped and folded anew later."""
    conflict_retries: Count = 8
    """How often a command is decided again because the match changed. Beyond: CONTENTION."""
    watch_queue_events: Count = 256
    """Events that may wait for a slow watcher. Beyond: SLOW_WATCHER."""
    watch_page_events: Count = 500
    """Events that a watch reads from the log at a time while it catches up."""
    session_requests_limit: Count = 64
    """Requests of a session that may be unanswered; beyond, no more are read from it."""
    heartbeat_seconds: Seconds = 15.0
    """How often a silent watch gets a sign of life."""
    idle_limit_seconds: Annotated[int, Field(gt=0, le=31_536_000)] = 86_400
    """How long a table without a timer waits for a seat, and for its players (R10.8)."""
    sweep_interval_seconds: Seconds = 1.0
    """How often the log is searched for matches whose time is up."""
    sweep_grace_seconds: Annotated[float, Field(ge=0, le=3600)] = 1.0
    """How long the replica that has a match in memory is given to see to it before others do."""
    sweep_batch_matches: Count = 200
    """How many matches one search finds; where there are more, another follows at once."""

    # Audits.
    audit_processes: Annotated[int, Field(gt=0, le=64)] = 2
    """Processes that judge side by side where an auditor verifies many matches."""

    # Disputes.
    dispute_window_seconds: Annotated[int, Field(gt=0, le=31_536_000)] = 604_800
    """How long after the end of a match its players can open a dispute about it."""
    dispute_open_limit: Annotated[int, Field(gt=0, le=100)] = 3
    """Undecided disputes of one player about one match. Beyond: TOO_MANY_DISPUTES."""

    # Checkpoints (docs/operator.md).
    checkpoint_key: Path | None = None
    """The file of the keys that checkpoints are signed with; `checkpoint-key` in the data folder
    if not set. `durak key` makes and rotates them. Without the file nothing is signed."""
    checkpoint_interval_seconds: Seconds = 5.0
    """How often ended matches are put into the tree and its head is signed."""
    checkpoint_batch_matches: Count = 1_000
    """How many matches go into the tree in one transaction."""
    checkpoint_folder: Path | None = None
    """Where checkpoints are published: a folder that the database's keepers cannot write to."""
    checkpoint_objects: Annotated[str, Field(pattern=r"^(s3|gs|az)://\w")] | None = None
    """Where they are published too: an object path, `s3://…`, `gs://…` or `az://…`. Credentials
    come from the environment, as `AWS_ACCESS_KEY_ID` and so on."""

    # Bots.
    bot_delay_seconds: Annotated[float, Field(ge=0, le=60)] = 0.0
    """How long a bot waits before it moves, so that people can follow."""
    bot_turn_seconds: Seconds = 5.0
    """How long a bot's turn may take before other replicas look after it."""
    bot_think_seconds: Seconds = 4.0
    """How long a hard bot may think, waiting included; after that it moves as a normal one."""

    # Thinking: hard bots and reviews.
    thinking_processes: Annotated[int, Field(gt=0, le=64)] = 2
    """Processes that think, beside the one that answers calls, which goes before them."""
    thoughts_limit: Count = 64
    """Thoughts running and waiting. Beyond, a hard bot moves as a normal one, and a review is
    refused as OVERLOADED."""
    reviews_limit: Count = 2
    """Reviews made at the same time. Beyond: OVERLOADED."""
    review_positions: Count = 50_000
    """Positions that the solver may visit before and after each move of a review."""
    review_seconds: Seconds = 8.0
    """How long a review may take; the moves that are left then are not decided."""

    # Coins.
    opening_balance_coins: Annotated[int, Field(ge=0, le=1_000_000_000)] = 1_000
    """What each player has to begin with, from when they first have to do with coins."""
    grant_limit_coins: Annotated[int, Field(gt=0, le=1_000_000_000)] = 1_000_000
    """The most coins that an operator can grant at once."""

    # Standings. The numbers of the rating hold for matches counted from then on; `durak rebuild`
    # counts all of them anew.
    rating_initial_points: Points = 1_000
    """The rating of a player before the first match."""
    rating_match_points: Annotated[int, Field(gt=0, le=1_000)] = 32
    """The most points that one match gives or takes."""
    rating_scale_points: Annotated[int, Field(gt=0, le=100_000)] = 400
    """How many points stronger a player is who is expected to win ten games of eleven."""
    rating_easy_bot_points: Points = 800
    """The strength of easy bots, as a rating."""
    rating_normal_bot_points: Points = 1_000
    """The strength of normal bots, as a rating."""
    rating_hard_bot_points: Points = 1_200
    """The strength of hard bots, as a rating."""
    rating_bot_day_points: Annotated[int, Field(ge=0, le=1_000_000)] = 50
    """The most points that a player can win from bots on one day (UTC)."""
    standings_interval_seconds: Seconds = 1.0
    """How often ended matches are counted."""
    standings_settle_seconds: Annotated[float, Field(ge=0, le=3600)] = 1.0
    """How long a match waits to be counted, so that those that ended before it come first."""
    standings_batch_matches: Count = 500
    """How many matches are counted in one transaction."""

    # What the operator sees.
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """The least severe log lines written. `debug` has one for every call."""
    log_format: Literal["json", "console"] = "json"
    """JSON lines, or lines in colour for a person at a terminal."""
    otlp_endpoint: str | None = Field(
        default=None,
        validation_alias=AliasChoices("DURAK_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"),
    )
    """Where traces and metrics go, by OTLP over gRPC. Without it nothing is sent anywhere."""
    trace_sample_ratio: Annotated[float, Field(ge=0, le=1)] = 0.1
    """The share of calls traced, where the caller has not decided."""
    metrics_interval_seconds: Seconds = 30.0
    """How often metrics are sent."""

    @model_validator(mode="after")
    def _whole_tls(self) -> "Config":
        if (self.tls_certificate is None) != (self.tls_key is None):
            raise ValueError("tls_certificate and tls_key go together")
        return self

    @property
    def note_key_file(self) -> Path:
        """Where the keys of the checkpoints are."""
        return self.checkpoint_key or self.data_dir / "checkpoint-key"
