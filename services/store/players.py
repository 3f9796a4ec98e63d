"""Players that this server made itself (guests), their sessions, and the index of invite codes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from services.store import scripts
from services.store.batcher import Pipelines
from services.store.keys import INVITE_MS, PlayerId, RoomId, check_room_id

DAY_MS: Final = 24 * 3_600_000
REPEAT_MS: Final = 30_000
"""How long a refresh token that was used is answered again in the same way."""


class Profile(NamedTuple):
    """What is kept of a player."""

    player: PlayerId
    name: str
    guest: bool


class Invite(NamedTuple):
    """What an invite code stands for."""

    room: RoomId
    generation: int


class PlayerStore:
    """Profiles and sessions; both are forgotten after `guest_days` without use."""

    def __init__(self, pipelines: Pipelines, guest_days: int) -> None:
        self._keys = pipelines.keys
        self._reads = pipelines.reads
        self._writes = pipelines.writes
        self._lifetime_ms = guest_days * DAY_MS

    async def put(self, profile: Profile) -> bool:
        """Make a player, or change its name; true if it is new."""
        key = self._keys.profile(profile.player)
        fields = ("name", profile.name.encode(), "guest", int(profile.guest))
        return bool(await self._writes.script(scripts.PUT_PROFILE, (key,), (self._lifetime_ms, *fields)))

    async def profile(self, player: PlayerId) -> Profile | None:
        """What is known of a player; None if this server never made it, or has forgotten it."""
        name, guest = await self._reads.command("HMGET", self._keys.profile(player), "name", "guest")
        return None if name is None else Profile(player, name.decode(), guest == b"1")

    async def name(self, player: PlayerId, otherwise: str) -> str:
        """How a player wants to be called; `otherwise` where this server was not told."""
        profile = await self.profile(player)
        return otherwise if profile is None else profile.name

    async def open_session(self, player: PlayerId, session: str, refresh_hash: bytes) -> None:
        """Begin a session that the token with this hash continues."""
        index = self._keys.sessions(player)
        await self._writes.command("SADD", index, session, lane=index)
        await self._writes.command("PEXPIRE", index, self._lifetime_ms, lane=index)
        await self._writes.command("SET", self._keys.session(player, session), refresh_hash, "PX", self._lifetime_ms)

    async def knows_refresh(self, player: PlayerId, session: str, shown: bytes) -> bool:
        """Whether the session waits for the refresh token with this hash (32 bytes), or waited for it last."""
        stored: bytes | None = await self._reads.command("GET", self._keys.session(player, session))
        return stored is not None and shown in (stored[:32], stored[32:64])

    async def rotate_session(self, player: PlayerId, session: str, shown: bytes, following: bytes) -> bool:
        """Exchange the hash (32 bytes) of a refresh token for that of the next one. The same exchange may be repeated
        for 30 s. False, and nothing has changed, if the session has ended or waits for another token."""
        keys = (self._keys.session(player, session), self._keys.profile(player), self._keys.sessions(player))
        args = (shown, following, self._lifetime_ms, REPEAT_MS)
        return bool(await self._writes.script(scripts.ROTATE_SESSION, keys, args))

    async def close_session(self, player: PlayerId, session: str) -> bool:
        """End a session; false if it had ended."""
        await self._writes.command("SREM", self._keys.sessions(player), session)
        return bool(await self._writes.command("DEL", self._keys.session(player, session)))

    async def sessions(self, player: PlayerId) -> list[str]:
        """The sessions of a player that were opened and not closed, in the order of the alphabet."""
        members = await self._reads.command("SMEMBERS", self._keys.sessions(player))
        return sorted(member.decode() for member in members)

    async def forget(self, player: PlayerId, sessions: Sequence[str]) -> bool:
        """Drop the profile and these sessions; false if there was no profile."""
        gone = bool(await self._writes.command("DEL", self._keys.profile(player)))
        keys = (self._keys.sessions(player), *(self._keys.session(player, session) for session in sessions))
        await self._writes.command("DEL", *keys)
        return gone


class InviteIndex:
    """From the hash of an invite code to its room. An entry may be out of date: the room decides at the join."""

    def __init__(self, pipelines: Pipelines) -> None:
        self._keys = pipelines.keys
        self._reads = pipelines.reads
        self._writes = pipelines.writes

    async def put(self, code_hash: str, invite: Invite) -> None:
        """Make a code known, or keep it known for another 30 days."""
        text = f"{check_room_id(invite.room)} {invite.generation}"
        await self._writes.command("SET", self._keys.invite(code_hash), text, "PX", INVITE_MS)

    async def find(self, code_hash: str) -> Invite | None:
        """What the code with this hash stood for when it was made; None for an unknown one."""
        text = await self._reads.command("GET", self._keys.invite(code_hash))
        if text is None:
            return None
        room, generation = text.decode().split(" ")
        return Invite(RoomId(room), int(generation))
