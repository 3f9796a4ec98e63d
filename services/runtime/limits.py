"""How often somebody may call: per player and class of methods, and per address where there is no player.

    limits = Limits(runtime.settings, LimitStore(store.pipelines))
    runtime.public.guard(PublicGuard(verifier, limits))
    runtime.public.guard(limits, tools=True)

A limit is a rate and a burst (GCRA) and holds over all processes: Redis has its time stamp. Every process keeps a
shadow of it, so that who is above a limit costs Redis nothing. Calls that cost much or that try something out (signing
in, codes, bad tokens, new rooms, streams) ask Redis each time. The frequent ones (acts, reads) are judged by the shadow
at once and charged to Redis afterwards, a few together; three processes then let a little more through than one, and
pay it back. Without Redis, or with a full one, acts, reads and streams are limited by each process alone; guesses are
refused with STORE_UNAVAILABLE, or SERVER_FULL.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import math
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from services.runtime import reflection
from services.runtime.addresses import UNKNOWN, ClientAddresses
from services.runtime.auth import caller_if_any
from services.runtime.calls import Context, Method
from services.runtime.health import HEALTH
from services.runtime.settings import Settings
from services.store.errors import OutOfMemory, StoreUnavailable
from services.store.limits import LimitStore, Rate
from services.wire.errors import Refusal, refusal

SHADOWS: Final = 50_000
"""Subjects that one process remembers; the longest known goes first."""
UNCHARGED_SHARE: Final = 20
"""A process keeps at most this part of a burst to itself before it tells Redis."""
STREAM_WAIT_SECONDS: Final = 5.0
"""When to ask again for one more stream or long poll: nobody knows when one of the others ends."""
KNOWN_REFUSALS: Final = 1_024
"""Refusals that are kept ready, one for each limit and millisecond to wait."""
_UNITS: Final = {"s": 1, "min": 60, "h": 3_600}

_address: ContextVar[str] = ContextVar("address", default=UNKNOWN)


@dataclass(frozen=True)
class Limit:
    """One class of calls. `exact`: Redis is asked before each; `guess`: refused when Redis is away; `of_address`: per
    address instead of per player."""

    name: str
    exact: bool = False
    guess: bool = False
    of_address: bool = False


ACT: Final = Limit("act")
READ: Final = Limit("read")
CHAT: Final = Limit("chat")
REPORT: Final = Limit("report", exact=True)
STREAM: Final = Limit("stream", exact=True)
CREATE: Final = Limit("create", exact=True)
LOOK: Final = Limit("look", of_address=True)
SIGN_IN: Final = Limit("sign_in", exact=True, guess=True, of_address=True)
REFRESH: Final = Limit("refresh", exact=True, guess=True, of_address=True)
CODE: Final = Limit("code", exact=True, guess=True)
CODE_ADDRESS: Final = Limit("code_address", exact=True, guess=True, of_address=True)
BAD_TOKEN: Final = Limit("bad_token", exact=True, of_address=True)

TOOL: Final = Limit("tool", of_address=True)

LIMITS: Final = (ACT, READ, CHAT, REPORT, STREAM, CREATE, LOOK, SIGN_IN, REFRESH, CODE, CODE_ADDRESS, BAD_TOKEN, TOOL)
"""All classes; each has the setting `limit_<name>`."""


def _rows(service: str, limit: Limit, *methods: str) -> dict[str, Limit]:
    return {f"/{service if '.' in service else f'maumau.v1.{service}'}/{method}": limit for method in methods}


METHODS: Final[Mapping[str, Limit]] = MappingProxyType(
    _rows("IdentityService", SIGN_IN, "SignInAsGuest")
    | _rows("IdentityService", REFRESH, "RefreshSession")
    | _rows("IdentityService", READ, "GetPlayer")
    | _rows("IdentityService", CREATE, "SignOut", "SetDisplayName")
    | _rows("MatchmakingService", LOOK, "GetServerInfo", "ListRulesets")
    | _rows("MatchmakingService", READ, "ListRooms", "ListQueues", "GetTicket", "GetParty", "ListBlockedPlayers")
    | _rows("MatchmakingService", STREAM, "WatchTicket")
    | _rows(
        "MatchmakingService",
        CREATE,
        *("CreateRoom", "JoinRoom", "CreateTicket", "CancelTicket", "CreateParty", "JoinParty", "LeaveParty"),
        *("BlockPlayer", "UnblockPlayer"),
    )
    | _rows("GameAuthorityService", ACT, "Act")
    | _rows("GameAuthorityService", STREAM, "Watch", "Play")
    | _rows("GameAuthorityService", READ, "GetRoom", "ListMyRooms", "GetReplay")
    | _rows("GameAuthorityService", CHAT, "SendChat")
    | _rows("GameAuthorityService", REPORT, "ReportPlayer")
    | _rows(
        "ScoringService",
        READ,
        *("GetMatch", "ListMatches", "GetStatistics", "GetRating", "GetLeaderboard", "GetRank", "ListSeasons"),
    )
    | _rows(HEALTH, TOOL, "Check", "List", "Watch")
    | _rows(reflection.V1, TOOL, "ServerReflectionInfo")
    | _rows(reflection.V1ALPHA, TOOL, "ServerReflectionInfo")
)
"""The class of every public RPC, by its path. An RPC that is missing fails the tests."""


def read_rate(text: str) -> Rate:
    """`20/s burst 60`, as settings write it. Raises ValueError for anything else."""
    frequency, _, burst = text.partition(" burst ")
    count, _, unit = frequency.partition("/")
    if unit not in _UNITS or not burst.isdecimal() or int(burst) < 1 or float(count) <= 0:
        raise ValueError(f"{text!r} is no rate such as `20/s burst 60`; units are {', '.join(_UNITS)}")
    return Rate(float(count) / _UNITS[unit], int(burst))


def limit_text(limit: Limit, settings: Settings) -> str:
    """The class and its rate, as a refusal names them."""
    return f"{limit.name}: {getattr(settings, f'limit_{limit.name}')}"


class Limits:
    """All limits of one process; as a guard it charges the call to the class of its method."""

    def __init__(self, settings: Settings, store: LimitStore) -> None:
        self._on = settings.rate_limits
        self._store = store
        self._addresses = ClientAddresses(settings)
        self._texts = {limit: limit_text(limit, settings) for limit in LIMITS}
        self._rates = {limit: read_rate(getattr(settings, f"limit_{limit.name}")) for limit in LIMITS}
        self._shadows: dict[tuple[str, str], _Shadow] = {}
        self._charging: set[asyncio.Task[None]] = set()
        self._most_open = {"player": settings.player_streams, "address": settings.address_streams}
        self._open: Counter[str] = Counter()

    async def __call__(self, method: Method, context: Context) -> None:
        """The guard. Raises Refusal (RATE_LIMITED with the time to wait)."""
        _address.set(self._addresses.of(context))
        limit = METHODS.get(method.path)
        if limit is not None:
            await self.charge(limit)

    @contextlib.contextmanager
    def stream(self, method: Method, context: Context) -> Iterator[None]:
        """What a stream or long poll of the present caller holds while it is open. Raises Refusal (RATE_LIMITED)."""
        session = caller_if_any()
        subjects = [f"address {_address.get()}", *([] if session is None else [f"player {session.player_id}"])]
        for subject in subjects if self._on else ():
            of = subject.split()[0]
            if self._open[subject] >= self._most_open[of]:
                limit = f"open streams of one {of}: {self._most_open[of]}"
                raise refusal("RATE_LIMITED", retry_after=STREAM_WAIT_SECONDS, limit=limit)
        self._open.update(subjects)
        try:
            yield
        finally:
            for subject in subjects:
                self._open[subject] -= 1
                if not self._open[subject]:
                    del self._open[subject]

    async def charge(self, limit: Limit) -> None:
        """One call of the present caller. Raises Refusal (RATE_LIMITED), `StoreUnavailable`."""
        session = caller_if_any()
        if limit.of_address or session is None:
            await self._charge(limit, f"address {_address.get()}")
        else:
            await self._charge(limit, f"player {session.player_id}")

    async def bad_token(self, context: Context) -> None:
        """A token that was not taken. Raises Refusal (RATE_LIMITED)."""
        await self._charge(BAD_TOKEN, f"address {self._addresses.of(context)}")

    async def code_lookup(self) -> None:
        """The present caller tries a code, which counts for the player and for the address. Raises Refusal
        (RATE_LIMITED), `StoreUnavailable`."""
        await self.charge(CODE_ADDRESS)
        await self.charge(CODE)

    async def _charge(self, limit: Limit, subject: str) -> None:
        if not self._on:
            return
        shadow, rate = self._shadow(limit, subject), self._rates[limit]
        if (wait := shadow.wait(rate)) > 0:
            raise self._limited(limit, wait)
        shadow.add(rate)
        if limit.exact:
            await self._ask(limit, subject, shadow)
        elif shadow.is_due(rate):
            task = asyncio.create_task(self._tell(limit, subject, shadow))
            self._charging.add(task)
            task.add_done_callback(self._charging.discard)

    async def _ask(self, limit: Limit, subject: str, shadow: _Shadow) -> None:
        try:
            charged = await self._store.charge(limit.name, subject, self._rates[limit])
        except (StoreUnavailable, OutOfMemory):
            if limit.guess:
                raise
            return
        shadow.learn(charged.debt, over=not charged.within)
        if not charged.within:
            raise self._limited(limit, charged.wait)

    async def _tell(self, limit: Limit, subject: str, shadow: _Shadow) -> None:
        calls = shadow.uncharged
        shadow.charging = True
        try:
            charged = await self._store.charge(limit.name, subject, self._rates[limit], calls, always=True)
        except (StoreUnavailable, OutOfMemory):
            return
        finally:
            shadow.charging = False
            shadow.uncharged -= calls
        shadow.learn(charged.debt)

    def _shadow(self, limit: Limit, subject: str) -> _Shadow:
        key = limit.name, subject
        shadow = self._shadows.get(key)
        if shadow is None:
            if len(self._shadows) >= SHADOWS:
                del self._shadows[next(iter(self._shadows))]
            shadow = self._shadows[key] = _Shadow()
        return shadow

    def _limited(self, limit: Limit, wait: float) -> Refusal:
        return _refusal(self._texts[limit], math.ceil(wait * 1000)).again()


@functools.lru_cache(KNOWN_REFUSALS)
def _refusal(limit: str, milliseconds: int) -> Refusal:
    return refusal("RATE_LIMITED", retry_after=milliseconds / 1000, limit=limit)


class _Shadow:
    """What one process knows of one limit of one subject."""

    __slots__ = ("_since", "_worn_off", "charging", "uncharged")

    def __init__(self) -> None:
        self._worn_off = self._since = 0.0
        self.uncharged = 0
        self.charging = False

    def wait(self, rate: Rate) -> float:
        """Seconds until one more call is within the limit; 0 or less: now."""
        debt = max(0.0, self._worn_off - time.monotonic())
        return debt - (rate.burst - 1) * _interval(rate)

    def add(self, rate: Rate) -> None:
        """One more call."""
        now = time.monotonic()
        self._worn_off = max(self._worn_off, now) + _interval(rate)
        if now - self._since > rate.burst * _interval(rate) and not self.charging:
            self._since, self.uncharged = now, 0  # what was not charged has worn off
        self.uncharged += 1

    def is_due(self, rate: Rate) -> bool:
        """Whether Redis has to be told."""
        return not self.charging and self.uncharged >= max(1, rate.burst // UNCHARGED_SHARE)

    def learn(self, debt: float, *, over: bool = False) -> None:
        """What Redis knows, which is what all processes let through. After a refusal it is all there is."""
        worn_off = time.monotonic() + debt
        self._worn_off = worn_off if over else max(self._worn_off, worn_off)


def _interval(rate: Rate) -> float:
    return rate.interval_us / 1e6
