"""Whether the other processes still answer: where one hangs, the others end with a line of ours.

JAX notices that too, later, and then ends the process by a crash with a trace.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any

from vaecp.runtime.processes import n_processes

SECONDS_BETWEEN, SECONDS_OF_SILENCE = 2.0, 25.0
PLACE, DONE = "vaecp/alive", "done"


@contextmanager
def watching(on_silence: Callable[[], object]) -> Iterator[None]:
    """Call `on_silence`, in a thread, once another process has not answered for so long.

    All processes enter this block at about the same time. Those that have left it need not answer
    any more.
    """
    if n_processes() == 1:
        yield
        return
    watch = _Watch(on_silence)
    for work in (watch.talk, watch.judge):  # a process that hangs can make `talk` wait
        Thread(target=work, daemon=True).start()
    try:
        yield
    finally:
        watch.end()


class _Watch:
    """Tells the others that this process lives, and hears them."""

    def __init__(self, on_silence: Callable[[], object]) -> None:
        import jax
        from jax._src import distributed  # the store that processes share has no public name

        self.client: Any = distributed.global_state.client
        self.name = f"{PLACE}/{jax.process_index()}"
        self.on_silence, self.ended = on_silence, Event()
        self.last: dict[str, str] = {}
        self.heard = {"the store itself": time.monotonic()}

    def talk(self) -> None:
        """Count up for the others to see, and look at their counts."""
        count = 0
        while not self.ended.wait(SECONDS_BETWEEN):
            try:
                self.client.key_value_set(self.name, str(count), allow_overwrite=True)
                self._hear(dict(self.client.key_value_dir_get(PLACE)))
            except Exception:  # silence is judged elsewhere, whatever the reason
                continue
            count += 1

    def _hear(self, told: dict[str, str]) -> None:
        now = time.monotonic()
        self.heard["the store itself"] = now
        for name, count in told.items():
            if count == DONE:
                self.heard.pop(name, None)
            elif self.last.get(name) != count:
                self.heard[name] = now
        self.last = told

    def judge(self) -> None:
        """Look for the one that was last heard of longest ago."""
        while not self.ended.wait(SECONDS_BETWEEN):
            if time.monotonic() - min(list(self.heard.values())) > SECONDS_OF_SILENCE:
                self.on_silence()
                return

    def end(self) -> None:
        """Stop watching, and let the others know that this process says no more."""
        self.ended.set()
        try:
            self.client.key_value_set(self.name, DONE, allow_overwrite=True)
        except Exception:  # the others have ended, or will be told otherwise
            return
