"""What is put in order when a program is stopped: the last block first, and one line at the end."""

import signal
import subprocess
import sys

import pytest

BEGIN = """
import os, signal
from vaecp.runtime.interrupts import end_on_interrupt, on_interrupt, only_waiting
end_on_interrupt("stopped")
stop = lambda number: os.kill(os.getpid(), number)
"""


def stopped(program):
    command = [sys.executable, "-c", BEGIN + program]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_process_ends_with_one_line_and_the_code_of_the_signal(number):
    found = stopped(f"stop({int(number)})\nprint('not reached')")
    assert (found.returncode, found.stdout, found.stderr) == (128 + number, "", "stopped\n")


def test_actions_of_open_blocks_are_done_from_the_inside_out_and_may_fail():
    found = stopped("""
with on_interrupt(lambda: print("left already", flush=True)):
    pass
with on_interrupt(lambda: print("outer", flush=True) or "go on"):
    with on_interrupt(lambda: 1 / 0), on_interrupt(lambda: print("inner", flush=True)):
        stop(signal.SIGINT)
""")
    assert (found.stdout, found.stderr) == ("inner\nouter\n", "go on\n")


def test_a_block_that_only_waits_is_unwound():
    found = stopped("""
try:
    with only_waiting():
        stop(signal.SIGINT)
except KeyboardInterrupt:
    print("unwound", flush=True)
stop(signal.SIGINT)
""")
    assert (found.returncode, found.stdout, found.stderr) == (130, "unwound\n", "stopped\n")
