"""Commands of a cluster on one machine: launchers as processes find them, and fits cut short."""

from __future__ import annotations

import stat
import sys
from pathlib import Path

TOOLS = Path(__file__).parents[2] / "tools"
LOWEST = 65535 - 2**12 + 1
"""Of the ports that JAX derives from the number of a job."""

VAECP = f"""#!{sys.executable}
from vaecp.models.vaecp import fitting
from vaecp.models.vaecp.gradients import schedule

schedule.STEPS = 150
of = fitting.Settings.of.__func__
short = dict(hidden=4, n_members=1, rank=2)
fitting.Settings.of = classmethod(lambda cls, model: fitting.replace(of(cls, model), **short))
from vaecp.app.cli import main

main()
"""
DASK = f"""#!{sys.executable}
from dask.__main__ import main

if __name__ == "__main__":  # workers import what started them
    main()
"""
WORKER = f"""
import sys

sys.path.insert(0, {str(TOOLS)!r})
import brief

brief.shorten()
"""
LAUNCHER = f"""#!{sys.executable}
import os, subprocess, sys

n, words = int(sys.argv[2]), sys.argv[3:]


def around(number):
    return ENVIRONMENT


started = [subprocess.Popen(words, env=os.environ | around(i)) for i in range(n)]
sys.exit(max(abs(each.wait()) for each in started))
"""
SLURM = """{
        "SLURM_JOB_ID": "<job>", "SLURM_STEP_NODELIST": "localhost", "SLURM_STEP_NUM_NODES": "1",
        "SLURM_NTASKS": str(n), "SLURM_PROCID": str(number), "SLURM_LOCALID": str(number),
    }"""
OPEN_MPI_4 = """{
        "OMPI_MCA_orte_hnp_uri": str(<job> * 4096) + ".0;tcp://127.0.0.1:34911",
        "OMPI_COMM_WORLD_SIZE": str(n), "OMPI_COMM_WORLD_RANK": str(number),
        "OMPI_COMM_WORLD_LOCAL_RANK": str(number),
    }"""


def write_commands(folder: Path, port: int, launchers: tuple[str, ...]) -> Path:
    """Write `vaecp`, `dask` and launchers into a folder, which is then first in PATH.

    The launchers start processes with the variables that Slurm or Open MPI 4 set around them; their
    job has the number from which JAX derives the port.
    """
    folder.mkdir()
    job = str(4096 + port - LOWEST)
    variables = {"srun": SLURM, "mpirun": OPEN_MPI_4}
    texts = {"vaecp": VAECP, "dask": DASK}
    for name in launchers:
        texts[name] = LAUNCHER.replace("ENVIRONMENT", variables[name].replace("<job>", job))
    for name, text in texts.items():
        (folder / name).write_text(text)
        (folder / name).chmod(stat.S_IRWXU)
    (folder / "worker.py").write_text(WORKER)
    return folder
