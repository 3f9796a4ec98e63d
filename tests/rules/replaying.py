"""Replays of matches that were played in a test, without a server: the messages that `GetReplay` would answer."""

from __future__ import annotations

from typing import Any

from maumau.v1 import authority_pb2, events_pb2

from services.rules.room import actions as a
from services.rules.room.ending import match_result
from services.rules.room.step import RoomStep
from services.rules.ruleset import canonical
from services.wire.results import replay_step, result_message
from services.wire.updates import actor_message
from tests.rules.recorded import Recorder


class Filmed(Recorder):
    """A room whose versions can be shown as a replay."""

    def __init__(self, *args: Any, **more: Any) -> None:
        self.film: list[authority_pb2.ReplayStep] = []
        super().__init__(*args, **more)

    def do(self, actor: a.Actor, action: a.RoomAction, **ctx: Any) -> RoomStep:
        step = super().do(actor, action, **ctx)
        self.film.append(replay_step(step.room.version, 0, self._actor(actor, action), action, step.events))
        return step

    def _actor(self, actor: a.Actor, action: a.RoomAction) -> events_pb2.Actor:
        if isinstance(action, a.Timeout):
            return actor_message(actor, action.seat)
        return actor_message(actor, self.now.seat_of(actor.id) if isinstance(actor, a.Player) else None)

    @property
    def replay(self) -> authority_pb2.GetReplayResponse:
        """Of the match that ended last."""
        record = result_message(match_result(self.now), 0, 0).match
        ruleset = self.now.ruleset
        return authority_pb2.GetReplayResponse(
            proof=record.proof,
            seed=record.seed,
            steps=[step for step in self.film if record.first_version <= step.version <= record.last_version],
            engine_revision=record.engine_revision,
            match_id=record.match_id,
            ruleset=canonical(ruleset.game, ruleset.options),
            first_version=record.first_version,
            last_version=record.last_version,
        )
