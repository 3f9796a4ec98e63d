"""Every key and channel in Redis, declared once: its form, its type, how long it lives and what it is for.

Rooms lie in 256 partitions, fixed for good. The partition is the hash tag (`{17}`), so that all that one commit touches
is in one slot of a cluster, and no command ever names two partitions. What belongs to a player or to no room at all
has a tag of its own.
"""

from __future__ import annotations

import re
import zlib
from typing import Final, NamedTuple, NewType
from urllib.parse import quote

from services.store.errors import BadArgument

RoomId = NewType("RoomId", str)
"""1 to 64 of A-Z a-z 0-9 _ -"""
PlayerId = NewType("PlayerId", str)
"""1 to 128 characters, whatever the identity provider uses."""
Entrant = NewType("Entrant", str)
"""A player's number in one rating pool, nine digits, by first appearance. Nothing else of a player is in the ledger, so
that a player can be forgotten without touching it."""
ProcessId = NewType("ProcessId", str)
"""One run of one service process; a restarted process has another."""
StreamId = NewType("StreamId", str)
"""One open stream of one process."""

PARTITIONS: Final = 256

PREFIX_FORM: Final = r"^[A-Za-z0-9_.:-]{1,64}$"
"""What the first part of every key may be."""
PLAYER_ROOMS_MS: Final = 30 * 24 * 3_600_000
"""The index of a player's rooms is gone this long after a room was last added."""
INVITE_MS: Final = 30 * 24 * 3_600_000
"""An invite code is forgotten this long after the room was made, or last joined by it."""
TICKET_KEPT_MS: Final = 3_600_000
"""A ticket that has ended can be looked up for this long."""
LATELY_MS: Final = 600_000
"""Who played together is remembered for this long."""
WAITS_MS: Final = 3_600_000
"""The latest waits for a match are forgotten after this."""
PARTY_MS: Final = 24 * 3_600_000
"""A party ends this long after anybody last did something with it."""
DEAD_MS: Final = 30 * 24 * 3_600_000
"""A result that scoring refused for good waits for this long, with the log of its match, and so do the names in it."""
PROCESS_MS: Final = 600_000
"""A process that has not announced itself for this long is forgotten."""


class Family(NamedTuple):
    """One kind of key. `form` shows it after the prefix; `lives` says what ends it."""

    form: str
    kind: str
    lives: str
    about: str


