import threading

from vaecp.runtime.threads import first_then_in_threads, in_threads


def test_results_come_back_in_order():
    for apply in (in_threads, first_then_in_threads):
        assert apply(lambda item: 2 * item, range(5)) == [0, 2, 4, 6, 8]
        assert apply(lambda item: 2 * item, []) == []


def test_the_first_is_done_before_the_others_begin():
    done = []
    first_then_in_threads(lambda item: done.append((item, threading.current_thread())), range(4))
    assert done[0] == (0, threading.current_thread())


def test_work_within_threads_takes_no_more_threads():
    def inner(_):
        return threading.get_ident()

    for outer, own in in_threads(
        lambda _: (threading.get_ident(), in_threads(inner, range(3))), [0, 1]
    ):
        assert set(own) == {outer}
