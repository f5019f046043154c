"""How many cases are tried: a few with the other tests, many with `make fuzz`."""

import os

from hypothesis import HealthCheck, Phase, settings

MANY = bool(os.environ.get("VAECP_FUZZ"))


def n_cases(few: int, many: int) -> int:
    return many if MANY else few


def cases(number: int, *, same: bool = True) -> settings:
    """Settings of Hypothesis under which none that took long is searched for a shorter one."""
    return settings(
        max_examples=number,
        derandomize=same,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
