"""Calls that no one would make: each gives finite numbers, or refuses as it should."""

import multiprocessing
import threading

import numpy as np
import pandas as pd
import pytest
from fuzzing.calls import CALLS, quick
from fuzzing.effort import cases
from hypothesis import given

import vaecp

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize("name", CALLS)
def test_a_call_is_answered_or_refused(name):
    call, arguments = CALLS[name]

    @cases(10 if name == "compare" else 60)
    @given(chosen=arguments)
    def check(chosen):
        call(**chosen)

    check()


# ---- the same numbers in another form --------------------------------------------------


@pytest.fixture(scope="module")
def array():
    draw = np.random.default_rng(0)
    made = np.einsum("ir,jr,kr->ijk", *(draw.normal(size=(n, 2)) for n in (6, 5, 4)))
    made[draw.random(made.shape) < 0.2] = np.nan
    return made.astype(np.float32).astype(np.float64)


def read_only(array):
    array = array.copy()
    array.flags.writeable = False
    return array


def on_disk(array, folder):
    np.save(folder / "array.npy", array)
    return np.load(folder / "array.npy", mmap_mode="r")


FORMS = {
    "Fortran order": np.asfortranarray,
    "every second": lambda a: np.repeat(a, 2, axis=0)[::2],
    "backwards twice": lambda a: a[::-1].copy()[::-1],
    "read-only": read_only,
    "big-endian": lambda a: a.astype(">f8"),
    "32 bits": lambda a: a.astype(np.float32),
    "extended": lambda a: a.astype(np.longdouble),
    "objects that are masked": lambda a: np.ma.masked_invalid(a),
    "lists": lambda a: a.tolist(),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_the_form_of_an_array_does_not_change_its_completion(array, form):
    expected = vaecp.complete(array, quick()).mean
    np.testing.assert_allclose(vaecp.complete(form(array), quick()).mean, expected, rtol=1e-6)


def test_an_array_on_disk_is_completed_as_one_in_memory(array, tmp_path):
    expected = vaecp.complete(array, quick()).mean
    np.testing.assert_array_equal(vaecp.complete(on_disk(array, tmp_path), quick()).mean, expected)


@pytest.mark.parametrize("dtype", ["f2", "f4", "i1", "u8", "M8[D]", "U2", "category", "string"])
def test_labels_of_any_type_lead_to_the_same_predictions(dtype):
    numbers = np.array([1, 1, 2, 2, 3, 3])
    other = np.array([1, 2, 1, 2, 1, 2])
    values = np.arange(6.0)
    expected = quick().fit(np.stack([numbers, other], axis=1), values)
    labels = pd.Series(numbers).astype(str) if dtype in ("U2", "category", "string") else numbers
    keys = pd.DataFrame({"a": pd.Series(labels).astype(dtype), "b": other})
    found = quick().fit(keys, values)
    np.testing.assert_allclose(
        found.predict(keys), expected.predict(np.stack([numbers, other], axis=1)), rtol=1e-6
    )


@pytest.mark.parametrize("dtype", ["u1", "u2", "u4", "u8", "i1", "i8"])
def test_coordinates_of_any_integers_lead_to_the_same_predictions(array, dtype):
    model = quick().fit_tensor(vaecp.Observations.from_array(array))
    cells = np.array([[0, 1, 2], [5, 4, 3]])
    expected = model.predict_at(cells).mean
    np.testing.assert_array_equal(model.predict_at(cells.astype(dtype)).mean, expected)
    cells[1, 1] = min(np.iinfo(dtype).max, 2**63 - 1)
    with pytest.raises(
        vaecp.errors.ObservationError, match=rf"indices\[1, 1\] is {cells[1, 1]}, but"
    ):
        model.predict_at(cells.astype(dtype))


# ---- threads and processes -------------------------------------------------------------


def fitted_mean(array):
    model = vaecp.VAECP(rank=2, n_members=2, max_epochs=5, random_state=0)
    return vaecp.complete(array, model).mean


def test_fits_in_threads_do_not_disturb_each_other(array):
    expected, found = fitted_mean(array), [None] * 4

    def work(place):
        found[place] = fitted_mean(array)

    threads = [threading.Thread(target=work, args=(place,)) for place in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for mean in found:
        np.testing.assert_array_equal(mean, expected)


def send(array, channel):
    channel.put(fitted_mean(array))


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_fits_in_a_process_of_their_own_give_the_same_bits(array, method):
    expected = fitted_mean(array)
    context = multiprocessing.get_context(method)
    channel = context.Queue()
    process = context.Process(target=send, args=(array, channel))
    process.start()
    found = channel.get(timeout=120)
    process.join(60)
    assert process.exitcode == 0
    np.testing.assert_array_equal(found, expected)
