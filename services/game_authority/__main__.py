"""`python -m services.game_authority`: one game-authority process. Any number may run; none owns a room."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import secrets
from importlib.metadata import version

from maumau.internal.v1.operator_pb2_grpc import add_OperatorServiceServicer_to_server
from maumau.internal.v1.room_control_pb2_grpc import add_RoomControlServiceServicer_to_server
from maumau.v1.authority_pb2_grpc import add_GameAuthorityServiceServicer_to_server

from services.game_authority.all_rooms import AllRooms
from services.game_authority.announcing import Announcing
from services.game_authority.census import Census
from services.game_authority.conduct import Conduct
from services.game_authority.dead_results import DeadDesk
from services.game_authority.handlers import GameAuthorityService
from services.game_authority.live_room import LiveRoom
from services.game_authority.operator import OperatorService
from services.game_authority.presence import Presence
from services.game_authority.redis_time import RedisTime
from services.game_authority.relay import Relay, own_entry
from services.game_authority.releases import Releases, about_this
from services.game_authority.replays import Replays
from services.game_authority.room_control import RoomControlService, default_settings
from services.game_authority.rooms import Rooms
from services.game_authority.streams import Streams
from services.game_authority.timers import Timers
from services.rules.room.actions import Actor, Bot
from services.rules.room.events import MatchFinished
from services.rules.room.settings import ServerTimes
from services.rules.room.state import Room
from services.rules.room.step import RoomStep
from services.runtime import metrics
from services.runtime.invites import Invites
from services.runtime.lifecycle import Runtime, run_service
from services.runtime.limits import ACT, CREATE
from services.runtime.routes import GAME_AUTHORITY
from services.runtime.settings import Settings
from services.runtime.store_metrics import measure_store
from services.runtime.store_watch import StoreWatch
from services.runtime.stores import open_store
from services.runtime.trust import Trust
from services.runtime.unoffered import offer
from services.store.assembly import Store
from services.store.errors import StoreUnavailable
from services.store.keys import PlayerId, ProcessId, RoomId
from services.store.players import Invite, InviteIndex, PlayerStore
from services.store.records import Committed

SUBSTITUTE = "substitute"
"""The level, as the metric has it, of a bot that plays for a person."""


class GameAuthority:
    """The parts of one process and what its end asks of them."""

    def __init__(self, settings: Settings, store: Store, invites: Invites) -> None:
        self.process = ProcessId(secrets.token_hex(8))
        self.store = store
        self.invites = invites
        self._codes = InviteIndex(store.pipelines)
        times = server_times(settings)
        grace = _ms(settings.reconnect_grace_seconds), _ms(settings.reconnect_match_seconds)
        self.presence = Presence(store, self.process, *grace)
        self.redis_time = RedisTime()
        self.rooms = Rooms(
            store.rooms,
            store.hub,
            self.redis_time,
            self._invite_code,
            self._committed,
            self.presence.absent,
            self._index_invite,
            times,
            Releases(store.fleet),
        )
        self.timers = Timers(store, self.rooms, self.presence, times)
        self.streams = Streams(settings, store, self.rooms, self.presence, self.timers)
        self.conduct = Conduct(store, self.rooms, settings.report_days)
        self.relay = Relay(settings, store, lambda: self.redis_time.heard_ms)
        self.replays = Replays(store.rooms, self.rooms, self.relay.scoring, settings.internal_call_seconds)
        self.watch = StoreWatch(settings, store)
        self.census = Census(store, self.process)
        self._about = about_this(version("maumau-server"))

    def _invite_code(self, room: Room) -> str:
        return self.invites.code(room.id, room.generation)

    def _committed(self, live: LiveRoom, step: RoomStep, committed: Committed, actor: Actor) -> None:
        """A version was made here: keep its deadline, relay its result, count it."""
        self.timers.set(live.id, committed.clock)
        label = step.room.ruleset.label
        if step.room.version == 1:
            metrics.rooms_created.labels(label).inc()
        _count_bot(step, actor)
        for event in step.events:
            if isinstance(event, MatchFinished):
                metrics.rooms_finished.labels(label, event.cause.name.lower()).inc()
        if step.results and (entry := own_entry(live.id, committed, step.results[0])) is not None:
            self.relay.relay_soon(entry)

    async def _index_invite(self, room: Room) -> None:
        code = self.invites.code_hash(self._invite_code(room))
        await self._codes.put(code, Invite(RoomId(room.id), room.generation))

    async def ready(self) -> bool:
        """Announces the process, which is a write on the commits' path."""
        asked_at = asyncio.get_running_loop().time()
        self.redis_time.heard(await self.store.fleet.announce(self.process, self._about), asked_at)
        return True

    async def drain(self) -> None:
        """Sends every stream to another process."""
        await self.streams.send_away()

    async def resume(self) -> None:
        """Streams may come again."""
        self.streams.take_again()

    def operator(self) -> OperatorService:
        """What the operator may ask of this process."""
        all_rooms, announcing = AllRooms(self.store), Announcing(self.store)
        dead = DeadDesk(self.store.dead)
        return OperatorService(self.rooms, self.presence, all_rooms, announcing, self.conduct, dead)

    async def close(self) -> None:
        """Nothing is called any more."""
        await self.relay.aclose()
        with contextlib.suppress(StoreUnavailable):  # the announcement runs out by itself
            await self.store.fleet.leave(self.process)
        await self.store.aclose()


