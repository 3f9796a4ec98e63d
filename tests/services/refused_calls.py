"""The table of what a client can get wrong: each row a call in the world, and the refusal that it gets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from maumau.v1 import (
    actions_pb2,
    authority_pb2,
    cards_pb2,
    identity_pb2,
    matchmaking_pb2,
    scoring_pb2,
    settings_pb2,
)

from tests.services.world import AUTHORITY, IDENTITY, MATCHMAKING, SCORING, World, new_id, ruleset

Action = actions_pb2.Action


class Row(NamedTuple):
    """A call and its refusal. `metadata` is exact; of INVALID_FIELD what was expected is left to the sentence."""

    call: Callable[[World], Any]
    reason: str
    metadata: Mapping[str, str] = MappingProxyType({})


def sends(who: str, path: str, request: Message) -> Callable[[World], Any]:
    return lambda world: getattr(world, who).call(path, request)


def acts(who: str, room: str, action: Action, **fields: Any) -> Callable[[World], Any]:
    return lambda world: getattr(world, who).act(getattr(world, room), action, **fields)


def raw_act(**fields: Any) -> Callable[[World], Any]:
    """An `Act` in the running match with these fields."""

    def call(world: World) -> Any:
        request = authority_pb2.ActRequest(room_id=world.playing, request_id=new_id(), version=0, action=DRAW)
        for name, value in fields.items():
            if value is None:
                request.ClearField(name)  # type: ignore[arg-type]
            else:
                setattr(request, name, value)
        return world.turn.call(AUTHORITY + "Act", request)

    return call


def plays(card: Callable[[World], cards_pb2.Card], **fields: Any) -> Callable[[World], Any]:
    return lambda world: world.turn.act(world.playing, Action(play=Action.Play(card=card(world), **fields)))


def creates(**fields: Any) -> Callable[[World], Any]:
    fields = {"ruleset": ruleset(), "request_id": b"c" * 16, **fields}
    return sends("ana", MATCHMAKING + "CreateRoom", matchmaking_pb2.CreateRoomRequest(**fields))


def queues(**fields: Any) -> Callable[[World], Any]:
    wish = matchmaking_pb2.TicketRequest(**{"ruleset": ruleset(), **fields})
    return sends("ana", MATCHMAKING + "CreateTicket", matchmaking_pb2.CreateTicketRequest(request=wish))


def names(name: str) -> Callable[[World], Any]:
    return sends("ana", IDENTITY + "SetDisplayName", identity_pb2.SetDisplayNameRequest(display_name=name))


def reports(who: str, room: str, **fields: Any) -> Callable[[World], Any]:
    def call(world: World) -> Any:
        given = {"player_id": world.bo.id, "reason": SPAM, "request_id": b"r" * 16, **fields}
        request = authority_pb2.ReportPlayerRequest(room_id=getattr(world, room), **given)
        return getattr(world, who).call(AUTHORITY + "ReportPlayer", request)

    return call


def chats(who: str, room: str, text: str, request_id: bytes = b"t" * 16) -> Callable[[World], Any]:
    def call(world: World) -> Any:
        request = authority_pb2.SendChatRequest(room_id=getattr(world, room), text=text, request_id=request_id)
        return getattr(world, who).call(AUTHORITY + "SendChat", request)

    return call


def joins(who: str, room: str, seat: int | None = None) -> Callable[[World], Any]:
    def call(world: World) -> Any:
        request = matchmaking_pb2.JoinRoomRequest(room_id=getattr(world, room, room), seat=seat)
        return getattr(world, who).call(MATCHMAKING + "JoinRoom", request)

    return call


def opens(*messages: authority_pb2.PlayRequest) -> Callable[[World], Any]:
    return lambda world: world.ana.call(AUTHORITY + "Play", *messages)


def asks(**fields: Any) -> Callable[[World], Any]:
    def call(world: World) -> Any:
        return world.ana.call(AUTHORITY + "GetRoom", authority_pb2.GetRoomRequest(room_id=world.playing, **fields))

    return call


def resumes(token: bytes) -> Callable[[World], Any]:
    def call(world: World) -> Any:
        request = authority_pb2.WatchRequest(room_id=world.playing, resume_token=token)
        return world.ana.call(AUTHORITY + "Watch", request)

    return call


def boards(path: str, **fields: Any) -> Callable[[World], Any]:
    kind = scoring_pb2.GetRankRequest if path == "GetRank" else scoring_pb2.GetLeaderboardRequest
    return sends("ana", SCORING + path, kind(**fields))


DRAW = Action(draw=Action.Draw())
SPAM = authority_pb2.REPORT_REASON_SPAM
PASS = Action()
getattr(PASS, "pass").SetInParent()
START = Action(start=Action.Start())
HEARTS = cards_pb2.SUIT_HEARTS
RED_SEVEN = cards_pb2.Card(suit=cards_pb2.SUIT_RED, rank=cards_pb2.RANK_SEVEN)
UNKNOWN_RANK = cards_pb2.Card(suit=HEARTS, rank=99)  # type: ignore[arg-type]
GAMES = "one of mau-mau-32, mau-mau-brasil, uno, tranca"
LONG_CHAT = "x" * 301
CHAT_TEXTS = {"empty": "", "too long": LONG_CHAT, "two lines": "a\nb", "bidirectional": "a\u202eb"}
NAMES = {"control": "a\x00b", "line": "a\nb", "bidirectional": "a\u202eb", "short": "a", "long": "x" * 25, "none": ""}


def field(name: str, value: str) -> dict[str, str]:
    return {"field": name, "value": value}


ROWS: dict[str, Row] = {
    # Requests as such.
    "request id of 15 bytes": Row(raw_act(request_id=b"x" * 15), "INVALID_FIELD", field("request_id", "15 bytes")),
    "no request id": Row(raw_act(request_id=None), "INVALID_FIELD", field("request_id", "0 bytes")),
    "version below 0": Row(raw_act(version=-1), "INVALID_FIELD", field("version", "-1")),
    "no action": Row(raw_act(action=None), "INVALID_FIELD", field("action", "")),
    "room id with a slash": Row(raw_act(room_id="a/b"), "INVALID_FIELD", field("room_id", "a/b")),
    "no room id": Row(raw_act(room_id=None), "INVALID_FIELD", field("room_id", "")),
    "unknown room": Row(raw_act(room_id="r_unknown"), "ROOM_NOT_FOUND"),
    "act of a stranger": Row(acts("eve", "playing", DRAW, version=0), "ROOM_NOT_FOUND"),
    "act without a seat": Row(acts("eve", "full", START, version=0), "NOT_SEATED"),
    "look of a stranger": Row(lambda world: world.eve.view(world.playing), "ROOM_NOT_FOUND"),
    "look at an unknown room": Row(lambda world: world.eve.view("r_unknown"), "ROOM_NOT_FOUND"),
    "long wait": Row(
        asks(since_version=0, wait_milliseconds=25_001), "INVALID_FIELD", field("wait_milliseconds", "25001")
    ),
    "negative wait": Row(asks(wait_milliseconds=-1), "INVALID_FIELD", field("wait_milliseconds", "-1")),
    "foreign resume token": Row(resumes(b"nonsense"), "BAD_RESUME_TOKEN"),
    "stream of an unknown room": Row(
        opens(authority_pb2.PlayRequest(open=authority_pb2.PlayRequest.Open(room_id="r_unknown"))), "ROOM_NOT_FOUND"
    ),
    "stream that is not opened": Row(
        opens(authority_pb2.PlayRequest(act=authority_pb2.PlayRequest.Act(action=DRAW))), "OPEN_FIRST"
    ),
    "stream without a message": Row(opens(), "OPEN_FIRST"),
    # The same request twice.
    "the same id with another action": Row(
        lambda world: world.ana.act(world.alone, START, request_id=world.repeated),
        "REQUEST_ID_REUSED",
        {"version": "2"},
    ),
    # The game.
    "stale": Row(raw_act(version=1), "STALE", {"version": "1", "subject": "turn"}),
    "a version that is not yet": Row(raw_act(version=10_000), "STALE", {"version": "10000", "subject": "room"}),
    "not on turn": Row(acts("other", "playing", DRAW), "NOT_YOUR_TURN"),
    "a card that nobody has": Row(plays(lambda _: RED_SEVEN), "INVALID_FIELD", field("action.play.card", "RED SEVEN")),
    "an unknown rank": Row(plays(lambda _: UNKNOWN_RANK), "INVALID_FIELD", field("action.play.card.rank", "99")),
    "no card": Row(acts("turn", "playing", Action(play=Action.Play())), "INVALID_FIELD", field("action.play.card", "")),
    "another's card": Row(plays(lambda world: world.foreign_card), "CARD_NOT_IN_HAND"),
    "wish missing": Row(plays(lambda world: world.jack), "WISH_REQUIRED"),
    "an unknown wish": Row(plays(lambda world: world.jack, wish=99), "INVALID_FIELD", field("action.play.wish", "99")),
    "an action of another game": Row(acts("turn", "playing", Action(keep=Action.Keep())), "ACTION_UNKNOWN"),
    "pass before drawing": Row(acts("turn", "playing", PASS), "MUST_DRAW_FIRST"),
    # Rooms.
    "second start": Row(acts("ana", "playing", START), "MATCH_RUNNING"),
    "start by a guest": Row(acts("bo", "full", START), "NOT_HOST"),
    "start before all are ready": Row(acts("ana", "full", START), "NOT_READY", {"seats": "1"}),
    "start alone": Row(acts("ana", "alone", START), "TOO_FEW_PLAYERS", {"seats": "1", "expected": "at least 2"}),
    "full room": Row(joins("eve", "full"), "ROOM_FULL", {"seats": "2"}),
    "taken seat": Row(joins("eve", "full", 1), "SEAT_TAKEN", {"seat": "1"}),
    "seat beyond the room": Row(joins("eve", "full", 9), "NO_SUCH_SEAT", {"seat": "9", "expected": "0 to 1"}),
    "seat below 0": Row(joins("eve", "full", -1), "NO_SUCH_SEAT", {"seat": "-1", "expected": "0 to 1"}),
    "late guest": Row(joins("eve", "playing"), "MATCH_RUNNING"),
    "join of an unknown room": Row(joins("eve", "r_unknown"), "ROOM_NOT_FOUND"),
    "join of nothing": Row(
        sends("eve", MATCHMAKING + "JoinRoom", matchmaking_pb2.JoinRoomRequest()), "INVALID_FIELD", field("room", "")
    ),
    "a code that is none": Row(
        sends("eve", MATCHMAKING + "JoinRoom", matchmaking_pb2.JoinRoomRequest(invite_code="AAAAA-AAAAA")),
        "ROOM_NOT_FOUND",
    ),
    "kick of a free seat": Row(
        acts("ana", "alone", Action(remove_seat=Action.RemoveSeat(seat=2))), "SEAT_IS_FREE", {"seat": "2"}
    ),
    "bot without a level": Row(
        acts("ana", "alone", Action(add_bot=Action.AddBot())), "INVALID_FIELD", field("action.add_bot.level", "")
    ),
    "long contribution": Row(
        acts("ana", "alone", Action(set_ready=Action.SetReady(ready=True, contribution=b"x" * 33))),
        "CONTRIBUTION_TOO_LONG",
        {"value": "33", "expected": "at most 32 bytes"},
    ),
    "ready for the next round in a round": Row(
        acts("ana", "playing", Action(ready_for_round=Action.ReadyForRound())), "NOT_BETWEEN_ROUNDS"
    ),
    "rematch of a running match": Row(acts("ana", "playing", Action(rematch=Action.Rematch())), "MATCH_NOT_FINISHED"),
    "change to fewer seats than people": Row(
        acts(
            "ana",
            "waiting",
            Action(change_options=Action.ChangeOptions(settings=settings_pb2.RoomSettings(seats=1))),
        ),
        "INVALID_FIELD",
        field("settings.seats", "1"),
    ),
    **{
        f"chat, {kind}": Row(chats("ana", "full", text), "INVALID_FIELD", field("text", text.replace("\n", "\\u000a")))
        for kind, text in CHAT_TEXTS.items()
        if kind in ("empty", "two lines")
    },
    "chat, too long": Row(chats("ana", "full", LONG_CHAT), "INVALID_FIELD", field("text", "x" * 99 + "…")),
    "chat to strangers": Row(chats("eve", "alone", "hello"), "ROOM_NOT_FOUND"),
    # Rulesets and settings.
    "no ruleset": Row(creates(ruleset=None), "INVALID_FIELD", field("ruleset", "")),
    "unknown ruleset": Row(creates(ruleset=ruleset("skat")), "UNKNOWN_RULESET", {"value": "skat"}),
    "unknown option": Row(
        creates(ruleset=ruleset(key="seven.sing", value=True)),
        "UNKNOWN_OPTION",
        {"option": "seven.sing", "value": "True"},
    ),
    "option of another game": Row(
        creates(ruleset=ruleset(key="pozzetto.count", value=1)),
        "UNKNOWN_OPTION",
        {"option": "pozzetto.count", "value": "1"},
    ),
    "bad option value": Row(
        creates(ruleset=ruleset(key="match.target", value=0)),
        "BAD_OPTION_VALUE",
        {"option": "match.target", "value": "0"},
    ),
    "room without a request id": Row(creates(request_id=b""), "INVALID_FIELD", field("request_id", "0 bytes")),
    "turn of a second": Row(
        creates(settings=settings_pb2.RoomSettings(turn_seconds=1)),
        "INVALID_FIELD",
        field("settings.turn_seconds", "1"),
    ),
    "too many seats": Row(
        creates(settings=settings_pb2.RoomSettings(seats=9)), "INVALID_FIELD", field("settings.seats", "9")
    ),
    "title with a control character": Row(
        creates(settings=settings_pb2.RoomSettings(title="a\x07b")),
        "INVALID_FIELD",
        field("settings.title", "a\\u0007b"),
    ),
    # Quick play.
    "ticket for nothing": Row(
        sends("ana", MATCHMAKING + "CreateTicket", matchmaking_pb2.CreateTicketRequest()),
        "INVALID_FIELD",
        field("request", ""),
    ),
    "ticket without a ruleset": Row(queues(ruleset=None), "INVALID_FIELD", field("request.ruleset", "")),
    "ticket for a party that is none": Row(queues(party_id="p"), "PARTY_NOT_FOUND"),
    "ticket for ten": Row(queues(seats=10), "INVALID_FIELD", field("request.seats", "10")),
    "endless patience": Row(
        queues(patience=Duration(seconds=601)), "INVALID_FIELD", field("request.patience", "601 s")
    ),
    "unknown ticket": Row(
        sends("ana", MATCHMAKING + "GetTicket", matchmaking_pb2.GetTicketRequest(ticket_id="t")), "TICKET_NOT_FOUND"
    ),
    "unknown ticket, followed": Row(
        sends("ana", MATCHMAKING + "WatchTicket", matchmaking_pb2.WatchTicketRequest(ticket_id="t")),
        "TICKET_NOT_FOUND",
    ),
    # People.
    **{
        f"name, {kind}": Row(
            names(name),
            "INVALID_FIELD",
            field("display_name", "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in name)),
        )
        for kind, name in NAMES.items()
    },
    "unknown player": Row(
        sends("ana", IDENTITY + "GetPlayer", identity_pb2.GetPlayerRequest(player_id="p_x")), "PLAYER_NOT_FOUND"
    ),
    "foreign refresh token": Row(
        sends("nobody", IDENTITY + "RefreshSession", identity_pb2.RefreshSessionRequest(refresh_token="a.b.c")),
        "BAD_REFRESH_TOKEN",
    ),
    # Reports.
    "report about nobody": Row(reports("ana", "full", player_id=""), "INVALID_FIELD", field("player_id", "")),
    "report about oneself": Row(
        reports("bo", "full"), "INVALID_FIELD", {"field": "player_id", "expected": "another player"}
    ),
    "report without a reason": Row(reports("ana", "full", reason=0), "INVALID_FIELD", field("reason", "0")),
    "report for an unknown reason": Row(reports("ana", "full", reason=99), "INVALID_FIELD", field("reason", "99")),
    "report for another reason that is not told": Row(
        reports("ana", "full", reason=authority_pb2.REPORT_REASON_OTHER), "INVALID_FIELD", field("text", "")
    ),
    "report of many words": Row(reports("ana", "full", text="a" * 301), "INVALID_FIELD", {"field": "text"}),
    "report without a request id": Row(
        reports("ana", "full", request_id=b""), "INVALID_FIELD", field("request_id", "0 bytes")
    ),
    "report from a room of others": Row(reports("eve", "playing"), "ROOM_NOT_FOUND"),
    # Lists and boards.
    "page of 101": Row(
        sends("ana", MATCHMAKING + "ListRooms", matchmaking_pb2.ListRoomsRequest(page_size=101)),
        "INVALID_FIELD",
        field("page_size", "101"),
    ),
    "foreign page token": Row(
        sends("ana", MATCHMAKING + "ListRooms", matchmaking_pb2.ListRoomsRequest(page_token="abc")), "BAD_PAGE_TOKEN"
    ),
    "foreign page token of my rooms": Row(
        sends("ana", AUTHORITY + "ListMyRooms", authority_pb2.ListMyRoomsRequest(page_token="abc")), "BAD_PAGE_TOKEN"
    ),
    "unknown family": Row(
        boards("GetLeaderboard", family="skat"), "UNKNOWN_FAMILY", {"value": "skat", "expected": GAMES}
    ),
    "no family": Row(boards("GetRank"), "UNKNOWN_FAMILY", {"value": "", "expected": GAMES}),
    "many neighbours": Row(boards("GetRank", family="uno", neighbours=26), "INVALID_FIELD", field("neighbours", "26")),
    "rank of a stranger": Row(boards("GetRank", family="uno", player_id="p_x"), "PLAYER_NOT_FOUND"),
    "unknown match": Row(
        sends("ana", SCORING + "GetMatch", scoring_pb2.GetMatchRequest(match_id="m_x")), "MATCH_NOT_FOUND"
    ),
    "no match": Row(
        sends("ana", SCORING + "GetMatch", scoring_pb2.GetMatchRequest()), "INVALID_FIELD", field("match_id", "")
    ),
}
