"""Damage files and read them, for minutes: ``make fuzz``, FUZZ_MINUTES=60 for an hour.

Each kind of file is read in child processes with a limit on memory. What should not have happened is counted, and the
file is kept in the folder given, from where it can be copied to tests/fuzz/corpus.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

if __package__:
    from .targets import ACCEPTED, outcome, targets
else:
    sys.path.insert(0, str(Path(__file__).parent))
    from targets import ACCEPTED, outcome, targets

NAMES = ("letor", "csv", "parquet", "qrels", "run", "scores", "ratings", "model")
EXTRA_MEMORY = 700 << 20
"""Bytes that reading small files may take beyond what the process has when it starts."""
STUCK = 60.0
"""Seconds without a new file: a hang."""
BATCH = {"parquet": 1000}
"""Files per process; other kinds, which take less time: 9000."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=float(os.environ.get("FUZZ_MINUTES", "5")))
    parser.add_argument("--seed", type=int, default=None, help="default: another one each time")
    parser.add_argument("--only", choices=NAMES, action="append")
    parser.add_argument("--findings", type=Path, default=Path("fuzz-findings"))
    parser.add_argument("--child", nargs=3, metavar=("TARGET", "SEED", "FOLDER"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        return _child(arguments.child[0], int(arguments.child[1]), Path(arguments.child[2]), arguments.findings)
    seed = random.SystemRandom().randrange(2**31) if arguments.seed is None else arguments.seed
    end, totals, batch = (
        time.monotonic() + 60 * arguments.minutes,
        {name: Counter() for name in arguments.only or NAMES},
        0,
    )
    while time.monotonic() < end:
        for name, total in totals.items():
            total.update(_batch(name, seed + batch, arguments.findings))
            _print(totals, seed)
        batch += 1
    return int(any(set(total) - set(ACCEPTED) for total in totals.values()))


def _batch(name: str, seed: int, findings: Path) -> Counter[str]:
    """Run one batch of files in a child process; a crash ends it, and is a finding."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, "--findings", str(findings), "--child", name, str(seed), folder]
        environment = {**os.environ, "PODIUM_MAX_MB": "64", "POLARS_MAX_THREADS": "1", "RUST_BACKTRACE": "0"}
        child = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        progress, last, since = Path(folder) / "progress", -1, time.monotonic()
        while child.poll() is None:
            time.sleep(0.2)
            done = progress.stat().st_size if progress.exists() else -1
            if done != last:
                last, since = done, time.monotonic()
            elif time.monotonic() - since > STUCK and last >= 0:
                child.kill()
                child.wait()
                return Counter({"hang": 1, "read": max(last, 0)}) + _keep(Path(folder), findings, name, "hang")
        assert child.stdout is not None
        output = child.stdout.read()
        child.stdout.close()
        if child.returncode == 0:
            return Counter(json.loads(output))
        return Counter({"read": max(last, 0)}) + _keep(Path(folder), findings, name, f"crash{child.returncode}")


def _keep(folder: Path, findings: Path, name: str, what: str) -> Counter[str]:
    for file in folder.glob("current.*"):
        findings.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, findings / f"{name}-{what}-{time.time_ns()}{file.suffix}")
    return Counter({what: 1})


def _child(name: str, seed: int, folder: Path, findings: Path) -> int:
    target = targets(folder)[name]
    current = folder / f"current{target.suffix}"
    rng = random.Random(f"{name} {seed}")
    counts: Counter[str] = Counter()
    with (folder / "progress").open("ab", buffering=0) as progress:
        for number in range(BATCH.get(name, 9000)):
            current.write_bytes(target.make(rng))
            if number == 50:  # everything is imported and compiled by now
                virtual = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
                resource.setrlimit(resource.RLIMIT_AS, (virtual + EXTRA_MEMORY,) * 2)
            started = time.process_time()
            what = outcome(target, current)
            if time.process_time() - started > 10:
                what = "slow"
            progress.write(b".")
            counts[what.split(":")[0] if what.startswith("no file") else what] += 1
            if what not in ACCEPTED:
                findings.mkdir(parents=True, exist_ok=True)
                (findings / f"{name}-{seed}-{number}.txt").write_text(what)
                shutil.copy(current, findings / f"{name}-{seed}-{number}{target.suffix}.case")
    print(json.dumps(counts))
    return 0


def _print(totals: dict[str, Counter[str]], seed: int) -> None:
    print(f"seed {seed}: {sum(sum(total.values()) for total in totals.values())} files", flush=True)
    for name, total in totals.items():
        print(f"  {name:8}", ", ".join(f"{n} {what}" for what, n in total.most_common(12)), flush=True)


if __name__ == "__main__":
    sys.exit(main())
