"""The settings of the service: environment variables `DURAK_…`, or keyword arguments.

Every limit, interval and timeout of the service is defined here, with its default. Names end in
their unit. The docstrings are also the table in docs/operator.md (`make docs`).
"""

from ipaddress import IPv4Network, IPv6Network
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import AliasChoices, BeforeValidator, Field, SecretStr, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

Seconds = Annotated[float, Field(gt=0, le=86_400)]
Count = Annotated[int, Field(gt=0, le=10_000_000)]
PROCESSES_MAX: Final = 64
ClaimPath = Annotated[str, Field(max_length=255, pattern=r"^[^\s.]+(\.[^\s.]+)*$")]
Points = Annotated[int, Field(ge=0, le=100_000)]


def _split(value: object) -> object:
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    return value


Networks = Annotated[tuple[IPv4Network | IPv6Network, ...], NoDecode, BeforeValidator(_split)]


class Config(BaseSettings):
    """All settings. Frozen; raises pydantic.ValidationError for a value out of range."""

    model_config = SettingsConfigDict(
        env_prefix="DURAK_", frozen=True, extra="forbid", populate_by_name=True
    )

    # Addresses and folders.
    listen_host: str = "127.0.0.1"
    """The address to listen on. `[::]` or `0.0.0.0` means all addresses."""
    listen_port: Annotated[int, Field(ge=0, le=65_535)] = 50_051
    """The port. With 0 the system chooses one."""
    health_port: Annotated[int, Field(ge=0, le=65_535)] | None = None
    """A second port that answers health checks only, always without TLS: for probes that know no
    TLS, as those of Kubernetes. None: only the main port answers them."""
    data_dir: Path = Path(".durak")
    """The folder of the embedded Postgres and the development key."""
    database_url: SecretStr | None = None
    """The Postgres to use, migrated by `durak migrate`. Without it the service runs an embedded
    one."""

    # Processes.
    processes: Annotated[int, Field(ge=0, le=PROCESSES_MAX)] = 1
    """Number of processes behind the port, each a whole replica. 0: one for each core that the
    service may use. With more than one, a parent process supervises them."""

    # TLS.
    tls_certificate: Path | None = None
    """PEM file with the certificate chain. With it and `DURAK_TLS_KEY` the service accepts only
    TLS."""
    tls_key: Path | None = None
    """PEM file with the private key of the certificate."""

    # Tokens.
    token_issuer: str = "durak"  # noqa: S105 - a name
    """The required value of the claim `iss`."""
    token_audience: str = "durak"  # noqa: S105 - a name
    """The claim `aud` must be this value or a list that contains it."""
    token_jwks: str | None = None
    """Path or http(s) address of the public keys of the issuer. Without it the service creates a
    development key."""
    token_roles_claim: ClaimPath = "roles"  # noqa: S105 - a name
    """The claim with the list of roles: its name, such as `https://game.example/roles`, or its path
    with dots, such as `realm_access.roles`. A claim with exactly this name comes first. Tokens of
    the development key always have `roles`."""
    token_default_role: Literal["player"] | None = None
    """The role of tokens without the claim `DURAK_TOKEN_ROLES_CLAIM`: `player`, for issuers that
    give no roles. None: such tokens have no role."""
    token_jwks_refresh_seconds: Seconds = 300.0
    """Age at which the keys are read again."""
    token_jwks_retry_seconds: Seconds = 30.0
    """Minimum time between two reads of the keys that are caused by tokens with an unknown key
    id."""
    token_jwks_timeout_seconds: Seconds = 5.0
    """Timeout for reading the keys."""
    token_jwks_stale_seconds_max: Seconds = 86_400.0
    """Age of the keys at which tokens are refused, if the keys could not be read since."""
    revocations_interval_seconds: Seconds = 1.0
    """Interval at which a replica reads which tokens operators have revoked."""
    token_leeway_seconds: Annotated[float, Field(ge=0, le=300)] = 5.0
    """Accepted difference between the clocks of the issuer and the service."""
    token_cache_size_max: Count = 20_000
    """Maximum number of verified tokens in the cache."""

    # Limits of the calls.
    receive_bytes_max: Count = 64 * 1024
    """Maximum size of a message from a client."""
    metadata_bytes_max: Count = 16 * 1024
    """Maximum size of the metadata from a client."""
    connection_streams_max: Count = 1_000
    """Maximum number of concurrent calls on one connection."""
    calls_max: Count = 2_000
    """Maximum number of concurrent unary calls and session commands in total. More are refused
    with OVERLOADED."""
    caller_calls_per_second: Annotated[float, Field(ge=0, le=1_000_000)] = 100.0
    """Sustained rate of calls of one caller. 0 means no limit. More are refused with
    RATE_LIMITED."""
    caller_calls_burst: Count = 200
    """Number of calls that one caller may make in a burst after a pause."""
    seat_bot_calls: Count = 10
    """Number of calls that one SeatBot counts as, because the bot then plays without calls."""
    watch_events_per_call: Count = 20
    """Number of past events of a watch that count as one call. A watch that has to send more than
    the caller's calls allow waits before it sends them."""
    callers_remembered_max: Count = 100_000
    """Maximum number of callers whose rate is tracked. The least recently active is dropped
    first."""
    caller_watches_max: Count = 32
    """Maximum number of open watches and sessions of one caller. More are refused with
    TOO_MANY_WATCHES."""
    caller_tables_max: Count = 16
    """Maximum number of tables, including rematches, that one player has opened and that still
    wait for players. More are refused with TOO_MANY_TABLES. Replicas that accept tables at the same
    moment can exceed it slightly."""
    caller_bot_tables_max: Count = 16
    """Number of running matches opened by one player at which the player can seat no more bots and
    gets TOO_MANY_TABLES. Bots that are seated at the same moment can exceed it by the number of
    waiting tables."""
    caller_seats_max: Count = 16
    """Maximum number of seats that one player has in matches that have not ended, waiting or
    running. Bots do not count. More are refused with TOO_MANY_SEATS. Replicas that seat a player at
    the same moment can exceed it slightly."""
    watches_max: Count = 20_000
    """Maximum number of open watches and sessions in total. More are refused with OVERLOADED."""
    public_calls_max: Count = 64
    """Maximum number of concurrent unary calls without a token (practice, rules). More are refused
    with OVERLOADED."""
    public_calls_per_second: Annotated[float, Field(ge=0, le=1_000_000)] = 20.0
    """Sustained rate of calls without a token from one network address, including streams and
    their requests. 0 means no limit. More are refused with RATE_LIMITED."""
    public_calls_burst: Count = 100
    """Number of calls without a token that one network address may make in a burst after a
    pause."""
    refused_tokens_per_second: Annotated[float, Field(ge=0, le=1_000_000)] = 2.0
    """Sustained rate of refused tokens from one network address. 0 means no limit. Beyond it, new
    tokens from the address are refused with RATE_LIMITED and not verified."""
    refused_tokens_burst: Count = 100
    """Number of refused tokens that one network address may send in a burst after a pause."""
    practice_puzzles: Path | None = None
    """File of more puzzles, as `durak practice --mine` writes it."""
    practice_attempts_remembered_max: Count = 1_000
    """Maximum number of puzzle attempts whose outcome is cached."""
    rule_sheets_remembered_max: Count = 512
    """Maximum number of rule sheets in the cache, counting each language."""
    public_streams_max: Count = 256
    """Maximum number of open streams without a token (health, reflection) in total. More are
    refused with OVERLOADED."""
    address_streams_max: Count = 32
    """Maximum number of open streams without a token from one network address. More are refused
    with TOO_MANY_WATCHES."""
    trusted_proxies: Networks = ()
    """Addresses and networks of the proxies in front of the service, separated by commas. From
    these alone the service takes the address of the client from the metadata `x-forwarded-for`:
    the last entry that is not itself a trusted proxy."""

    # Connections.
    keepalive_interval_seconds: Seconds = 60.0
    """Time without traffic after which the server sends a keepalive ping."""
    keepalive_timeout_seconds: Seconds = 20.0
    """Time to wait for the reply to a keepalive ping. Then the connection and its calls are
    closed."""
    connection_age_seconds_max: Seconds = 1_800.0
    """Age at which a connection takes no new calls. The client then opens another one, perhaps to a
    replica that has just started. Streams that are open go on."""
    client_ping_interval_seconds_min: Seconds = 10.0
    """Minimum interval between pings of a client. The guide for game clients recommends 30
    seconds."""

    # Readiness and shutdown.
    readiness_interval_seconds: Seconds = 2.0
    """Interval of the readiness check of the database."""
    stuck_seconds_max: Annotated[float, Field(ge=0, le=3_600)] = 60.0
    """Time without any progress after which the process logs where it is stuck and ends with status
    70, so that it is started again. 0: never."""
    heads_interval_seconds: Seconds = 2.0
    """Interval at which the heads of the live matches are compared with the log. Hints from other
    replicas usually come first, within milliseconds."""
    clock_offset_seconds_max: Seconds = 2.0
    """Accepted difference between the clocks of this replica and the database. Beyond it the
    replica uses the database's time."""
    drain_seconds_max: Seconds = 10.0
    """Time that running commands get to finish when the service stops."""
    session_grace_seconds: Seconds = 2.0
    """Time that the running commands of a session get to finish when its token expires."""

    # Matches.
    live_matches_bytes_max: Annotated[int, Field(ge=2**16, le=2**40)] = 2**29
    """Memory for matches, for each process: a match of two players takes 70 to 100 KB. The least
    recently used is dropped, and folded again when it is needed. Watches can keep nine tenths of
    the memory: the rest is for commands."""
    ended_match_seconds: Seconds = 10.0
    """How long an ended match that nobody watches stays in memory."""
    conflict_retries_max: Count = 8
    """Maximum number of times that a command is decided again because the match changed. Then it
    is refused with CONTENTION."""
    watch_queue_events_max: Count = 256
    """Maximum number of events waiting for a slow watcher. Then the watch ends with
    SLOW_WATCHER."""
    watch_page_events: Count = 500
    """Number of events that a watch reads from the log per query while it catches up."""
    lobby_matches_max: Count = 500
    """Maximum number of open tables, and of running matches, that lobby watches show: the newest
    ones."""
    lobby_interval_seconds: Seconds = 0.5
    """Minimum time between two reads of the lobby, which all lobby watches of a replica share."""
    session_requests_max: Count = 64
    """Maximum number of unanswered requests of a session. The service reads no more until it has
    answered some."""
    heartbeat_interval_seconds: Seconds = 15.0
    """Interval of heartbeats on a watch without events."""
    idle_limit_seconds: Annotated[int, Field(gt=0, le=31_536_000)] = 86_400
    """Time that a table without a timer waits for a move, and any table for its last player
    (R10.8)."""
    reveal_limit_seconds: Annotated[int, Field(gt=0, le=3_600)] = 30
    """Time that players have to reveal the secrets that they promised, once their table is full
    (R3.6)."""
    prevented_deals_max: Annotated[int, Field(gt=0, le=1_000)] = 3
    """Number of deals that a player may prevent within the window: by not revealing a secret, or by
    leaving meanwhile. Then they cannot take a seat until the oldest of these is outside of the
    window, and get SEATING_SUSPENDED."""
    prevented_deals_window_seconds: Annotated[int, Field(gt=0, le=2_592_000)] = 86_400
    """The window for `DURAK_PREVENTED_DEALS_MAX`."""
    deadline_scan_interval_seconds: Seconds = 1.0
    """Interval of the search for matches with an expired deadline."""
    deadline_scan_grace_seconds: Annotated[float, Field(ge=0, le=3600)] = 1.0
    """Time after a deadline in which only the replica with the match in memory acts."""
    deadline_scan_batch_matches: Count = 200
    """Maximum number of matches per search. If there are more, the next search follows
    immediately."""

    # Audits.
    audit_processes: Annotated[int, Field(gt=0, le=64)] = 2
    """Number of processes for audits of many matches."""

    # Flags for auditors (docs/auditor.md). They punish nobody.
    flag_share_min: Annotated[float, Field(ge=0, le=1)] = 0.8
    """Minimum share of losses in the matches of a pair, and of wins against new accounts in all
    wins, for a flag."""
    flag_pair_losses_min: Count = 10
    """Number of losses to one player from which a pair is flagged."""
    flag_matches_left_min: Count = 5
    """Number of matches left from which a player is flagged."""
    flag_lost_positions_left_min: Count = 3
    """Number of matches left in a lost position from which a player is flagged."""
    flag_new_account_wins_min: Count = 10
    """Number of wins against new accounts from which a player is flagged."""
    flag_new_account_matches_max: Count = 10
    """Number of counted matches up to which an account is new."""

    # Disputes.
    dispute_window_seconds: Annotated[int, Field(gt=0, le=31_536_000)] = 604_800
    """Time after the end of a match in which its players can open a dispute."""
    open_disputes_max: Annotated[int, Field(gt=0, le=100)] = 3
    """Maximum number of undecided disputes of one player about one match. More are refused with
    TOO_MANY_DISPUTES."""

    # Checkpoints (docs/operator.md).
    checkpoint_key: Path | None = None
    """File of the keys that sign checkpoints. The default is `checkpoint-key` in the data folder.
    `durak key` creates and rotates keys. Without the file no checkpoint is signed."""
    checkpoint_interval_seconds: Seconds = 5.0
    """Interval at which ended matches are added to the tree and its head is signed."""
    checkpoint_batch_matches: Count = 1_000
    """Maximum number of matches added to the tree in one transaction."""
    checkpoint_folder: Path | None = None
    """Folder where checkpoints are published. Administrators of the database should have no write
    access to it."""
    checkpoint_objects: Annotated[str, Field(pattern=r"^(s3|gs|az)://\w")] | None = None
    """Object store where checkpoints are published: `s3://…`, `gs://…` or `az://…`. Credentials
    come from the environment, such as `AWS_ACCESS_KEY_ID`."""

    # Bots.
    bot_delay_seconds: Annotated[float, Field(ge=0, le=60)] = 1.0
    """Time that a bot waits before it moves, so that human players can follow."""
    bot_turn_seconds: Seconds = 5.0
    """Time after which another replica makes the move of a bot."""
    bot_think_seconds_min: Annotated[float, Field(ge=0, le=60)] = 0.5
    """Minimum time in which a hard bot moves. The time of a move is drawn from one to two times
    this value, so that it does not depend on the hand. 0: moves come when they are ready, which
    shows whether the bot had a choice."""
    bot_think_seconds_max: Seconds = 4.0
    """Maximum time for the move of a hard bot, including the time in the queue. Then it moves like
    a normal bot."""

    # Worker processes for hard bots and reviews.
    worker_processes: Annotated[int, Field(gt=0, le=64)] = 2
    """Number of worker processes. They run at a lower priority than the process that answers
    calls. Several processes behind one port divide them evenly, at least one each."""
    worker_tasks_max: Count = 64
    """Maximum number of running and waiting tasks of the workers. Beyond it the newest task of the
    player with the most tasks gives way: a hard bot moves like a normal bot, and a review is
    refused with OVERLOADED."""
    reviews_max: Count = 2
    """Maximum number of reviews that run at the same time. More wait in order of arrival, at most
    one of each caller."""
    reviews_waiting_max: Count = 32
    """Maximum number of reviews that wait. More are refused with OVERLOADED."""
    review_wait_seconds_max: Seconds = 20.0
    """Maximum time that a review waits. Then it is refused with OVERLOADED."""
    review_positions_max: Count = 50_000
    """Maximum number of positions that the solver visits before and after each move of a
    review."""
    review_seconds_max: Seconds = 8.0
    """Maximum time for a review. The remaining moves are reported as undecided."""

    # Coins.
    opening_balance_coins: Annotated[int, Field(ge=0, le=1_000_000_000)] = 1_000
    """Coins that each player gets when their account is created, on the first use of coins."""
    opening_free_matches_min: Annotated[int, Field(ge=0, le=1_000)] = 3
    """Number of matches without a stake that a player must have played to the end before they can
    stake the coins of their opening balance (R12.9). 0: they can stake them at once. Before that,
    stakes are refused with OPENING_COINS_LOCKED, except from granted coins."""
    grant_coins_max: Annotated[int, Field(gt=0, le=1_000_000_000)] = 1_000_000
    """Maximum number of coins in one grant of an operator."""
    grant_coins_per_day_max: Annotated[int, Field(gt=0, le=1_000_000_000)] = 1_000_000
    """Maximum number of coins that one operator can grant in 24 hours."""
    proposed_grant_coins_max: Annotated[int, Field(gt=0, le=1_000_000_000)] = 100_000_000
    """Maximum number of coins in one grant that a second operator approves."""
    proposed_grant_seconds: Annotated[int, Field(gt=0, le=30 * 86_400)] = 3 * 86_400
    """How long a proposed grant can be approved."""
    match_access_seconds: Annotated[int, Field(gt=0, le=86_400)] = 3_600
    """How long an auditor can read a running match after the access was recorded."""

    # Standings. A change of the rating values affects matches counted later. `durak rebuild` counts
    # all matches again.
    rating_initial_points: Points = 1_000
    """The rating of a player before the first match."""
    rating_match_points_max: Annotated[int, Field(gt=0, le=1_000)] = 32
    """Maximum number of points that a player gains or loses in one match."""
    rating_scale_points: Annotated[int, Field(gt=0, le=100_000)] = 400
    """Rating difference that gives a 10:1 expected score."""
    rating_easy_bot_points: Points = 800
    """The rating of easy bots."""
    rating_normal_bot_points: Points = 1_000
    """The rating of normal bots."""
    rating_hard_bot_points: Points = 1_200
    """The rating of hard bots."""
    rating_bot_day_points_max: Annotated[int, Field(ge=0, le=1_000_000)] = 50
    """Maximum number of points that a player can win against bots on one day (UTC)."""
    standings_interval_seconds: Seconds = 1.0
    """Interval at which ended matches are counted."""
    standings_settle_seconds: Annotated[float, Field(ge=0, le=3600)] = 1.0
    """Time between the end of a match and its counting, so that matches that ended earlier are
    counted first."""
    standings_batch_matches: Count = 500
    """Maximum number of matches counted in one transaction."""

    # Logs, traces and metrics.
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """The least severe level that is logged. `debug` logs every call."""
    log_format: Literal["json", "console"] = "json"
    """JSON lines, or coloured lines for a terminal."""
    otlp_endpoint: str | None = Field(
        default=None,
        validation_alias=AliasChoices("DURAK_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"),
    )
    """Receiver of traces and metrics (OTLP over gRPC). Without it no telemetry is sent."""
    trace_sample_ratio: Annotated[float, Field(ge=0, le=1)] = 0.1
    """Share of calls that are traced if the caller has not decided."""
    metrics_interval_seconds: Seconds = 30.0
    """Interval at which metrics are sent."""

    @model_validator(mode="after")
    def _whole_tls(self) -> "Config":
        if (self.tls_certificate is None) != (self.tls_key is None):
            raise ValueError("tls_certificate and tls_key go together")
        return self

    @model_validator(mode="after")
    def _roles_of_an_issuer(self) -> "Config":
        if self.token_jwks is None and self.token_roles_claim != "roles":  # noqa: S105 - as above
            raise ValueError("token_roles_claim needs token_jwks: `durak token` writes `roles`")
        return self

    @property
    def note_key_file(self) -> Path:
        """Return the file of the checkpoint keys."""
        return self.checkpoint_key or self.data_dir / "checkpoint-key"
