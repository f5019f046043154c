import threading

from vaecp.runtime.threads import in_threads


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
