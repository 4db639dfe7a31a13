"""Time and memory to read a LETOR file of MSLR's shape, compared with scikit-learn, XGBoost and polars.

    python benchmarks/reading.py [--lines 700000] [--repeats 3] [--folder DIR]

The file is created first and read once before any timing, so that it is in the page cache for all contestants. Times
are the best and the median of the repeats; compilation is timed separately. scikit-learn reads only a part of the file.
A busy machine affects rates per second of CPU time least.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import numpy as np

N_FEATURES = 136
BLOCK = 5_000
SLICE = 20_000


def block_of_lines(rng: np.random.Generator) -> bytes:
    """Return lines like MSLR's: counts, many zeros, and fractions of six digits, some of them negative."""
    columns = []
    for j in range(N_FEATURES):
        kind = j % 5
        if kind < 2:
            counts = rng.poisson(rng.choice([0.3, 3, 40, 5000]), BLOCK)
            columns.append([f"{j + 1}:{v}" for v in counts.tolist()])
        else:
            scale, sign = rng.choice([0.1, 1, 20, 300]), -1 if kind == 4 else 1
            values = sign * rng.gamma(1.0, scale, BLOCK) * (rng.random(BLOCK) < 0.8)
            columns.append([f"{j + 1}:{v:.6f}" if v else f"{j + 1}:0" for v in values.tolist()])
    labels = rng.integers(0, 5, BLOCK).tolist()
    rows = zip(*columns, strict=True)
    return b"".join(f"{labels[i]} qid:{i // 115:04} {' '.join(row)}\n".encode() for i, row in enumerate(rows))


def make_file(path: Path, n_lines: int) -> None:
    block = block_of_lines(np.random.default_rng(0))
    with path.open("wb") as file:
        for k in range(0, n_lines, BLOCK):
            lines = block.replace(b" qid:", b" qid:%d" % (1 + k // BLOCK))  # other queries in each block
            if n_lines - k < BLOCK:
                lines = b"".join(lines.splitlines(keepends=True)[: n_lines - k])
            file.write(lines)


def first_lines(path: Path, n: int) -> Path:
    part = path.with_name("slice.txt")
    with path.open("rb") as source, part.open("wb") as target:
        for line, _ in zip(source, range(n), strict=False):
            target.write(line)
    return part


def with_podium(path: Path) -> tuple[int, ...]:
    from podium.data.io.letor.reader import read_letor

    return read_letor(path).features.shape  # type: ignore[no-any-return]


def with_sklearn(path: Path) -> tuple[int, ...]:
    from sklearn.datasets import load_svmlight_file

    X, _, _ = load_svmlight_file(str(path), dtype=np.float32, query_id=True)
    return X.shape  # type: ignore[no-any-return]


def with_xgboost(path: Path) -> tuple[int, ...]:
    import xgboost

    matrix = xgboost.DMatrix(f"{path}?format=libsvm", silent=True)
    return matrix.num_row(), matrix.num_col()


def with_polars(path: Path) -> tuple[int, ...]:
    """Only for files in which every line has every feature."""
    import polars as pl

    frame = pl.read_csv(path, has_header=False, separator=" ", infer_schema=False)
    names = frame.columns[2 : 2 + N_FEATURES]
    numbers = [pl.col(name).str.strip_prefix(f"{j}:").cast(pl.Float32) for j, name in enumerate(names, 1)]
    return frame.select(numbers).to_numpy(order="c").shape


def rate(read: Callable[[Path], tuple[int, ...]], path: Path) -> tuple[float, float]:
    """Return MB per second, and per second of CPU time, of one reading."""
    start, processor = time.perf_counter(), time.process_time()
    read(path)
    size = path.stat().st_size / 1e6
    return size / (time.perf_counter() - start), size / (time.process_time() - processor)


def peak_growth(path: Path, small: Path) -> int:
    """Return the bytes by which a new process grows at most while it reads the file, after loading compiled code.

    The high-water mark of Linux, reset just before: ``getrusage`` would count what the parent process had used.
    """
    program = (
        "import re, sys\n"
        "from podium.data.io.letor.reader import read_letor\n"
        "def status(field):\n"
        "    return int(re.search(field + r':\\s*(\\d+) kB', open('/proc/self/status').read())[1]) * 1024\n"
        "read_letor(sys.argv[2])\n"
        "open('/proc/self/clear_refs', 'w').write('5')\n"
        "before = status('VmRSS')\n"
        "queries = read_letor(sys.argv[1])\n"
        "print(status('VmHWM') - before)\n"
    )
    result = subprocess.run([sys.executable, "-c", program, str(path), str(small)], capture_output=True, check=True)
    return int(result.stdout)


def report(path: Path, n_lines: int, repeats: int) -> None:
    size = path.stat().st_size
    print(f"{n_lines:,} lines, {N_FEATURES} features, {size / 1e6:,.0f} MB, {os.cpu_count()} cores")
    part = first_lines(path, min(SLICE, n_lines))
    start = time.perf_counter()
    with_podium(part)
    print(f"first call, including compiling or loading compiled code: {time.perf_counter() - start:.1f} s")
    start = time.perf_counter()
    with path.open("rb") as file:
        while file.read(1 << 24):
            pass
    print(f"raw read: {size / 1e6 / (time.perf_counter() - start):,.0f} MB/s\n")

    contenders = {
        "podium": (with_podium, path),
        "xgboost": (with_xgboost, path),
        "polars": (with_polars, path),
        "sklearn": (with_sklearn, part),
    }
    missing = [name for name in contenders if not find_spec(name)]
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in contenders if name not in missing}
    for _ in range(repeats):  # in turn, so that other work on the machine disturbs all of them
        for name in found:
            found[name].append(rate(*contenders[name]))
    print("          best MB/s   median   best per CPU second")
    ours = np.max(found["podium"], axis=0)
    for name, values in found.items():
        best, per_cpu = np.max(values, axis=0)
        ratio = (
            f"podium is {ours[0] / best:5.1f}× as fast ({ours[1] / per_cpu:.1f}× per CPU)" if name != "podium" else ""
        )
        print(f"{name:8} {best:10.1f} {statistics.median(v for v, _ in values):8.1f} {per_cpu:14.1f}   {ratio}")
    print("".join(f"{name} is not installed\n" for name in missing), end="")

    matrix = n_lines * N_FEATURES * 4
    growth = peak_growth(path, first_lines(path, 100))
    print(
        f"\npeak memory growth {growth / 1e6:,.0f} MB: the file ({size / 1e6:,.0f} MB, mapped) "
        f"+ {(growth - size) / matrix:.2f} × the float32 matrix ({matrix / 1e6:,.0f} MB)"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=700_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--folder", type=Path, help="where to create the file (default: a temporary folder)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        path = Path(folder) / "mslr-like.txt"
        make_file(path, arguments.lines)
        report(path, arguments.lines, arguments.repeats)


if __name__ == "__main__":
    main()