def _count_bot(step: RoomStep, actor: Actor) -> None:
    if isinstance(actor, Bot):
        seat = step.room.seats[actor.seat]
        level = None if seat is None else seat.level
        metrics.bot_moves.labels(SUBSTITUTE if level is None else level.name.lower()).inc()


def server_times(settings: Settings) -> ServerTimes:
    """The times that are the same for all rooms of this server."""
    return ServerTimes(
        bot_least=_ms(settings.bot_move_min_seconds),
        bot_most=_ms(settings.bot_move_max_seconds),
        window_least=_ms(settings.window_seconds),
        away_grace=_ms(settings.away_grace_seconds),
        empty=_ms(settings.empty_room_seconds),
        ready_check=_ms(settings.ready_check_room_seconds),
        rematch_offer=_ms(settings.rematch_seconds),
        open_idle=_ms(settings.idle_room_seconds),
        finished=_ms(settings.finished_room_seconds),
    )


def _ms(seconds: float) -> int:
    return round(seconds * 1000)


async def bind(runtime: Runtime) -> GameAuthority:
    """Opens the store, puts the services on their ports and starts what runs by itself."""
    settings = runtime.settings
    invites = Invites(settings)
    authority = GameAuthority(settings, open_store(settings), invites)
    trust = Trust(runtime, authority.store.pipelines)
    authority.streams.end_with(trust.revocations)
    players = PlayerStore(authority.store.pipelines, settings.guest_days)
    service = GameAuthorityService(
        *(authority.store, authority.rooms, authority.streams, authority.presence),
        *(authority.replays, authority.conduct),
        trust.authenticator.session,
        lambda: trust.limits.charge(ACT),
        lambda: trust.limits.charge(CREATE),
        lambda session: players.name(PlayerId(session.player_id), session.display_name),
    )
    runtime.public.add(add_GameAuthorityServiceServicer_to_server, offer("maumau.v1.GameAuthorityService", service))
    control = RoomControlService(
        authority.rooms, invites, authority.watch, default_settings(settings), authority.streams.refuse_if_leaving
    )
    runtime.internal.add(
        add_RoomControlServiceServicer_to_server, offer("maumau.internal.v1.RoomControlService", control)
    )
    operator = offer("maumau.internal.v1.OperatorService", authority.operator())
    runtime.internal.add(add_OperatorServiceServicer_to_server, operator)
    runtime.spawn(authority.streams.tend_all(), "streams")
    runtime.spawn(authority.timers.sweep_all(), "sweep")
    runtime.spawn(authority.relay.sweep_all(), "outbox")
    runtime.spawn(authority.watch.watch(), "redis")
    runtime.spawn(authority.census.count_all(), "census")
    runtime.spawn(measure_store(authority.store), "store metrics")
    _spare_the_collector()
    return authority


def _spare_the_collector() -> None:
    """What is there at the start stays, so that the garbage collector need not look at it again; and it looks less
    often at what is new, nearly all of which goes by itself."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)


if __name__ == "__main__":
    run_service(GAME_AUTHORITY, bind)
