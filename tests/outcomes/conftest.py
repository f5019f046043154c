import pytest

import vaecp
from vaecp.errors import VaecpError


@pytest.fixture(scope="session")
def amino_file():
    """The published file of amino acids, where it can be had."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VAECP_DATA_URL", "http://127.0.0.1:9")  # tests download nothing
        try:
            return vaecp.datasets.fetch("amino")[0]
        except VaecpError:
            pytest.skip("the files of 'amino' are not here: set VAECP_DATA")
