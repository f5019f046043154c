"""Child processes that are used again, and replaced after a hang or a crash."""

import json
import os
import select
import subprocess
import sys
import time
from pathlib import Path

SECONDS = 30.0
"""Of a processor: a file of a few kilobytes that takes longer hangs."""
PATIENCE = 10.0
"""How many times as long a case may wait for a processor that others use too."""
START = 600.0
HERE = Path(__file__).resolve().parent.parent


class Child:
    """One process that is asked about files."""

    def __init__(self, warm_up: list[tuple[str, Path]]) -> None:
        self.warm_up = json.dumps([(task, str(path)) for task, path in warm_up])
        self.process: subprocess.Popen | None = None

    def ask(self, task: str, path: Path, seconds: float = SECONDS) -> tuple[str, str]:
        """Return `good`, `refused`, `memory`, `defect`, `hang` or `crash`, and what was said."""
        process = self.process or self._start()
        process.stdin.write(json.dumps([task, str(path)]) + "\n")
        process.stdin.flush()
        return self._answer(seconds)

    def close(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
            self.process = None

    def _start(self) -> subprocess.Popen:
        paths = [str(HERE), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "fuzzing.probe", self.warm_up],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
        )
        said = self._answer(START)
        assert said[0] == "ready", said
        return self.process

    def _seconds_used(self) -> float:
        """Return the time of processors that the child has used; 0 where the system does not say."""
        try:
            fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return 0.0
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def _answer(self, seconds: float) -> tuple[str, str]:
        begin, latest = self._seconds_used(), time.monotonic() + PATIENCE * seconds
        ready = []
        while not ready and time.monotonic() < latest and self._seconds_used() - begin < seconds:
            ready, _, _ = select.select([self.process.stdout], [], [], 1.0)
        line = self.process.stdout.readline() if ready else ""
        if line:
            answer = json.loads(line)
            return answer["outcome"], answer.get("line", "")
        outcome = "crash" if ready else "hang"
        self.close()
        return outcome, ""
