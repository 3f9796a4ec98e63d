"""The client's verifier gives the published numbers, and the command says what is proven."""

from __future__ import annotations

import json
import re
import sys
from hashlib import sha256
from pathlib import Path
from subprocess import run
from typing import Any

import pytest
from maumau import replays
from maumau.v1 import authority_pb2, events_pb2
from maumau.verify.fair import FairMatch, commitment_of
from maumau.verify.match import verify

from services.rules.events import CardsDrawn, DrawCause
from services.rules.room.state import RoomPhase
from tests.rules.replaying import Filmed

ROOT = Path(__file__).parents[2]
VECTORS: list[dict[str, Any]] = json.loads((ROOT / "tests/rules/fairness_vectors.json").read_text(encoding="utf-8"))
PAGE = (ROOT / "docs" / "fair-deals.md").read_text()


def match_of(vector: dict[str, Any]) -> FairMatch:
    stated = vector["proof"]
    proof = events_pb2.DealProof(
        match_id=stated["match_id"],
        ruleset_hash=bytes.fromhex(stated["ruleset_hash"]),
        seats=stated["seats"],
        dealer=stated["dealer"],
        contributions=[bytes.fromhex(contribution) for contribution in stated["contributions"]],
    )
    return FairMatch(proof, bytes.fromhex(vector["seed"]))


def check(vector: dict[str, Any]) -> None:
    assert commitment_of(bytes.fromhex(vector["seed"])).hex() == vector["commitment"]
    match = match_of(vector)
    assert match.first_dealer() == vector["proof"]["dealer"]
    for shuffle in vector["shuffles"]:
        order = match.shuffled(range(shuffle["size"]), shuffle["round"], shuffle["counter"])
        assert order == shuffle["order"]


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["proof"]["match_id"])
def test_the_verifier_draws_the_published_numbers(vector: dict[str, Any]) -> None:
    check(vector)


def test_the_vector_on_the_page_is_one_of_them() -> None:
    shown = re.search(r"```json\n(.*?)```", PAGE, re.DOTALL)
    assert shown is not None
    vector = json.loads(shown[1])
    check(vector)
    assert vector["shuffles"]
    assert all(shuffle in VECTORS[0]["shuffles"] for shuffle in vector["shuffles"])


@pytest.mark.parametrize("ruleset", [b'{"game":"uno","options":{}}', b'{"game":5,"options":{}}', b"[]", b"\xff"])
@pytest.mark.parametrize("seats", [0, 1, 2, 300])
def test_a_replay_of_nonsense_is_wrong_and_no_fault_of_the_verifier(ruleset: bytes, seats: int) -> None:
    seed = bytes(32)
    proof = events_pb2.DealProof(
        match_id="m_1",
        seats=seats,
        contributions=[b""] * seats,
        commitment=commitment_of(seed),
        ruleset_hash=sha256(ruleset).digest(),
    )
    replay = authority_pb2.GetReplayResponse(
        match_id="m_1", seed=seed, ruleset=ruleset, proof=proof, first_version=1, last_version=1
    )
    events = replay.steps.add(version=1).events
    events.add().match_started.MergeFrom(events_pb2.Event.MatchStarted(proof=proof, number=1))
    events.add().match_ended.cause = events_pb2.MATCH_END_CAUSE_ABORTED
    events.add().match_finished.MergeFrom(events_pb2.Event.MatchFinished(match_id="m_1", seed=seed))
    assert verify(replay).wrong


def test_a_match_in_which_a_last_seven_was_answered_holds() -> None:
    options = {
        "finish.sevenAnswer": True,
        "effects": {"7": "draw", "8": "draw", "J": "wish"},
        "match.target": "rounds:3",
    }
    stage = Filmed(salt=9, options=options)
    stage.start()
    stage.until_phase(RoomPhase.FINISHED)
    drawn = [event.cause for event in stage.told if isinstance(event, CardsDrawn)]
    assert DrawCause.FINISH_ANSWERED in drawn, "the case that matters did not come up"
    assert not verify(stage.replay).wrong


def maumau(*arguments: str) -> tuple[int, str]:
    done = run([sys.executable, "-m", "maumau.cli", *arguments], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def test_the_command_verifies_a_file_and_exits_with_1_for_a_falsified_one(tmp_path: Path) -> None:
    stage = Filmed("uno", options={"match.target": "single"})
    stage.start()
    stage.until_phase(RoomPhase.FINISHED)
    replay, file = stage.replay, tmp_path / "match.json"
    replays.save(replay, file)
    seen = ("--commitment", replay.proof.commitment.hex(), "--contribution", b"bob".hex(), "--seat", "1")
    code, said = maumau("verify", str(file), *seen)
    assert code == 0, said
    assert "proven: the commitment is the one that you saw" in said
    assert "proven: the bytes that seat 1 sent went into every shuffle" in said
    assert "not proven: that the server did not look" in said
    del replay.steps[5]
    replays.save(replay, file)
    code, said = maumau("verify", str(file))
    assert code == 1
    assert "DOES NOT HOLD" in said
    file.write_text("{}")
    assert "DOES NOT HOLD" in maumau("verify", str(file))[1]
    file.write_text("no replay")
    assert maumau("verify", str(file))[0] == 1
