"""A small world on a running server, asked with plain blocking calls: three people, and a room of each kind.

`picture` is everything that anybody may know of it, without what time alone changes: equal before and after a refusal.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, Final

import grpc
from google.protobuf import descriptor_pool, message_factory
from google.protobuf.message import Message
from google.rpc import error_details_pb2, status_pb2
from grpc_status import rpc_status
from maumau.v1 import (
    actions_pb2,
    authority_pb2,
    cards_pb2,
    identity_pb2,
    matchmaking_pb2,
    room_pb2,
    rules_pb2,
    scoring_pb2,
    settings_pb2,
)

Action = actions_pb2.Action
LIMIT_SECONDS: Final = 10.0
AUTHORITY: Final = "/maumau.v1.GameAuthorityService/"
MATCHMAKING: Final = "/maumau.v1.MatchmakingService/"
IDENTITY: Final = "/maumau.v1.IdentityService/"
SCORING: Final = "/maumau.v1.ScoringService/"

_ids = (number.to_bytes(16, "big") for number in itertools.count(1))


def new_id() -> bytes:
    """A request id that was not used before."""
    return next(_ids)


def methods() -> Iterator[tuple[str, Any]]:
    """Every public RPC of the contract: its path and descriptor."""
    pool = descriptor_pool.Default()
    for service in (AUTHORITY, MATCHMAKING, IDENTITY, SCORING):
        for method in pool.FindServiceByName(service.strip("/")).methods:
            yield service + method.name, method


METHODS: Final = dict(methods())


CALLED: Final[list[str]] = []
"""Every method that was called, in order."""


class Caller:
    """Somebody who makes calls; `token` None for somebody without a session."""

    def __init__(self, channel: grpc.Channel, token: str | None = None, player_id: str = "") -> None:
        self._channel = channel
        self.token, self.id = token, player_id

    @property
    def metadata(self) -> tuple[tuple[str, str], ...]:
        return () if self.token is None else (("authorization", f"Bearer {self.token}"),)

    def call(self, path: str, *requests: Message | bytes) -> Any:
        """The answer, or the first message of a stream. Raises `grpc.RpcError`."""
        CALLED.append(path)
        method = METHODS[path]
        sent = [request if isinstance(request, bytes) else request.SerializeToString() for request in requests]
        kind = message_factory.GetMessageClass(method.output_type)
        channel: Any = self._channel
        options = {"metadata": self.metadata, "timeout": LIMIT_SECONDS}
        if method.client_streaming:
            return next(channel.stream_stream(path, None, kind.FromString)(iter(sent), **options))
        if method.server_streaming:
            return next(channel.unary_stream(path, None, kind.FromString)(sent[0], **options))
        return channel.unary_unary(path, None, kind.FromString)(sent[0], **options)

    def act(self, room: str, action: Action, *, version: int | None = None, request_id: bytes = b"") -> Any:
        if version is None:
            version = self.view(room).version
        request = authority_pb2.ActRequest(
            room_id=room, action=action, version=version, request_id=request_id or new_id()
        )
        return self.call(AUTHORITY + "Act", request)

    def view(self, room: str) -> room_pb2.RoomView:
        answer = self.call(AUTHORITY + "GetRoom", authority_pb2.GetRoomRequest(room_id=room))
        view: room_pb2.RoomView = answer.snapshot.room
        return view

    def create(self, seats: int = 2, *, public: bool = False) -> str:
        """A room of Mau-Mau 32 for one round."""
        visibility = settings_pb2.VISIBILITY_PUBLIC if public else settings_pb2.VISIBILITY_PRIVATE
        request = matchmaking_pb2.CreateRoomRequest(
            ruleset=ruleset(key="match.target", value="single"),
            settings=settings_pb2.RoomSettings(seats=seats, visibility=visibility, turn_seconds=300),
            request_id=new_id(),
        )
        return str(self.call(MATCHMAKING + "CreateRoom", request).room_id)

    def join(self, room: str) -> None:
        self.call(MATCHMAKING + "JoinRoom", matchmaking_pb2.JoinRoomRequest(room_id=room))


def ruleset(preset: str = "mau-mau-32", key: str = "", value: str | int | bool = "") -> rules_pb2.Ruleset:
    """A preset, with one option changed if `key` is given."""
    chosen = rules_pb2.Ruleset(preset=preset)
    if key:
        setattr(chosen.options[key], {bool: "flag", int: "number", str: "choice"}[type(value)], value)
    return chosen


class World:
    """`ana` hosts everything, `bo` sits beside her in `full`, `playing` and `waiting`, `eve` sits nowhere. In
    `playing` a match runs, in which `turn` is on turn with a Jack in hand and `other` is not."""

    def __init__(self, channel: grpc.Channel) -> None:
        self.channel = channel
        self.nobody = Caller(channel)
        self.ana, self.bo, self.eve = (self._sign_in(name) for name in ("Ana", "Bo", "Eve"))
        self.waiting = self.ana.create(4)
        self.full = self.ana.create(2, public=True)
        for room in (self.waiting, self.full):
            self.bo.join(room)
        self.alone = self.ana.create(3)
        self.playing = self._match_with_a_jack_on_turn()
        seat = self.ana.view(self.playing).shedding.turn
        self.turn, self.other = (self.ana, self.bo) if seat == 0 else (self.bo, self.ana)
        self.repeated = new_id()
        self.ana.act(self.alone, Action(set_ready=Action.SetReady(ready=True)), request_id=self.repeated)
        self._seen = self.picture()

    def _sign_in(self, name: str) -> Caller:
        request = identity_pb2.SignInAsGuestRequest(display_name=name)
        answer = Caller(self.channel).call(IDENTITY + "SignInAsGuest", request)
        return Caller(self.channel, answer.session.token, answer.session.player_id)

    def _match_with_a_jack_on_turn(self) -> str:
        """Both draw and pass until there is one, which the stock is long enough for."""
        room = self.ana.create()
        self.bo.join(room)
        self.bo.act(room, Action(set_ready=Action.SetReady(ready=True)))
        self.ana.act(room, Action(start=Action.Start()))
        while True:
            for player in (self.ana, self.bo):
                view = player.view(room)
                if view.shedding.turn != view.own_seat:
                    continue
                if jack_of(view) is not None:
                    return room
                for kind in ("draw", "pass"):
                    legal = player.view(room).legal.actions
                    player.act(room, next(action for action in legal if action.WhichOneof("action") == kind))

    @property
    def jack(self) -> cards_pb2.Card:
        card = jack_of(self.turn.view(self.playing))
        assert card is not None
        return card

    @property
    def foreign_card(self) -> cards_pb2.Card:
        """A card of the pack that whoever is on turn does not hold."""
        held = {card.SerializeToString() for card in self.turn.view(self.playing).shedding.hand}
        pack = (cards_pb2.Card(suit=suit, rank=rank) for suit in (1, 2, 3, 4) for rank in range(7, 15))  # type: ignore[arg-type]
        return next(card for card in pack if card.SerializeToString() not in held)

    def is_unchanged(self) -> bool:
        """Whether the picture is the same as when this was last asked."""
        before, self._seen = self._seen, self.picture()
        return before == self._seen

    def picture(self) -> list[bytes]:
        """Every room as each of its people sees it, all lists and all profiles."""
        seen: list[Message] = []
        for room in (self.waiting, self.full, self.alone, self.playing):
            for player in (self.ana, self.bo):
                if room != self.alone or player is self.ana:
                    seen.append(_still(player.view(room)))
        for player in (self.ana, self.bo, self.eve):
            seen.append(player.call(AUTHORITY + "ListMyRooms", authority_pb2.ListMyRoomsRequest()))
            seen.append(player.call(IDENTITY + "GetPlayer", identity_pb2.GetPlayerRequest()))
            seen.append(player.call(SCORING + "GetStatistics", scoring_pb2.GetStatisticsRequest()))
        return [message.SerializeToString(deterministic=True) for message in seen]


def jack_of(view: room_pb2.RoomView) -> cards_pb2.Card | None:
    return next((card for card in view.shedding.hand if card.rank == cards_pb2.RANK_JACK), None)


def _still(view: room_pb2.RoomView) -> room_pb2.RoomView:
    view.clock.ClearField("now")
    view.ClearField("spectators")
    for seat in view.seats:
        seat.connected = False
    return view


class Refused:
    """What a refused call carries."""

    def __init__(self, error: Any) -> None:
        self.code: grpc.StatusCode = error.code()
        status: status_pb2.Status | None = rpc_status.from_call(error)
        assert status is not None, f"{self.code} without a status: {error.details()}"
        self.status, self.sentence = status, str(error.details())
        info, bad_request = error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest()
        assert status.details[0].Unpack(info)
        assert info.domain == "maumau"
        self.reason, self.metadata = info.reason, dict(info.metadata)
        found = [detail for detail in status.details if detail.Unpack(bad_request)]
        self.fields = [violation.field for violation in bad_request.field_violations] if found else []
