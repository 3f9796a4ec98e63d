"""`maumau.v1.IdentityService`: guests sign in, stay signed in, and choose how they are called.

A guest is nothing but a random id; whoever holds its refresh token is the guest. A refresh token works once: its hash
is exchanged for that of the next one in one script. The next one follows from it and from the server's secret, so a
repeat within 30 s, when the answer was lost, gets the very same one; once that has been used, no earlier one works.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from collections.abc import Callable
from typing import Final, NamedTuple

from google.protobuf.timestamp_pb2 import Timestamp
from maumau.v1 import identity_pb2 as pb

from services.runtime.auth import caller
from services.runtime.calls import Context
from services.runtime.key_folder import INVITE_FILE, read_secret
from services.runtime.logs import bind
from services.runtime.revocations import Revocations
from services.runtime.settings import Settings
from services.runtime.tokens import TokenSigner
from services.store.keys import PlayerId
from services.store.players import PlayerStore, Profile
from services.wire import validate
from services.wire.errors import refusal

GUEST_ID_CHARACTERS: Final = 16
_LONGEST_REFRESH_PART: Final = 64


class _Refresh(NamedTuple):
    """A refresh token taken apart: whose it is, and the part that nobody can guess."""

    player: PlayerId
    session: str
    secret: str

    def __str__(self) -> str:
        return f"{self.player}.{self.session}.{self.secret}"

    @property
    def hash(self) -> bytes:
        return hashlib.sha256(self.secret.encode()).digest()


class IdentityService:
    """Guests and their sessions."""

    def __init__(
        self,
        players: PlayerStore,
        signer: TokenSigner,
        revocations: Revocations,
        settings: Settings,
        refuse_if_full: Callable[[], None],
    ) -> None:
        """`refuse_if_full` refuses who is new where Redis has no memory for them."""
        self._players = players
        self._signer = signer
        self._revocations = revocations
        self._guests = settings.guests
        self._refuse_if_full = refuse_if_full
        self._secret = read_secret(settings.keys_dir, INVITE_FILE)

    async def SignInAsGuest(self, request: pb.SignInAsGuestRequest, context: Context) -> pb.SignInAsGuestResponse:  # noqa: N802
        """A new player with a session. Raises Refusal (INVALID_FIELD, SERVER_FULL; NOT_ALLOWED where guests are not
        wanted)."""
        if not self._guests:
            raise refusal("NOT_ALLOWED", method="/maumau.v1.IdentityService/SignInAsGuest")
        self._refuse_if_full()
        name = validate.display_name(request.display_name) if request.display_name else _any_name()
        profile = Profile(PlayerId(f"p_{_random_id(GUEST_ID_CHARACTERS)}"), name, guest=True)
        bind(player=profile.player)
        refresh = _Refresh(profile.player, _random_id(GUEST_ID_CHARACTERS), secrets.token_urlsafe(32))
        await self._players.put(profile)
        await self._players.open_session(refresh.player, refresh.session, refresh.hash)
        return pb.SignInAsGuestResponse(session=self._session(profile, refresh), player=_message(profile))

    async def RefreshSession(self, request: pb.RefreshSessionRequest, context: Context) -> pb.RefreshSessionResponse:  # noqa: N802
        """Fresh tokens. Raises Refusal: BAD_REFRESH_TOKEN for one that is used up, forged or of an ended session,
        PLAYER_BANNED."""
        shown = _read_refresh(request.refresh_token)
        profile = await self._players.profile(shown.player)
        following = shown._replace(secret=self._following(shown))
        if (banned := self._revocations.banned(shown.player)) is not None:
            # Only to whoever holds the player's token, which stays good for when the ban is over.
            known = await self._players.knows_refresh(shown.player, shown.session, shown.hash)
            raise banned if known else refusal("BAD_REFRESH_TOKEN")
        if profile is None or not await self._players.rotate_session(
            shown.player, shown.session, shown.hash, following.hash
        ):
            raise refusal("BAD_REFRESH_TOKEN")
        bind(player=profile.player)
        return pb.RefreshSessionResponse(session=self._session(profile, following))

    async def SignOut(self, request: pb.SignOutRequest, context: Context) -> pb.SignOutResponse:  # noqa: N802
        """Ends the session: its tokens are worth nothing from now on, and its streams end within 2 s."""
        session = caller()
        await self._players.close_session(PlayerId(session.player_id), session.session_id)
        await self._revocations.sign_out(session)
        return pb.SignOutResponse()

    async def GetPlayer(self, request: pb.GetPlayerRequest, context: Context) -> pb.GetPlayerResponse:  # noqa: N802
        """A player as everybody may know it. Raises Refusal (INVALID_FIELD, PLAYER_NOT_FOUND)."""
        session = caller()
        player = PlayerId(validate.player_id(request.player_id) if request.player_id else session.player_id)
        profile = await self._players.profile(player)
        if profile is None and player == session.player_id:
            profile = Profile(player, session.display_name, guest=False)
        if profile is None:
            raise refusal("PLAYER_NOT_FOUND")
        return pb.GetPlayerResponse(player=_message(profile))

    async def SetDisplayName(self, request: pb.SetDisplayNameRequest, context: Context) -> pb.SetDisplayNameResponse:  # noqa: N802
        """Changes the caller's name, for rooms that are entered from now on. Raises Refusal (INVALID_FIELD)."""
        name = validate.display_name(request.display_name)
        player = PlayerId(caller().player_id)
        known = await self._players.profile(player)
        profile = Profile(player, name, guest=known is not None and known.guest)
        await self._players.put(profile)
        return pb.SetDisplayNameResponse(player=_message(profile))

    def _following(self, shown: _Refresh) -> str:
        digest = hmac.digest(self._secret, b"refresh " + str(shown).encode(), hashlib.sha256)
        return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()

    def _session(self, profile: Profile, refresh: _Refresh) -> pb.Session:
        token, expires = self._signer.sign(profile.player, profile.name, refresh.session)
        return pb.Session(
            player_id=profile.player,
            token=token,
            expires=Timestamp(seconds=int(expires)),
            refresh_token=str(refresh),
        )


def _read_refresh(token: str) -> _Refresh:
    parts = token.split(".")
    if len(parts) != 3 or not all(0 < len(part) <= _LONGEST_REFRESH_PART for part in parts):
        raise refusal("BAD_REFRESH_TOKEN")
    return _Refresh(PlayerId(parts[0]), parts[1], parts[2])


def _random_id(characters: int) -> str:
    return base64.b32encode(secrets.token_bytes(characters)).decode().lower()[:characters]


def _any_name() -> str:
    return f"Guest {_random_id(4)}"


def _message(profile: Profile) -> pb.Player:
    return pb.Player(player_id=profile.player, display_name=profile.name, guest=profile.guest)
