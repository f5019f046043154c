import os
import subprocess
import sys

import pytest

FIT = """
import vaecp
vaecp.{name}({settings}, random_state=0).fit([(i, j) for i in range(4) for j in range(3)], range(12))
"""


@pytest.mark.parametrize(
    ("name", "settings"),
    [("CPALS", "rank=1, n_starts=1"), ("VAECP.paper", "rank=1, hidden=2, max_epochs=1")],
)
def test_programs_that_a_method_compiles_are_kept(name, settings, tmp_path):
    environment = os.environ | {"VAECP_COMPILATION_CACHE": str(tmp_path)}
    environment.pop("JAX_COMPILATION_CACHE_DIR", None)
    code = FIT.format(name=name, settings=settings)
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)
    assert list((tmp_path / "xla").glob("*"))
