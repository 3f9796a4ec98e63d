"""What this machine does and is: CPU of processes, load of others, versions."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

TICKS: Final = os.sysconf("SC_CLK_TCK")
_LIBRARIES: Final = ("grpcio", "protobuf", "redis", "hiredis", "uvloop", "msgspec")
_ROOT: Final = Path(__file__).parents[2]


def cpu_seconds(pid: int) -> float:
    """CPU time that a process has used so far, user and system."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def busy_seconds() -> float:
    """CPU time that everything on this machine has used so far."""
    user, nice, system, _, _, interrupts, soft_interrupts = Path("/proc/stat").read_text().split()[1:8]
    return sum(map(int, (user, nice, system, interrupts, soft_interrupts))) / TICKS


def scheduling() -> str:
    """How this process is scheduled at present: with others alike, or before them, which a busy machine needs for
    figures that are not about its business."""
    policies = {os.SCHED_FIFO: "real time", os.SCHED_RR: "real time"}
    return policies.get(os.sched_getscheduler(0), f"nice {os.getpriority(os.PRIO_PROCESS, 0)}")


def facts() -> dict[str, Any]:
    """Machine, versions and commit, for the record."""
    return {
        "machine": f"{os.cpu_count()} x {_processor()}, {platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "libraries": {name: version(name) for name in _LIBRARIES},
        "commit": _git("rev-parse", "--short", "HEAD"),
        "changed": bool(_git("status", "--porcelain", "--", "services", "clients")),
        "load_before": os.getloadavg()[0],
    }


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def _git(*words: str) -> str:
    done = subprocess.run(["git", "-C", str(_ROOT), *words], capture_output=True, text=True, check=False)
    return done.stdout.strip()
