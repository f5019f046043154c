import threading
import time

import pytest

from vaecp.runtime import threads
from vaecp.runtime.progress import report, watched
from vaecp.runtime.threads import MOST_SIDE_BY_SIDE, in_threads, side_by_side


def test_results_come_back_in_order():
    assert in_threads(lambda item: 2 * item, range(5)) == [0, 2, 4, 6, 8]
    assert in_threads(lambda item: 2 * item, []) == []


def test_work_within_threads_takes_no_more_threads():
    def inner(_):
        return threading.get_ident()

    for outer, own in in_threads(
        lambda _: (threading.get_ident(), in_threads(inner, range(3))), [0, 1]
    ):
        assert set(own) == {outer}


def test_whoever_watches_is_told_of_work_in_threads(monkeypatch):
    monkeypatch.setattr(threads, "n_cores", lambda: 2)
    told = []
    with watched(lambda done, total, unit: told.append(done)):
        in_threads(lambda item: report(item, 3, "items"), range(3))
    assert sorted(told) == [0, 1, 2]


def test_work_side_by_side_comes_in_order_and_takes_no_more_than_it_can_hold():
    begun = []

    def late(item):
        begun.append(item)
        time.sleep(0.02 if item == 0 else 0)
        return item

    for item in (found := side_by_side(late, range(100))):
        assert len(begun) <= item + 2 * MOST_SIDE_BY_SIDE
        if item == 20:
            break
    found.close()
    assert list(side_by_side(abs, range(-3, 0))) == [3, 2, 1]


def test_work_side_by_side_fails_with_the_first_item_that_fails():
    with pytest.raises(ZeroDivisionError):
        list(side_by_side(lambda n: 1 / (n - 1), [0, 1, 2]))
