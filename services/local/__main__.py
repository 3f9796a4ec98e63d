"""`make run`: the whole server on this machine until Ctrl-C."""

from __future__ import annotations

import signal
import sys
import threading
import time

from services.local.plan import PortTakenError, StackOptions
from services.local.redis_server import RedisServerError
from services.local.stack import Stack, StackError
from services.runtime.settings import SettingsError


def main(options: StackOptions | None = None) -> int:
    """Starts, tells where everything is, and waits. Exit codes: 0 stopped, 1 could not start."""
    asked_to_stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: asked_to_stop.set())
    began = time.monotonic()
    try:
        stack = Stack(options, notice=_say)
        _say(f"Maumau starts; data, logs and keys are in {stack.var_dir}")
        stack.start(asked_to_stop)
    except (SettingsError, StackError, RedisServerError, PortTakenError, OSError) as error:
        _say(str(error))
        return 1
    if not asked_to_stop.is_set():
        _introduce(stack, time.monotonic() - began)
        asked_to_stop.wait()
    _say("\nStopping: services first, Redis last.")
    stack.stop()
    _say("Stopped.")
    return 0


def _introduce(stack: Stack, seconds: float) -> None:
    _say(f"  redis: {stack.redis_label}")
    for process in stack.processes:
        _say(f"  {process.name}: {process.address}, metrics on {process.metrics_port}")
    if stack.has_envoy:
        _say(f"  envoy: {stack.address}, metrics on {stack.edge.operations_port}")
        _say(f"\nReady after {seconds:.1f} s at {stack.address}, for native gRPC and for browsers (gRPC-Web).")
    else:
        _say(f"\nReady after {seconds:.1f} s, without Envoy: native clients use the services' own ports above.")
    _say("Play: `make play` in another terminal. Stop: Ctrl-C here.")


def _say(sentence: str) -> None:
    sys.stdout.write(sentence + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    raise SystemExit(main())
