"""`maumau replay` and `maumau verify`: a match is fetched, kept in a file, and checked."""

from __future__ import annotations

from pathlib import Path

from maumau import replays
from maumau.replays import Replay
from maumau.terminal.play import Connected
from maumau.verify import Report


async def fetch(connected: Connected, room_id: str, match_id: str) -> Replay:
    """The replay of a match from the server."""
    async with connected() as client:
        return await client.replay(room_id, match_id)


def keep(replay: Replay, path: Path | None) -> str:
    """Writes the replay to the file, or one named after the match; says so."""
    file = path or Path(f"{replay.match_id}.json")
    replays.save(replay, file)
    return f"Saved {len(replay.steps)} versions of match {replay.match_id} in {file}"


def told(report: Report) -> str:
    """The report in lines."""
    lines = [f"Match {report.match_id}: {'everything that was checked holds' if report.holds else 'DOES NOT HOLD'}"]
    lines += [f"  wrong: {report.wrong}"] if report.wrong else []
    lines += [f"  proven: {sentence}" for sentence in report.proven]
    lines += [f"  not proven: {sentence}" for sentence in report.not_proven]
    return "\n".join(lines)
