"""The default VAECP on a random 80/20 split of amino: RMSE in standardised units, seconds.

VAECP_DATA=... python benchmarks/amino.py
"""

from __future__ import annotations

import argparse
import time

import jax

import vaecp


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--paper", action="store_true")
    parser.add_argument("--epochs", type=int, default=500, help="of --paper")
    arguments = parser.parse_args()
    seed = arguments.seed
    train, test = vaecp.datasets.load("amino").split(0.2, random_state=seed)
    started = time.perf_counter()
    model = (
        vaecp.VAECP.paper(max_epochs=arguments.epochs, random_state=seed)
        if arguments.paper
        else vaecp.VAECP(random_state=seed)
    ).fit_tensor(train)
    seconds = time.perf_counter() - started
    found = vaecp.metrics.summary(model.predict_at(test.indices), test.values)
    print(
        f"amino, split {seed}, {len(train):,} entries train, {len(test):,} test, {jax.devices()[0]}"
    )
    print(f"RMSE            {found['rmse'] / model.standardiser_.scale:.5f}")
    for level in (50, 90, 95):
        print(f"coverage {level} %   {100 * found[f'coverage_{level}']:.1f} %")
    elbo = model.history_.groupby("epoch")["elbo"].mean()
    print(
        f"ELBO            {elbo.iloc[0]:,.0f} in the first epoch, {elbo.iloc[-1]:,.0f} in the last"
    )
    print(f"seconds to fit  {seconds:.1f}")


if __name__ == "__main__":
    main()
