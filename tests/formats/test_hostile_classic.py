"""Classic NetCDF files that no library would write, made as the "NetCDF classic format" says."""

import struct
import subprocess
import sys

import pytest

from vaecp.errors import VaecpError
from vaecp.formats import read


def classic(sizes):
    """Return a file with one variable over all of its dimensions, and that one value."""

    def name(text):
        return struct.pack(">i", len(text)) + text.ljust((len(text) + 3) // 4 * 4, b"\0")

    dimensions = b"".join(
        name(b"d%d" % mode) + struct.pack(">i", size) for mode, size in enumerate(sizes)
    )
    n, nothing = len(sizes), struct.pack(">ii", 0, 0)
    head = b"CDF\1" + struct.pack(">iii", 0, 10, n) + dimensions + nothing
    head += (
        struct.pack(">ii", 11, 1) + name(b"v") + struct.pack(f">{n + 1}i", n, *range(n)) + nothing
    )
    head += struct.pack(">iii", 6, 8, len(head) + 12)
    return head + struct.pack(">d", 1.5)


def test_a_classic_file_of_this_form_is_read(tmp_path):
    (tmp_path / "x.nc").write_bytes(classic((1, 1)))
    assert read(tmp_path / "x.nc").values.tolist() == [1.5]


def test_a_netcdf_variable_of_70_modes_is_refused(tmp_path):
    (tmp_path / "x.nc").write_bytes(classic((1,) * 70))
    with pytest.raises(VaecpError, match=r"70|64|dimension") as caught:
        read(tmp_path / "x.nc")
    assert str(caught.value).startswith(f"{tmp_path / 'x.nc'}: ")


LIMITED = """
import resource, sys
from pathlib import Path
import scipy.io, xarray
from vaecp.formats import read
taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (taken + 2**29, -1))
try:
    read(sys.argv[1])
except Exception as error:
    sys.exit(f"{type(error).__name__}: {error}")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are read from /proc")
@pytest.mark.parametrize("size", [2**27, 2**31 - 1])
def test_a_classic_file_that_declares_gigabytes_takes_no_memory_for_them(tmp_path, size):
    (tmp_path / "x.nc").write_bytes(classic((size, 2)))
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(tmp_path / "x.nc")], capture_output=True, text=True
    )
    assert done.stderr.startswith(f"FormatError: {tmp_path / 'x.nc'}: is truncated"), done.stderr
