"""Peak memory of reading, fitting, evaluating and scoring many documents, as a multiple of the matrix of features.

    python benchmarks/memory.py [--documents 10000000] [--only read-letor,read-parquet,listnet,…] [--folder DIR]

Every part runs in a process of its own. Its memory is the highest sum of RssAnon and RssShmem in /proc/self/status
(pages of files apart), sampled every 5 ms, imports included; of ``compare``, that of its workers. The matrix is
documents × 136 × 4 bytes. By default there are as many documents as a third of the free memory holds, at most ten
million. Files are made first: about 1.3 kB of text per document, and 0.5 kB of Parquet.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path

import numpy as np

import podium

N_FEATURES, PER_QUERY, BLOCK = 136, 100, 20_000
LIMITS = {
    "read-letor": 1.3,
    "read-letor-scattered": 1.3,
    "read-parquet": 1.3,
    "listnet": 1.3,
    "lambdamart": 1.3,
    "listnet-minmax": 1.6,
    "rank-letor": None,
    "rank-letor-lists": None,
    "rank-parquet": None,
    "compare": 0.25,
}
"""Matrices at most; None: 500 MB at most, whatever the file. LambdaMART: LightGBM's bins, a quarter, come on top.

``compare``: the highest of any worker process, of which LightGBM's bins of training and validation parts are .2
matrices; 500 MB for Python, its packages and vectors of one number per document come on top.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--documents", type=int, help="default: as many as fit")
    parser.add_argument("--only", default=",".join(LIMITS), help="some of " + ", ".join(LIMITS))
    parser.add_argument("--folder", type=Path, help="where the files are made and kept (default: a temporary folder)")
    parser.add_argument("--part", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.part:
        measure(arguments.part, arguments.folder)
        return
    n = arguments.documents or default_documents()
    n -= n % BLOCK
    with tempfile.TemporaryDirectory() as name:
        folder = arguments.folder or Path(name)
        folder.mkdir(parents=True, exist_ok=True)
        matrix = n * N_FEATURES * 4
        print(f"{n:,} documents × {N_FEATURES}, {n // PER_QUERY:,} queries: a matrix of {matrix / 1e9:.2f} GB")
        parts = arguments.only.split(",")
        make_files(folder, n, parts)
        for part in parts:
            command = [sys.executable, __file__, "--part", part, "--folder", str(folder)]
            found = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.split()
            peak, seconds = int(found[-2]), float(found[-1])
            limit = LIMITS[part]
            more = {"lambdamart": (0.25 * matrix, " and bins"), "compare": (500e6, " and 500 MB")}.get(part, (0, ""))
            met = peak <= 500e6 if limit is None else peak <= limit * matrix + more[0]
            told = "500 MB" if limit is None else f"{limit} ×" + more[1]
            print(
                f"  {'✓' if met else '✗'} {part:22} {peak / 1e6:8,.0f} MB   {peak / matrix:5.2f} × the matrix   "
                f"{seconds:7.1f} s   (target {told})",
                flush=True,
            )


def default_documents() -> int:
    lines = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
    free = 1024 * int(lines["MemAvailable"].split()[0])
    return min(10_000_000, free // 3 // (4 * N_FEATURES))


def make_files(folder: Path, n: int, parts: list[str]) -> None:
    """Write the files that the parts read, a block at a time: the same documents over and over, in other queries.

    Files that an earlier call left in the folder are kept.
    """
    rng = np.random.default_rng(0)
    features = rng.standard_normal((BLOCK, N_FEATURES), dtype=np.float32).round(4)
    grades = np.clip(np.round(features[:, :3].sum(axis=1) + 1), 0, 4).astype(int)
    sizes = [PER_QUERY] * (BLOCK // PER_QUERY)
    names = [f"f{j}" for j in range(N_FEATURES)]
    small = podium.Queries(features, grades, sizes=sizes, feature_names=names)
    podium.ListNet().fit(small).save(folder / "linear.podium")
    podium.ListNet(normalize="minmax").fit(small).save(folder / "lists.podium")
    if any("letor" in part for part in parts):
        lines = [" ".join(f"{j}:{value:g}" for j, value in enumerate(row, 1)) for row in features.tolist()]
        for name, scattered in (("data.txt", False), ("scattered.txt", True)):
            if (folder / name).exists() or (scattered and "read-letor-scattered" not in parts):
                continue
            with (folder / name).open("w") as file:
                for start in range(0, n, BLOCK):
                    queries = (start + np.arange(BLOCK)) // PER_QUERY if not scattered else np.arange(BLOCK) % 1000
                    rows = zip(grades.tolist(), queries.tolist(), lines, strict=True)
                    file.write("".join(f"{grade} qid:{query} {line}\n" for grade, query, line in rows))
    if not (folder / "data.parquet").exists() and set(parts) & {
        "read-parquet",
        "listnet",
        "lambdamart",
        "listnet-minmax",
        "rank-parquet",
        "compare",
    }:
        import pyarrow
        from pyarrow import parquet

        columns = {name: features[:, j] for j, name in enumerate(names)}
        writer = None
        for start in range(0, n, BLOCK):
            qid = (start + np.arange(BLOCK)) // PER_QUERY
            table = pyarrow.table({"qid": qid, "label": grades, **columns})
            writer = writer or parquet.ParquetWriter(
                folder / "data.parquet", table.schema, use_dictionary=False, compression="none"
            )
            writer.write_table(table)
        assert writer is not None
        writer.close()


def measure(part: str, folder: Path) -> None:
    """Run one part and print its peak memory in bytes and its seconds."""
    sampler = Sampler(children=part == "compare")
    started = time.perf_counter()
    run(part, folder)
    print(sampler.stop(), time.perf_counter() - started)


def run(part: str, folder: Path) -> None:
    if part.startswith("rank"):
        from podium.cli.main import main as podium_command

        model = folder / ("lists.podium" if part.endswith("lists") else "linear.podium")
        data = folder / ("data.parquet" if part.endswith("parquet") else "data.txt")
        assert podium_command(["rank", str(model), str(data), "-o", str(folder / "scores.txt")]) == 0
        return
    if part.startswith("read-letor"):
        podium.read_letor(folder / ("scattered.txt" if part.endswith("scattered") else "data.txt"))
        return
    if part == "compare":
        methods = {"listnet": podium.ListNet(), "lambdamart": podium.LambdaMART(n_trees=10, n_leaves=31)}
        found = podium.compare(folder / "data.parquet", methods, protocol="holdout:1", jobs=2, out=folder / "run")
        assert not found.failed
        return
    queries = podium.read_queries(folder / "data.parquet")
    if part == "read-parquet":
        return
    rankers = {
        "listnet": podium.ListNet(),
        "listnet-minmax": podium.ListNet(normalize="minmax"),
        "lambdamart": podium.LambdaMART(n_trees=10, n_leaves=31),
    }
    ranker = rankers[part].fit(queries)
    podium.evaluate(queries, ranker.predict(queries))
    ranker.save(folder / f"{part}.podium")


class Sampler:
    """The highest memory of this process, or of any that it started, sampled in a thread."""

    def __init__(self, *, children: bool = False) -> None:
        self._children, self._peak, self._done = children, 0, threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)
        self._thread.start()

    def _sample(self) -> None:
        parent = f"PPid:\t{os.getpid()}"
        while not self._done.is_set():
            for process in Path("/proc").glob("[0-9]*") if self._children else [Path("/proc/self")]:
                with suppress(OSError):  # it has ended
                    lines = (process / "status").read_text().splitlines()
                    sizes = [int(line.split()[1]) for line in lines if line.startswith(("RssAnon", "RssShmem"))]
                    if parent in lines or not self._children:
                        self._peak = max(self._peak, 1024 * sum(sizes))
            time.sleep(0.05 if self._children else 0.005)

    def stop(self) -> int:
        self._done.set()
        self._thread.join()
        return self._peak


if __name__ == "__main__":
    main()