ROOM: Final = Family("{partition}:room:<room>", "hash", "past its end", "version, mark, state and clock of a room")
LOG: Final = Family(
    "{partition}:log:<room>", "stream", "with its room", "one entry <version>-0 for each version; two matches at most"
)
CHANNEL: Final = Family("{partition}:room:<room>", "shard channel", "-", "each version as it is committed")
PRESENCE: Final = Family("{partition}:here:<room>", "zset", "a setting", "live streams, by expiry")
DEADLINES: Final = Family("{partition}:deadlines", "zset", "for good", "rooms with a deadline, by its time in ms")
OUTBOX: Final = Family("{partition}:outbox", "stream", "for good", "results that scoring has not confirmed")
REFUSALS: Final = Family("{partition}:outbox:refusals", "hash", "for good", "how often an outbox entry was refused")
DEAD: Final = Family("{partition}:outbox:dead", "stream", "30 days each", "results that scoring refused ten times")
DEAD_LOG: Final = Family(
    "{partition}:outbox:dead:<entry>", "stream", "30 days", "the log of a room, as it was kept with a dead result"
)
OPEN: Final = Family("{partition}:open", "hash", "for good", "what the room list shows of open public rooms")
OUTAGES: Final = Family("{partition}:outages", "hash", "for good", "last pulse and the last outages of a partition")
PLAYER_ROOMS: Final = Family(
    "{player:<player>}:rooms", "set", "30 days", "rooms of a player; may name rooms that are gone"
)
READY: Final = Family("{fleet}:ready", "string", "a minute", "written to see whether a write is possible")
PROFILE: Final = Family("{player:<player>}:profile", "hash", "a setting", "display name of a guest")
SESSION: Final = Family(
    "{player:<player>}:session:<session>", "string", "a setting", "hashes of the refresh token and the one before"
)
SESSIONS: Final = Family("{player:<player>}:sessions", "set", "a setting", "sessions of a player; may name ended ones")
INVITE: Final = Family("{invite:<hash>}:room", "string", "30 days", "room and generation of an invite code")
MATCH_POOL: Final = Family("{match:<match>}:pool", "string", "a setting", "the rating pool that a match belongs to")
MATCH: Final = Family("{family:<pool>}:match:<match>", "hash", "a setting", "record of a match that ended")
HEAD: Final = Family("{family:<pool>}:head", "hash", "for good", "last entry, generation and season of a rating pool")
LEDGER: Final = Family("{family:<pool>}:ledger", "stream", "for good", "one entry <index>-0 for each result, in order")
VOIDS: Final = Family("{family:<pool>}:voids", "set", "for good", "indexes of results that were taken back")
ENTRANTS: Final = Family("{family:<pool>}:entrants", "hash", "for good", "id and name of each entrant of a pool")
NUMBERS: Final = Family("{family:<pool>}:numbers", "hash", "for good", "the entrant that a player is in a pool")
SEASONS: Final = Family("{family:<pool>}:seasons", "hash", "for good", "name, beginning and end of each season")
HISTORY: Final = Family(
    "{family:<pool>}:history:<entrant>", "zset", "a setting", "an entrant's matches, by their end in ms"
)
STANDINGS: Final = Family(
    "{family:<pool>}:g<generation>:standings", "hash", "until recomputed", "sums and rating of each entrant"
)
SPANS: Final = Family(
    "{family:<pool>}:g<generation>:spans", "set", "until recomputed", "spans that there are boards of"
)
BOARD: Final = Family(
    "{family:<pool>}:g<generation>:board:<span>", "zset", "for good or months", "entrants by wins and matches in a span"
)
REBUILD: Final = Family("{family:<pool>}:rebuild", "string", "10 s", "the one who recomputes the pool")
GENERATIONS: Final = Family("{family:<pool>}:generations", "zset", "for good", "generations that keys are left of")
ARCHIVED: Final = Family(
    "{archive:<room>}:match:<match>", "hash", "a setting", "a match and its log, in chunks by their first version"
)
ARCHIVED_MATCHES: Final = Family(
    "{archive:<room>}:matches", "zset", "a setting", "archived matches of a room, by their first version"
)
TICKET: Final = Family("{mm}:ticket:<ticket>", "hash", "an hour after its end", "a player's wish for a match")
HOLDER: Final = Family("{mm}:holder:<player>", "string", "with its ticket", "the ticket that a player holds")
WAITING: Final = Family("{mm}:waiting", "zset", "for good", "waiting tickets, by the ms in which they were opened")
CLAIM: Final = Family("{mm}:claim:<match>", "string", "until settled", "what a match that is being made shall be")
CLAIMS: Final = Family("{mm}:claims", "zset", "for good", "matches that are being made, by the end of their lease")
START: Final = Family("{mm}:start:<match>", "string", "until begun", "a match whose room is made and that has to begin")
STARTS: Final = Family("{mm}:starts", "zset", "for good", "matches that have to begin, by the ms of the next look")
LATELY: Final = Family("{mm}:lately:<player>", "string", "10 minutes", "with whom a player was matched last, and where")
WAITS: Final = Family("{mm}:waits:<table>", "list", "an hour", "the latest waits for a ruleset and number of seats")
PARTY: Final = Family("{mm}:party:<party>", "list", "24 hours", "players and names of a party, its leader first")
PARTY_OF: Final = Family("{mm}:party-of:<player>", "string", "24 hours", "the party that a player is in")
PARTY_CODE: Final = Family("{mm}:party-code:<hash>", "string", "24 hours", "the party of a code")
BLOCKED: Final = Family(
    "{player:<player>}:blocked", "zset", "a setting", "whom a player blocked, by the ms of the block"
)
PULSES: Final = Family("{fleet}:pulses", "zset", "10 minutes", "processes, by their last announcement in ms")
LIMIT: Final = Family(
    "{limit:<subject>}:<class>", "string", "until worn off", "when the calls of a subject are worn off"
)
ENDED: Final = Family("{trust}:ended", "zset", "life of a token", "sessions that were signed out, by ms")
BANS: Final = Family("{trust}:bans", "zset", "for good", "banned players, by the ms in which their bans end")
BANS_COUNT: Final = Family("{trust}:bans:count", "string", "for good", "counts up with each change of the bans")
BANS_WHY: Final = Family("{trust}:bans:why", "hash", "for good", "why players are banned")
MUTES: Final = Family("{trust}:mutes", "zset", "for good", "players muted everywhere, by the ms in which it ends")
MUTES_COUNT: Final = Family("{trust}:mutes:count", "string", "for good", "counts up with each change of the mutes")
MUTES_WHY: Final = Family("{trust}:mutes:why", "hash", "for good", "why players are muted")
REPORTS: Final = Family("{reports}:by-time", "zset", "for good", "what players reported, by ms")
REPORT: Final = Family("{reports}:report:<report>", "hash", "a setting", "what one player reported of another")
ABOUT: Final = Family("{fleet}:about", "hash", "10 minutes", "what each process announced of itself")

