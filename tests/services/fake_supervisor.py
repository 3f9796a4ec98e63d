"""`make run` with fake services: `python -m tests.services.fake_supervisor`."""

from __future__ import annotations

from services.local.__main__ import main
from services.local.plan import StackOptions
from services.runtime.routes import SERVICES

if __name__ == "__main__":
    raise SystemExit(main(StackOptions(modules=dict.fromkeys(SERVICES, "tests.services.fake_service"))))
