"""docs/maumauctl.md, made from the command's own help: `python -m services.maumauctl.page`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Final

import typer

from services.maumauctl.__main__ import app

WIDTH: Final = 110

HEAD: Final = """\
# maumauctl

Generated from the command's own help by `make docs`. `maumauctl` is for whoever runs the server. It calls the services
on their internal ports, which players never reach, and shows a credential of its own there: `operator.secret` of the
key folder, or one of `operators/`, by which the record of actions names who acted. Where internal TLS is configured
(`MAUMAU_INTERNAL_TLS_DIR`) it speaks mutual TLS as the services do.

    make run                        # in one terminal
    .venv/bin/maumauctl processes   # in another, in the same folder: var/run.json says where everything is
    docker compose exec matchmaking maumauctl rooms
    kubectl exec deploy/matchmaking -- maumauctl --json rooms --state playing

Elsewhere it reads the same settings as a service: `MAUMAU_MATCHMAKING_TARGET`, `MAUMAU_GAME_AUTHORITY_TARGET`,
`MAUMAU_SCORING_TARGET`, `MAUMAU_KEYS_DIR`, and `MAUMAU_REDIS_URL` for `check`.

What is done is written down by the service that did it, as a line of its log at level `info` with the event `operator`:
`operator` (whose credential), `action`, what it was about (`room`, `player`, ...), and `why`.

| exit code | meaning |
| --- | --- |
| 0 | done |
| 1 | refused; standard error has the reason, one of [errors.md](errors.md) or of this command's own |
| 2 | not understood: the command line, a setting, the key folder |
| 3 | nobody answers |
| 4 | `check` or `audit` found a fault |
| 5 | not confirmed: what cannot be taken back asks first, and without a terminal wants `--yes` |

Reasons of its own: `NOT_CONFIRMED`, `UNREACHABLE`, `SETTINGS`, `CREDENTIAL`, `KEYS`, `FAULTS`; `PROCESS_NOT_FOUND`,
`LAST_PROCESS` and `STREAMS_LEFT` of `drain` and `resume`. With `--json` a refusal is an object with `refused`,
`sentence` and `metadata`.

A drained process is not a stopped one: health and readiness say no, so that Envoy and Kubernetes turn away; its streams
get a go-away and go on elsewhere; new rooms are made elsewhere. It keeps its timers and answers what still reaches it.
`resume` takes it back, a signal stops it as any other. With every process drained nobody plays, and clocks run on.

Reports of players are kept for `MAUMAU_REPORT_DAYS`, closed or not.
"""


def page() -> str:
    """The whole page."""
    return HEAD + "".join(_commands())


def _commands() -> Iterator[str]:
    group = typer.main.get_command(app)
    context = typer.Context(group, info_name="maumauctl", max_content_width=WIDTH, terminal_width=WIDTH)
    yield f"\n```text\n{group.get_help(context)}\n```\n"
    for name in group.list_commands(context):  # type: ignore[attr-defined]
        command = group.get_command(context, name)  # type: ignore[attr-defined]
        own = typer.Context(command, info_name=name, parent=context, max_content_width=WIDTH, terminal_width=WIDTH)
        yield f"\n## {name}\n\n```text\n{command.get_help(own)}\n```\n"


if __name__ == "__main__":
    sys.stdout.write(page())
