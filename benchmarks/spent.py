"""Where the seconds of a default fit go, by the number of entries.

The fit of each size is made twice, and the second is told: nothing is compiled in it. Steps are those of
`vaecp.models.vaecp`: comparing likelihoods, planning (which modes have an order, what is held out), searching
kinds of members, glimpsing at networks, training them, judging (in which the members that are kept learn from
all entries), and predicting the held-out entries.

    python benchmarks/spent.py
    python benchmarks/spent.py --only 807,41004
"""

from __future__ import annotations

import time
import warnings
from collections import defaultdict

from reporting import finish, parser, table
from sizes import SIZES, entries

import vaecp
from vaecp.models.vaecp import estimator, fitting
from vaecp.models.vaecp.gradients import fits

STEPS = {
    "comparing likelihoods": (estimator, "choose"),
    "planning": (fitting, "plan"),
    "searching": (fitting, "choose_members"),
    "glimpsing at networks": (fits, "glimpsed_members"),
    "training networks": (fits, "network_members"),
    "judging": (fitting, "judged"),
}


class Clock:
    """Adds up seconds by step; those of a step within another count for the outer one."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self.inside = False

    def timed(self, step: str, function):
        """Return the function, whose time is added to a step."""

        def run(*args, **kwargs):
            if self.inside:
                return function(*args, **kwargs)
            self.inside, started = True, time.perf_counter()
            try:
                return function(*args, **kwargs)
            finally:
                self.inside = False
                self.seconds[step] += time.perf_counter() - started

        return run


def spent(size: int, clock: Clock) -> list:
    """Return the shares of the steps in the second fit, and its seconds."""
    training, held_out = entries(size)
    for _ in range(2):
        clock.seconds.clear()
        started = time.perf_counter()
        model = vaecp.VAECP(random_state=0).fit_tensor(training)
        clock.timed("predicting", model.predict_at)(held_out.indices)
        whole = time.perf_counter() - started
    steps = [clock.seconds[step] for step in (*STEPS, "predicting")]
    return [size, SIZES[size][0], whole, *steps, whole - sum(steps)]


def main() -> None:
    options = parser(__doc__ or "")
    options.add_argument("--only", help="sizes, such as 807,4000; all but the largest by default")
    args = options.parse_args()
    asked = [int(size) for size in args.only.split(",")] if args.only else list(SIZES)[:-1]
    clock = Clock()
    for step, (home, name) in STEPS.items():
        setattr(home, name, clock.timed(step, getattr(home, name)))
    warnings.simplefilter("ignore")
    rows = [spent(size, clock) for size in asked]
    header = ["entries", "tensor", "seconds", *STEPS, "predicting", "other"]
    print(table(header, rows))
    finish({"header": header, "rows": rows}, args.output)


if __name__ == "__main__":
    main()
