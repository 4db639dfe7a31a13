"""How fast a log of clicks is read, and a bias estimated from it.

    python benchmarks/clicks.py [--rows 10000000]

The log has 50,000 queries of 30 documents, ten shown per session in some order: columns of query, document, place and
click in a Parquet file, ids as integers and as texts, no features. Times are wall-clock, one run after a small one that
loads the compiled functions; CPU time is without the process that reads Parquet files.
"""

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

import podium


def log(n_rows: int) -> pl.DataFrame:
    rng = np.random.default_rng(0)
    sessions = n_rows // 10
    query = rng.integers(50_000, size=sessions)
    document = np.argpartition(rng.random((sessions, 30)), 10, axis=1)[:, :10]
    return pl.DataFrame(
        {
            "query": np.repeat(query, 10),
            "document": (query[:, np.newaxis] * 30 + document).ravel(),
            "position": np.tile(np.arange(1, 11), sessions),
            "clicked": rng.random(10 * sessions) < np.tile(0.3 / np.arange(1, 11), sessions),
        }
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    n_rows = parser.parse_args().rows
    integers = log(n_rows)
    texts = integers.with_columns(
        pl.format("q{}", "query").alias("query"), pl.format("d{}", "document").alias("document")
    )
    with tempfile.TemporaryDirectory() as folder:
        podium.read_clicks(integers[:300_000])
        for kind, frame in (("integers", integers), ("texts", texts)):
            path = Path(folder, f"{kind}.parquet")
            frame.write_parquet(path)
            start, cpu = time.perf_counter(), time.process_time()
            c = podium.read_clicks(path)
            seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
            print(
                f"ids as {kind}: {len(c):,} rows in {seconds:.1f} s, {len(c) / seconds / 1e6:.2f} million per second "
                f"({cpu:.1f} s of this process's CPU time)"
            )
    for method in ("swaps", "em"):
        start = time.perf_counter()
        podium.clicks.PositionBias(method=method, bootstrap=0).fit(c)
        print(f"bias by {method}: {time.perf_counter() - start:.1f} s")


if __name__ == "__main__":
    main()
