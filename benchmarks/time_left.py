"""What the progress bar says of the time left after a fifth of a fit, beside what was left.

The second fit of each size is told, in which nothing is compiled. A ratio of 2 means that twice as long was
foretold as it took; between 0.5 and 2 is aimed at.

    python benchmarks/time_left.py
    python benchmarks/time_left.py --only 807,41004
"""

from __future__ import annotations

import time
import warnings

from reporting import finish, parser, table
from sizes import SIZES, entries

import vaecp
from vaecp.runtime.progress import watched

AFTER = 0.2


def foretold(size: int) -> list:
    """Return what was foretold after a fifth of the second fit, what was left, and their ratio."""
    training, _ = entries(size)
    reports: list[tuple[float, float]] = []
    for _ in range(2):
        reports.clear()
        started = time.perf_counter()
        with watched(lambda done, total, unit: reports.append((time.perf_counter(), done / total))):
            vaecp.VAECP(random_state=0, verbose=True).fit_tensor(training)
        whole = time.perf_counter() - started
    now = AFTER * whole
    share = max((share for at, share in reports if at - started <= now), default=0.0)
    said = now * (1 / share - 1) if share else float("inf")
    return [size, SIZES[size][0], whole, said, whole - now, said / (whole - now)]


def main() -> None:
    options = parser(__doc__ or "")
    options.add_argument("--only", help="sizes, such as 807,4000; all but the largest by default")
    args = options.parse_args()
    asked = [int(size) for size in args.only.split(",")] if args.only else list(SIZES)[1:-1]
    warnings.simplefilter("ignore")
    rows = [foretold(size) for size in asked]
    header = ["entries", "tensor", "whole fit, s", "left, as told, s", "left, s", "ratio"]
    print(table(header, rows))
    finish({"header": header, "rows": rows}, args.output)


if __name__ == "__main__":
    main()
