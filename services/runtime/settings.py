"""Every setting of the server, named in one place with its unit, its range and what it does.

A setting is the environment variable `MAUMAU_` + its name in capitals. `read_settings()` reads them once at the start
of a process; a value out of range or a variable that nobody knows stops the process with a sentence that says what is
right.
`python -m services.runtime.reference settings` prints docs/settings.md.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterable, Mapping
from functools import partial
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self

from pydantic import Field, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from services.store.address import read_address
from services.store.keys import PREFIX_FORM

PREFIX: Final = "MAUMAU_"

CLIENT_VARIABLES: Final[Mapping[str, str]] = {
    "MAUMAU_ADDRESS": "the server that the terminal client and the SDK look for",
    "MAUMAU_TOKEN_FILE": "the file in which they keep guests' sessions, in place of one in the state folder",
}
"""Variables that belong to the client; a server that inherits them ignores them."""

RATE_FORM: Final = r"^([0-9]*[1-9][0-9]*(\.[0-9]+)?|0+\.[0-9]*[1-9][0-9]*)/(s|min|h) burst [1-9][0-9]*$"
"""How a rate is written: `20/s burst 60`."""

Port = Annotated[int, Field(le=65535)]
Seconds = Annotated[float, Field(allow_inf_nan=False)]


class SettingsError(ValueError):
    """The environment cannot be used. Its text names each variable, its value and what would be right."""


def setting(default: Any, description: str, *, section: str, secret: bool = False, **limits: Any) -> Any:
    """One declared setting. `limits` are pydantic's (`ge`, `le`, ...), and a number without one below is 0 or more; a
    secret is never shown in `repr`. No type has a lower limit of its own: it would count instead of the setting's."""
    if isinstance(default, (int, float)) and not isinstance(default, bool) and not {"ge", "gt"} & set(limits):
        limits["ge"] = 0
    return Field(default, description=description, json_schema_extra={"section": section}, repr=not secret, **limits)


_listening = partial(setting, section="Listening")
_limit = partial(setting, section="Limits")
_rate = partial(_limit, pattern=RATE_FORM)
_running = partial(setting, section="Running")
_target = partial(setting, section="Services")
_redis = partial(setting, section="Redis")
_room = partial(setting, section="Rooms")
_matching = partial(setting, section="Matchmaking")
_retention = partial(setting, section="Retention")
_trust = partial(setting, section="Trust")
_machine = partial(setting, section="One machine")


