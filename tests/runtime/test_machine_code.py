"""Machine code that is kept is that of the functions as they are now."""

import os
import subprocess
import sys

import pytest

HELPER = "from vaecp.runtime.machine_code import loop\n@loop()\ndef helper(x):\n    return x + {}\n"
MIDDLE = (
    "from helpers import helper\nfrom vaecp.runtime.machine_code import loop\n"
    "@loop()\ndef middle(x):\n    return helper(x)\n"
)
CALLER = (
    "from middles import middle\nfrom vaecp.runtime.machine_code import loop\n"
    "@loop()\ndef caller(x):\n    return 10 * middle(x)\nprint(caller(1))\n"
)


@pytest.mark.slow
def test_code_that_calls_a_function_of_another_file_is_compiled_anew_when_that_changes(tmp_path):
    environment = {**os.environ, "VAECP_COMPILATION_CACHE": str(tmp_path / "cache")}
    (tmp_path / "middles.py").write_text(MIDDLE)
    (tmp_path / "caller.py").write_text(CALLER)
    printed = []
    for added in (1, 1, 2):
        (tmp_path / "helpers.py").write_text(HELPER.format(added))
        command = [sys.executable, tmp_path / "caller.py"]
        made = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=True, cwd=tmp_path
        )
        printed.append(made.stdout.strip())
    assert printed == ["20", "20", "30"]
