"""When and on what a study is computed."""

import platform
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from podium.experiments.plan.identity import package_versions
from podium.numerics.pool import available_cores


def surroundings() -> dict[str, Any]:
    """Return when and on what a study is computed."""
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": {"python": platform.python_version(), **package_versions()},
        "machine": {
            "system": platform.platform(),
            "processor": platform.machine(),
            "cpu": _cpu_model(),
            "cores": available_cores(),
        },
    }


def _cpu_model() -> str:
    """Return the processor's name, where the system tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