FAMILIES: Final = (
    ROOM, LOG, CHANNEL, PRESENCE, DEADLINES, OUTBOX, REFUSALS, DEAD, DEAD_LOG, OPEN, OUTAGES, PLAYER_ROOMS, PULSES,
    ABOUT, READY, PROFILE, SESSION, SESSIONS, INVITE, MATCH_POOL, MATCH, HEAD, LEDGER, VOIDS, ENTRANTS, NUMBERS,
    SEASONS, HISTORY, STANDINGS, SPANS, BOARD, REBUILD, GENERATIONS,
    ARCHIVED, ARCHIVED_MATCHES, TICKET, HOLDER, WAITING, CLAIM, CLAIMS, START, STARTS, LATELY, WAITS,
    PARTY, PARTY_OF, PARTY_CODE, BLOCKED, LIMIT, ENDED, BANS, BANS_COUNT, BANS_WHY,
    MUTES, MUTES_COUNT, MUTES_WHY, REPORTS, REPORT,
)  # fmt: skip
"""All of them, for the documentation and for the ACL of an operator."""

_ROOMS_KEPT: Final = 16_384
"""Rooms whose keys are not put together again each time."""

_ROOM_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_POOL = re.compile(r"[a-z0-9-]{1,32}")


def partition_of(room: RoomId) -> int:
    """The partition (0 to 255) of a room. Part of the stored form: changing it loses every room."""
    return zlib.crc32(room.encode()) % PARTITIONS


def check_room_id(room: str) -> RoomId:
    """The room id, or `BadArgument`."""
    if not _ROOM_ID.fullmatch(room):
        raise BadArgument("room", room, "1 to 64 of A-Z a-z 0-9 _ -")
    return RoomId(room)


class RoomKeys(NamedTuple):
    """The keys of one room and of its partition."""

    room: str
    log: str
    channel: str
    presence: str
    partition: PartitionKeys


class PartitionKeys(NamedTuple):
    """The keys that all rooms of a partition share."""

    tag: str
    deadlines: str
    outbox: str
    refusals: str
    dead: str
    open: str
    outages: str


class SanctionKeys(NamedTuple):
    """The keys of bans, or of mutes: players by the end, reasons by player, and a count of changes."""

    ends: str
    why: str
    changes: str


class PoolKeys:
    """The keys of one rating pool. What follows from the ledger belongs to a generation, which a recomputation replaces
    as a whole."""

    def __init__(self, tag: str) -> None:
        self._tag = tag
        self.head = f"{tag}:head"
        self.ledger = f"{tag}:ledger"
        self.voids = f"{tag}:voids"
        self.entrants = f"{tag}:entrants"
        self.numbers = f"{tag}:numbers"
        self.seasons = f"{tag}:seasons"
        self.rebuild = f"{tag}:rebuild"
        self.generations = f"{tag}:generations"

    def match(self, match: str) -> str:
        return f"{self._tag}:match:{quote(match, safe='')}"

    def history(self, entrant: Entrant) -> str:
        return f"{self._tag}:history:{entrant}"

    def standings(self, generation: int) -> str:
        return f"{self._tag}:g{generation}:standings"

    def spans(self, generation: int) -> str:
        return f"{self._tag}:g{generation}:spans"

    def board(self, generation: int, span: str) -> str:
        return f"{self._tag}:g{generation}:board:{span}"


def _player_part(player: PlayerId) -> str:
    if not 1 <= len(player) <= 128:
        raise BadArgument("player", player, "1 to 128 characters")
    return quote(player, safe="")


