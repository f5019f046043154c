"""`vaecp datasets`: which there are, and which are refused."""

from __future__ import annotations

from command_line import assert_refused, run


def test_datasets_lists_every_name_and_fetch_refuses_others():
    from vaecp import datasets

    listed = run("datasets", "list").stdout
    assert all(name in listed for name in datasets.names())
    assert_refused(run("datasets", "fetch", "moon"), "there is no dataset 'moon'")
    assert "made on the spot" in run("datasets", "fetch", "synthetic").stderr
