"""Linear algebra in one thread: for as long as any block asks for it, and no longer."""

import pytest
import scipy.linalg  # noqa: F401  (its library is limited too, once it is there)
from threadpoolctl import threadpool_info, threadpool_limits

from vaecp.runtime.blas import one_thread


def n_threads():
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


@pytest.fixture(autouse=True)
def several_threads():
    with threadpool_limits(limits=2, user_api="blas"):
        if n_threads() != {2}:
            pytest.skip("the linear algebra here has no threads to limit")
        yield


def test_the_last_block_to_be_left_lifts_the_limit():
    outer, inner = one_thread(), one_thread()
    outer.__enter__()
    inner.__enter__()
    outer.__exit__(None, None, None)
    assert n_threads() == {1}
    inner.__exit__(None, None, None)
    assert n_threads() == {2}


def test_an_error_within_the_block_lifts_the_limit_too():
    with pytest.raises(ValueError, match="singular"):
        fail_in_one_thread()
    assert n_threads() == {2}


def fail_in_one_thread():
    with one_thread():
        assert n_threads() == {1}
        raise ValueError("singular")