class Keys:
    """Builds every key. `prefix` sets installations on one server apart."""

    def __init__(self, prefix: str = "maumau") -> None:
        if not re.fullmatch(PREFIX_FORM, prefix):
            raise BadArgument("prefix", prefix, "1 to 64 of A-Z a-z 0-9 _ . : -")
        self.prefix = prefix
        self._partitions = tuple(_partition_keys(f"{prefix}:{{{number}}}") for number in range(PARTITIONS))
        self._rooms: dict[RoomId, RoomKeys] = {}

    def partition(self, number: int) -> PartitionKeys:
        return self._partitions[number]

    def room(self, room: RoomId) -> RoomKeys:
        keys = self._rooms.get(room)
        if keys is None:
            if len(self._rooms) >= _ROOMS_KEPT:
                self._rooms.clear()
            keys = self._rooms[room] = self._room(room)
        return keys

    def _room(self, room: RoomId) -> RoomKeys:
        check_room_id(room)
        partition = self._partitions[partition_of(room)]
        tag = partition.tag
        return RoomKeys(
            f"{tag}:room:{room}", f"{tag}:log:{room}", f"{tag}:room:{room}", f"{tag}:here:{room}", partition
        )

    def dead_log(self, room: RoomId, entry_id: str) -> str:
        """`entry_id` is the first one of the result, in the outbox."""
        return f"{self.room(room).partition.dead}:{quote(entry_id, safe='')}"

    def player_rooms(self, player: PlayerId) -> str:
        return f"{self._player(player)}:rooms"

    def profile(self, player: PlayerId) -> str:
        return f"{self._player(player)}:profile"

    def session(self, player: PlayerId, session: str) -> str:
        return f"{self._player(player)}:session:{quote(session, safe='')}"

    def sessions(self, player: PlayerId) -> str:
        return f"{self._player(player)}:sessions"

    def invite(self, code_hash: str) -> str:
        return f"{self.prefix}:{{invite:{quote(code_hash, safe='')}}}:room"

    def match_pool(self, match: str) -> str:
        return f"{self.prefix}:{{match:{quote(match, safe='')}}}:pool"

    def pool(self, pool: str) -> PoolKeys:
        """The keys of a rating pool, all in one slot."""
        if not _POOL.fullmatch(pool):
            raise BadArgument("pool", pool, "1 to 32 of a-z 0-9 -")
        return PoolKeys(f"{self.prefix}:{{family:{pool}}}")

    def archived(self, room: RoomId, match: str) -> str:
        return f"{self._archive(room)}:match:{quote(match, safe='')}"

    def archived_matches(self, room: RoomId) -> str:
        return f"{self._archive(room)}:matches"

    def _archive(self, room: RoomId) -> str:
        return f"{self.prefix}:{{archive:{check_room_id(room)}}}"

    def ticket(self, ticket: str) -> str:
        return f"{self._matchmaking}:ticket:{quote(ticket, safe='')}"

    def holder(self, player: PlayerId) -> str:
        return f"{self._matchmaking}:holder:{_player_part(player)}"

    def claim(self, match: str) -> str:
        return f"{self._matchmaking}:claim:{quote(match, safe='')}"

    def start(self, match: str) -> str:
        return f"{self._matchmaking}:start:{quote(match, safe='')}"

    def lately(self, player: PlayerId) -> str:
        return f"{self._matchmaking}:lately:{_player_part(player)}"

    def waits(self, table: bytes) -> str:
        return f"{self._matchmaking}:waits:{table.hex()}"

    def party(self, party: str) -> str:
        return f"{self._matchmaking}:party:{quote(party, safe='')}"

    def party_of(self, player: PlayerId) -> str:
        return f"{self._matchmaking}:party-of:{_player_part(player)}"

    def party_code(self, code_hash: str) -> str:
        return f"{self._matchmaking}:party-code:{quote(code_hash, safe='')}"

    def blocked(self, player: PlayerId) -> str:
        return f"{self._player(player)}:blocked"

    def limit(self, kind: str, subject: str) -> str:
        """`subject` is a player or a network address with the kind of it in front, of any form."""
        return f"{self.prefix}:{{limit:{quote(subject, safe='')}}}:{kind}"

    @property
    def ended_sessions(self) -> str:
        return f"{self.prefix}:{{trust}}:ended"

    @property
    def bans(self) -> SanctionKeys:
        return self._sanctions("bans")

    @property
    def mutes(self) -> SanctionKeys:
        return self._sanctions("mutes")

    def _sanctions(self, kind: str) -> SanctionKeys:
        ends = f"{self.prefix}:{{trust}}:{kind}"
        return SanctionKeys(ends, f"{ends}:why", f"{ends}:count")

    @property
    def reports(self) -> str:
        return f"{self.prefix}:{{reports}}:by-time"

    def report(self, report: str) -> str:
        return f"{self.prefix}:{{reports}}:report:{quote(report, safe='')}"

    @property
    def waiting(self) -> str:
        return f"{self._matchmaking}:waiting"

    @property
    def claims(self) -> str:
        return f"{self._matchmaking}:claims"

    @property
    def starts(self) -> str:
        return f"{self._matchmaking}:starts"

    @property
    def _matchmaking(self) -> str:
        return f"{self.prefix}:{{mm}}"

    def _player(self, player: PlayerId) -> str:
        return f"{self.prefix}:{{player:{_player_part(player)}}}"

    @property
    def pulses(self) -> str:
        return f"{self.prefix}:{{fleet}}:pulses"

    @property
    def ready(self) -> str:
        return f"{self.prefix}:{{fleet}}:ready"

    @property
    def about(self) -> str:
        return f"{self.prefix}:{{fleet}}:about"


def _partition_keys(tag: str) -> PartitionKeys:
    return PartitionKeys(
        tag=tag,
        deadlines=f"{tag}:deadlines",
        outbox=f"{tag}:outbox",
        refusals=f"{tag}:outbox:refusals",
        dead=f"{tag}:outbox:dead",
        open=f"{tag}:open",
        outages=f"{tag}:outages",
    )