class Settings(BaseSettings):
    """The settings of one process; immutable. Grouped by who is interested, in the order of the reference page."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, frozen=True, extra="forbid", hide_input_in_errors=True)

    host: str = _listening("127.0.0.1", "Address on which the public, internal and metrics ports listen.")
    public_port: Port = _listening(7800, "Port for clients; 0 takes a free one.")
    internal_port: Port = _listening(7801, "Port for other services and for probes; 0 takes a free one.")
    metrics_port: Port = _listening(7802, "HTTP port of /metrics, /livez and /readyz; 0 takes a free one.")
    trusted_proxies: str = _listening(
        "127.0.0.0/8,::1/128", "Networks, by comma, whose x-forwarded-for names the client."
    )
    trusted_hops: int = _listening(
        1, "Proxies in a row that each add an entry to x-forwarded-for; 1 is Envoy alone.", ge=1, le=8
    )
    cors_origins_regex: str = _listening(
        ".*", "Web pages' origins that may call through gRPC-Web, as a regular expression."
    )
    public_tls_dir: Path | None = _listening(
        None, "Folder with tls.crt and tls.key: TLS for clients, at Envoy, or at the services where there is none."
    )
    internal_tls_dir: Path | None = _listening(
        None, "Folder with tls.crt, tls.key and ca.crt: mutual TLS between the services."
    )

    max_requests: int = _limit(20_000, "Streams and calls open or waiting at once, for a process and for Envoy.", ge=1)
    max_connection_streams: int = _limit(
        1_000, "Streams and calls that one connection may have open; more wait in the client.", ge=1
    )
    max_message_bytes: int = _limit(65_536, "Largest message a client may send.", ge=1_024)
    max_metadata_bytes: int = _limit(8_192, "Largest metadata of one call.", ge=1_024)
    call_limit_seconds: Seconds = _limit(
        30, "Longest time a unary call may take, also when it names no deadline.", gt=0
    )
    keepalive_seconds: Seconds = _limit(5, "A silent connection is probed after this time.", ge=1)
    keepalive_timeout_seconds: Seconds = _limit(5, "A probed connection that stays silent for this time is dead.", ge=1)
    stream_queue_bytes: int = _limit(
        1_048_576, "Events that may wait for one slow reader before its stream is cut.", ge=65_536
    )
    stream_queue_seconds: Seconds = _limit(
        10, "Age of the oldest waiting event at which a slow reader's stream is cut.", gt=0
    )
    rate_limits: bool = _limit(True, "Whether calls and streams are limited per player and per address.")
    player_streams: int = _limit(50, "Streams and long polls that one player may have open at one process.", ge=2)
    address_streams: int = _limit(5_000, "Streams and long polls that one address may have open at one process.", ge=2)
    limit_act: str = _rate("20/s burst 60", "Actions of one player, by `Act` and on `Play` streams.")
    limit_read: str = _rate("20/s burst 100", "Reading calls of one player.")
    limit_chat: str = _rate("1/s burst 10", "Chat texts of one player.")
    limit_report: str = _rate("10/h burst 10", "Reports of other players by one player.")
    limit_stream: str = _rate("2/s burst 40", "Streams that one player opens.")
    limit_create: str = _rate(
        "2/s burst 40", "Rooms, seats, tickets and names that one player makes or changes, also by an action in a room."
    )
    limit_look: str = _rate("50/s burst 500", "Calls that need no session, from one address.")
    limit_sign_in: str = _rate("2/s burst 200", "New guests from one address.")
    limit_refresh: str = _rate("10/s burst 200", "Refreshed sessions from one address.")
    limit_code: str = _rate("10/min burst 20", "Invite codes that one player tries.")
    limit_code_address: str = _rate("60/min burst 60", "Invite codes that are tried from one address.")
    limit_bad_token: str = _rate("2/s burst 60", "Calls with a bad token from one address.")
    limit_tool: str = _rate(
        "20/s burst 200",
        "Health checks and reflection requests from one address, on the public port; for Envoy, of one connection.",
    )

    log_level: Literal["debug", "info", "warning", "error"] = _running("info", "Least level that is written.")
    traces_url: str | None = _running(
        None, "Where traces go, OTLP over HTTP (`http://collector:4318/v1/traces`); none: nothing is traced."
    )
    traces_percent: float = _running(5, "Share of calls that are traced.", ge=0, le=100)
    stop_notice_seconds: Seconds = _running(
        2, "After SIGTERM, time between NOT_SERVING and the go-aways, for proxies to turn away; none after SIGINT."
    )
    stop_grace_seconds: Seconds = _running(10, "Time that open calls get to end when a process stops.")
    ready_check_seconds: Seconds = _running(1, "Time between two checks of whether a commit is possible.", gt=0)

    matchmaking_target: str = _target("127.0.0.1:7801", "gRPC target of matchmaking's internal port.")
    game_authority_target: str = _target(
        "127.0.0.1:7801", "gRPC target of the authorities' internal port (`dns:///`, `ipv4:a,b`)."
    )
    scoring_target: str = _target("127.0.0.1:7801", "gRPC target of scoring's internal port.")
    internal_call_seconds: Seconds = _target(5, "Longest time that a call from one service to another may take.", gt=0)

    redis_url: str = _redis(
        "redis://127.0.0.1:6379/0",
        "`redis://host:port/db` or `unix:///path` of the primary; `redis+sentinel://host:port,host:port/service`; "
        "`redis+cluster://host:port,host:port`. `rediss` in place of `redis` for TLS; `user:password@` before the "
        "host; `?sentinel_username=` and `?sentinel_password=` where Sentinels want them.",
        secret=True,
        min_length=1,
    )
    redis_prefix: str = _redis(
        "maumau", "First part of every key and channel, 1 to 64 of A-Z a-z 0-9 _ . : -", pattern=PREFIX_FORM
    )
    redis_connect_timeout_seconds: Seconds = _redis(1, "Time to connect.", gt=0)
    redis_command_timeout_seconds: Seconds = _redis(2, "Time for one command or pipeline.", gt=0)
    redis_command_connections: int = _redis(16, "Connections for commands of one process, to each primary.", ge=1)
    redis_blocking_connections: int = _redis(4, "Connections for blocking reads of one process, to each primary.", ge=1)
    redis_pubsub_connections: int = _redis(4, "Connections for subscriptions of one process, to each primary.", ge=1)
    redis_wait_replicas: int = _redis(
        0, "Replicas of a primary that must confirm a commit before it is answered (WAIT).", ge=0, le=5
    )
    redis_full_percent: int = _redis(
        90, "Share of maxmemory above which new guests, rooms and tickets are refused.", ge=1, le=100
    )

    turn_seconds: Seconds = _room(30, "Time for one turn, unless the room says otherwise.", ge=5, le=300)
    bank_seconds: Seconds = _room(60, "Time bank of a seat for a match, unless the room says otherwise.", ge=0, le=600)
    bot_move_min_seconds: Seconds = _room(0.6, "Shortest time that a bot takes for a move.")
    bot_move_max_seconds: Seconds = _room(1.8, "Longest time that a bot takes for a move.")
    window_seconds: Seconds = _room(2, "Least time to accuse or to slap.", ge=0.1)
    next_round_seconds: Seconds = _room(8, "Pause between rounds, unless all are ready.")
    ready_check_room_seconds: Seconds = _room(20, "Time to say ready when a match is made.", gt=0)
    away_grace_seconds: Seconds = _room(15, "Time without a live stream after which a bot plays the seat's turns.")
    reconnect_grace_seconds: Seconds = _room(10, "Time added, once a turn, when a seat lost its stream.")
    reconnect_match_seconds: Seconds = _room(30, "Sum of that time in one match.")
    empty_room_seconds: Seconds = _room(300, "A match whose seats are all away for this time is aborted.", gt=0)
    rematch_seconds: Seconds = _room(60, "Time in which a rematch may be agreed.", gt=0)
    finished_room_seconds: Seconds = _room(1_800, "A finished room is kept for this time.", gt=0)
    idle_room_seconds: Seconds = _room(600, "An open room in which nothing happens is closed after this time.", gt=0)
    bookmark_seconds: Seconds = _room(10, "Time between two bookmarks of a stream.", gt=0, le=30)
    presence_seconds: Seconds = _room(25, "A stream that is not renewed for this time counts as gone.", gt=0)

    quick_play_bots_seconds: Seconds = _matching(8, "Waiting time after which quick play fills seats with bots.")
    ticket_seconds: Seconds = _matching(20, "A ticket that nobody watches or polls ends after this time.", gt=0)
    claim_seconds: Seconds = _matching(10, "Time to make the room of a match before its tickets are free again.", gt=0)

    party_players: int = _matching(4, "Most players of a party.", ge=2, le=10)
    blocked_players: int = _matching(200, "Most players that one player may block.", ge=1, le=1_000)
    player_rooms: int = _matching(20, "Rooms that a player may have a seat in and still make another.", ge=1)

    guest_days: int = _retention(90, "A guest unused for this time is forgotten.", ge=1)
    replay_days: int = _retention(30, "Replays are kept for this time.", ge=1)
    report_days: int = _retention(180, "Reports of players are kept for this time.", ge=1)
    history_days: int = _retention(365, "Match histories are kept for this time.", ge=1)

    keys_dir: Path = _trust(Path("var/keys"), "Folder of sessions/<kid>.pem and the secrets of the server.")
    session_seconds: Seconds = _trust(900, "Life of a session token.", ge=120)
    clock_leeway_seconds: Seconds = _trust(90, "Difference of clocks that a token may show.", le=300)
    jwt_issuer: str = _trust("maumau", "Issuer of session tokens.", min_length=1)
    jwt_audience: str = _trust("maumau", "Audience of session tokens.", min_length=1)
    guests: bool = _trust(True, "Whether people may sign in as guests.")
    jwks_url: str | None = _trust(
        None,
        "Keys of the operator's own identity provider, as JWKS; its tokens are sessions, too.",
        pattern=r"^(https?|file)://",
    )
    jwks_issuer: str = _trust("", "Issuer (`iss`) of the provider's tokens; needed with the URL.")
    jwks_audience: str = _trust("", "Audience (`aud`) that the provider's tokens have for this server; needed too.")

    jwks_token_seconds: Seconds = _trust(
        86_400, "Longest time after its issue for which a token of the provider counts, whatever it says.", ge=120
    )

    port: Port = _machine(7700, "Public port of `make run`; 0 takes free ports for everything.")
    var_dir: Path = _machine(Path("var"), "Folder of data, logs and keys of `make run`.")
    authorities: int = _machine(2, "Game-authority processes of `make run`.", ge=1, le=64)
    envoy: bool = _machine(True, "Whether `make run` puts Envoy in front, where it exists.")

    @field_validator("redis_url")
    @classmethod
    def _redis_address(cls, value: str) -> str:
        read_address(value)
        return value

    @field_validator("cors_origins_regex")
    @classmethod
    def _expression(cls, value: str) -> str:
        try:
            re.compile(value)
        except re.error as error:
            raise ValueError(f"no regular expression: {error}") from None
        return value

    @field_validator("trusted_proxies")
    @classmethod
    def _networks(cls, value: str) -> str:
        for part in filter(None, value.split(",")):
            ip_network(part.strip())
        return value

    @model_validator(mode="after")
    def _fit_together(self) -> Self:
        for lower, upper in (
            ("bot_move_min_seconds", "bot_move_max_seconds"),
            ("bookmark_seconds", "presence_seconds"),
        ):
            if getattr(self, lower) > getattr(self, upper):
                raise ValueError(f"{variable(lower)} must not be above {variable(upper)}")
        if self.jwks_url is not None and not (self.jwks_issuer and self.jwks_audience):
            needed = f"{variable('jwks_issuer')} and {variable('jwks_audience')}"
            raise ValueError(f"{variable('jwks_url')} needs {needed}")
        return self


def variable(name: str) -> str:
    """The environment variable of a setting: `public_port` is `MAUMAU_PUBLIC_PORT`."""
    return PREFIX + name.upper()


def read_settings(**overrides: Any) -> Settings:
    """Reads the environment; `overrides` win over it. Raises `SettingsError` with all faults at once."""
    faults = list(_unknown(os.environ))
    try:
        settings = Settings(**overrides)
    except ValidationError as error:
        faults += [_sentence(fault) for fault in error.errors()]
    if faults:
        raise SettingsError("\n".join(faults))
    return settings


def _unknown(names: Iterable[str]) -> Iterable[str]:
    known = [variable(name) for name in Settings.model_fields] + list(CLIENT_VARIABLES)
    for name in sorted({name for name in names if name.startswith(PREFIX)} - set(known)):
        ours = [each.removeprefix(PREFIX) for each in known]
        near = difflib.get_close_matches(name.removeprefix(PREFIX), ours, n=3, cutoff=0.7)
        hint = f"did you mean {' or '.join(PREFIX + each for each in near)}?" if near else "docs/settings.md lists all."
        yield f"{name} is no setting of this server; {hint}"


def _sentence(fault: Any) -> str:
    """One fault as `MAUMAU_PORT='x': what is right`; the value of a secret is left out."""
    if not fault["loc"]:
        return _plain(fault["msg"])
    name = str(fault["loc"][0]).lower().removeprefix(PREFIX.lower())
    field = Settings.model_fields.get(name)
    value = os.environ.get(variable(name)) if field is not None and field.repr else None
    return f"{variable(name)}{'' if value is None else f'={value!r}'}: {_plain(fault['msg'])}"


def _plain(message: str) -> str:
    return message.removeprefix("Value error, ")
