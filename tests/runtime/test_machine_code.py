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


CONSTANT = "ADDED = {}\n"
FROZEN = (
    "from constants import ADDED\nfrom vaecp.runtime.machine_code import loop\n"
    "@loop()\ndef frozen(x):\n    return x + ADDED\nprint(frozen(1))\n"
)


def printed_by(program, tmp_path, *others) -> str:
    """Run a program; its cache stays."""
    environment = {**os.environ, "VAECP_COMPILATION_CACHE": str(tmp_path / "cache")}
    environment["PYTHONPATH"] = os.pathsep.join(map(str, others))
    made = subprocess.run(
        [sys.executable, program], env=environment, capture_output=True, text=True, check=True
    )
    return made.stdout.strip()


@pytest.mark.slow
def test_code_with_a_constant_of_another_file_is_compiled_anew_when_that_changes(tmp_path):
    (tmp_path / "frozen.py").write_text(FROZEN)
    printed = []
    for added in (1, 1, 2):
        (tmp_path / "constants.py").write_text(CONSTANT.format(added))
        printed.append(printed_by(tmp_path / "frozen.py", tmp_path))
    assert printed == ["2", "2", "3"]


@pytest.mark.slow
def test_code_that_calls_a_function_of_another_file_is_compiled_anew_when_that_changes(tmp_path):
    folders = [tmp_path / name for name in ("helpers", "middles", "callers")]
    for folder in folders:
        folder.mkdir()
    (folders[1] / "middles.py").write_text(MIDDLE)
    (folders[2] / "caller.py").write_text(CALLER)
    printed = []
    for added in (1, 1, 2):
        (folders[0] / "helpers.py").write_text(HELPER.format(added))
        printed.append(printed_by(folders[2] / "caller.py", tmp_path, *folders[:2]))
    assert printed == ["20", "20", "30"]
