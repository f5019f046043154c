"""Several devices that share the entries: the same result but for rounding, and the same bits again."""

import os
import subprocess
import sys

CHILD = """
import jax, numpy as np
from vaecp import VAECP, Recipe
assert len(jax.devices()) == 2
random = np.random.default_rng(0)
keys = np.argwhere(np.ones((8, 9, 10)))
values = random.normal(size=(8, 9, 10))[tuple(keys.T)] + keys[:, 0]
recipe = Recipe(sweeps=False, network=True, batch_size=128, scale_from=0.8)
def predicted(devices):
    model = VAECP(2, hidden=4, n_members=2, max_epochs=15, recipe=recipe, random_state=0, devices=devices)
    return np.stack(model.fit(keys, values).predict(keys, return_std=True))
one, two, again = predicted(jax.devices()[:1]), predicted("all"), predicted("all")
np.testing.assert_array_equal(two, again)
np.testing.assert_allclose(two, one, rtol=2e-3, atol=2e-3)
assert np.abs(two - one).max() > 0, "one device or two, the sums are rounded alike: were two used?"
"""


def test_two_devices_find_what_one_finds():
    environment = os.environ | {
        "XLA_FLAGS": "--xla_force_host_platform_device_count=2",
        "JAX_PLATFORMS": "cpu",
    }
    child = subprocess.run(
        [sys.executable, "-c", CHILD], env=environment, capture_output=True, text=True
    )
    assert child.returncode == 0, child.stderr[-2000:]
