"""Keys: a new one to sign session tokens with, and credentials of operators. Works on the key folder alone."""

from __future__ import annotations

import os
import re
import secrets
import time
from pathlib import Path
from typing import Annotated

import typer

from services.maumauctl.app import NOT_UNDERSTOOD, Desk, app, desk
from services.runtime.key_folder import OPERATORS, SECRET_BYTES, KeyFolderError
from services.runtime.key_rotation import SPREAD_SECONDS, KeyRotation

Folder = Annotated[Path | None, typer.Option("--keys", help="Key folder. Default: that of the settings.")]


@app.command("rotate-keys")
def rotate_keys(
    context: typer.Context,
    keys: Folder = None,
    prune_only: Annotated[bool, typer.Option("--prune-only", help="Make no new key; remove what is over.")] = False,
    wait: Annotated[
        float, typer.Option(min=0, help="Seconds that all processes get to learn the new key before it signs.")
    ] = SPREAD_SECONDS,
) -> None:
    """Sign session tokens with a new key from now on, and remove keys whose last token has run out. No token of the old
    key is refused before its time. Where the folder is a mounted secret, run this on a copy and mount that."""
    at = desk(context)
    settings = at.settings()
    try:
        rotation = KeyRotation(keys or settings.keys_dir)
        new = "" if prune_only else _rotate(rotation, wait)
        removed = rotation.prune(time.time(), settings.session_seconds + settings.clock_leeway_seconds)
        left = rotation.private_keys()
    except (KeyFolderError, OSError) as error:
        at.fail(NOT_UNDERSTOOD, "KEYS", str(error))
    made = f"Key {new} signs from now on. " if new else ""
    at.out.done(f"{made}Removed: {', '.join(removed) or 'none'}. Kept: {', '.join(left)}.", new=new, removed=removed)


def _rotate(rotation: KeyRotation, wait: float) -> str:
    kid, private = rotation.publish()
    try:
        time.sleep(wait)
        rotation.sign_with(kid, private)
    except BaseException:
        rotation.withdraw(kid)
        raise
    return kid


@app.command("add-operator")
def add_operator(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="1 to 32 of a-z 0-9 -; the record of actions has it.")],
    keys: Folder = None,
) -> None:
    """Make a credential of its own for a person or tool, operators/NAME.secret. It counts within two seconds; remove
    the file to withdraw it."""
    at = desk(context)
    if not re.fullmatch(r"[a-z0-9-]{1,32}", name):
        raise typer.BadParameter(f"{name!r} is not 1 to 32 of a-z 0-9 -")
    path = (keys or at.settings().keys_dir) / OPERATORS / f"{name}.secret"
    _write_secret(at, path)
    at.out.done(f"{path} is {name}'s credential: maumauctl --credential FILE.", file=str(path))


def _write_secret(at: Desk, path: Path) -> None:
    try:
        path.parent.mkdir(mode=0o700, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(secrets.token_hex(SECRET_BYTES).encode() + b"\n")
        if os.geteuid() == 0:
            owner = path.parent.parent.stat()
            for made in (path.parent, path):
                os.chown(made, owner.st_uid, owner.st_gid)
    except OSError as error:
        at.fail(NOT_UNDERSTOOD, "KEYS", str(error))
