"""NetCDF, the classic kind too."""

from __future__ import annotations

import numpy as np

from vaecp.formats import read


def test_a_classic_netcdf_file_is_read_too(tmp_path):
    import xarray as xr

    array = xr.DataArray([[1.0, np.nan]], dims=("a", "b"), coords={"b": [7, 9]}, name="t")
    array.to_netcdf(tmp_path / "old.nc", engine="scipy")
    back = read(tmp_path / "old.nc")
    assert back.labels[1].tolist() == [7, 9]
    assert back.value_name == "t"
