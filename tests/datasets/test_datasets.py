"""Named tensors: what is known of them from their publications, and from other programs."""

import sys

import numpy as np
import pytest

from vaecp import datasets
from vaecp.datasets.files import locate
from vaecp.errors import DatasetError, MissingExtraError


def load(name, **options):
    """Load a dataset from the folder or the cache; a test never goes to the network."""
    with pytest.MonkeyPatch.context() as patch:
        # Nothing listens on the discard port, so only files that are here already load.
        patch.setenv("VAECP_DATA_URL", "http://127.0.0.1:9")
        patch.setenv("NO_PROXY", "127.0.0.1")
        try:
            return datasets.load(name, **options)
        except DatasetError as error:
            if "no connection" in str(error) or "is not here" in str(error):
                pytest.skip(f"the files of {name!r} are not here: set VAECP_DATA")
            raise


def explained_by_cp(tensor, rank):
    from tensorly.decomposition import parafac

    fitted = parafac(tensor, rank, n_iter_max=2000, tol=1e-7, init="svd")
    residual = tensor - fitted_tensor(fitted)
    return 1 - (residual**2).sum() / (tensor**2).sum(), fitted.factors


def fitted_tensor(fitted):
    return np.einsum("r,ir,jr,kr->ijk", fitted.weights, *fitted.factors)


def peak(observations, sample):
    """Return the labels of the brightest entry of one sample, without the sample's own."""
    spectrum = observations.to_array()[sample]
    place = np.unravel_index(spectrum.argmax(), spectrum.shape)
    return tuple(labels[row] for labels, row in zip(observations.labels[1:], place, strict=True))


@pytest.mark.parametrize("name", datasets.names())
def test_a_tensor_is_as_its_entry_in_the_catalogue_says(name):
    observations, info = load(name), datasets.info(name)
    assert observations.shape == info.shape
    assert observations.mode_names == info.mode_names
    assert observations.value_name == info.value_name
    assert all(len(set(labels.tolist())) == len(labels) for labels in observations.labels)
    assert all(text for text in (info.title, info.citation, info.licence, info.source))


@pytest.mark.parametrize(
    ("name", "shape", "low", "high"),
    [
        ("amino", (5, 51, 201), -6.204, 938.5),
        ("fia", (12, 100, 89), -0.0041, 0.637),
        ("sugar", (265, 571, 7), 0.117, 999.999),
        ("sugar-full", (268, 571, 7), 0.117, 999.999),
    ],
)
def test_a_published_tensor_is_full_with_its_known_size_and_range(name, shape, low, high):
    observations = load(name)
    assert observations.shape == shape
    assert len(observations) == np.prod(shape)
    assert observations.values.min() == pytest.approx(low, rel=0.01)
    assert observations.values.max() == pytest.approx(high, rel=0.001)


def test_amino_has_the_wavelengths_of_the_publication():
    sample, excitation, emission = load("amino").labels
    np.testing.assert_array_equal(sample, [1, 2, 3, 4, 5])
    np.testing.assert_array_equal(excitation, np.arange(250, 301))
    np.testing.assert_array_equal(emission, np.arange(250, 451))


def test_the_pure_amino_acids_shine_where_chemistry_says():
    # Literature, excitation/emission in nm: tryptophan 280/350, tyrosine 275/303,
    # phenylalanine 258/282. The first three samples each hold one of them alone.
    amino = load("amino")
    for sample, expected in enumerate([(280, 350), (275, 303), (258, 282)]):
        np.testing.assert_allclose(peak(amino, sample), expected, atol=10.5)


def test_a_rank_3_cp_of_the_whole_amino_file_is_the_known_one():
    from scipy.io import loadmat

    load("amino")
    content = loadmat(datasets.fetch("amino")[0])
    explained, factors = explained_by_cp(content["X"], 3)
    assert explained == pytest.approx(0.99937, abs=0.000006)
    correlations = np.abs(np.corrcoef(factors[0].T, content["y"].T)[:3, 3:])
    assert (correlations.max(axis=0) >= 0.998).all()


def test_a_rank_3_cp_of_fia_explains_what_is_known():
    explained, _ = explained_by_cp(load("fia").to_array(), 3)
    assert explained == pytest.approx(0.9794, abs=0.0001)


def test_fia_has_every_second_wavelength_and_numbered_times():
    _, wavelength, time = load("fia").labels
    assert (wavelength[0], wavelength[1], wavelength[-1]) == (250, 252, 450)
    np.testing.assert_array_equal(time, np.arange(1, 90))


def test_sugar_saturates_as_often_as_is_known():
    assert (load("sugar-full").values >= 999).sum() == 2166


def test_sugar_is_the_first_265_samples():
    whole, first = load("sugar-full"), load("sugar")
    np.testing.assert_array_equal(first.to_array(), whole.to_array()[:265])
    np.testing.assert_array_equal(first.labels[0], whole.labels[0][:265])


def test_sugar_shines_only_at_wavelengths_above_its_excitation():
    # Emitted light has less energy than the light that excites it.
    sugar = load("sugar")
    _, emission, excitation = sugar.labels
    assert sorted(excitation) == [230, 240, 255, 290, 305, 325, 340]
    spectra = sugar.to_array().mean(axis=0)
    for row, wavelength in enumerate(excitation):
        above = spectra[emission >= wavelength, row].max()
        assert (spectra[emission < wavelength - 15, row] < 0.05 * above).all()


def test_sugar_shifts_are_in_the_order_of_time():
    assert (np.diff(load("sugar-full").labels[0]) > 0).all()


@pytest.mark.parametrize("fold", [1, 2, 3, 4, 5])
def test_a_fold_of_alog_has_the_published_entries_and_keeps_train_and_test_apart(fold):
    load("alog", fold=fold)
    train, test = datasets.load_alog_fold(fold)
    assert train.shape == test.shape == (200, 100, 200)
    assert len(train) == 21_076
    assert 6_600 < len(test) < 6_620
    shared = set(map(tuple, train.indices.tolist())) & set(map(tuple, test.indices.tolist()))
    assert not shared


@pytest.mark.parametrize(
    ("name", "n_train", "n_test"),
    [
        ("beijing", 9_563, 2_391),
        ("movielens", 80_000, 20_000),
        ("enron", 1_010, 254),
        ("ems", 1_922, 481),
    ],
)
def test_a_published_split_has_its_known_sizes_and_keeps_train_and_test_apart(
    name, n_train, n_test
):
    load(name)
    train, test = datasets.load_fold(name, 1)
    assert (len(train), len(test)) == (n_train, n_test)
    assert len(datasets.load(name, part="all")) == n_train + n_test
    assert not set(map(tuple, train.indices.tolist())) & set(map(tuple, test.indices.tolist()))


def test_hangzhou_leaves_zeros_out_as_the_transdim_notebooks_do():
    hangzhou = load("hangzhou")
    assert len(hangzhou) == 209_763
    assert hangzhou.values.min() == 1


def test_the_week_is_a_third_mode_of_movielens_and_follows_the_time():
    load("movielens")
    plain, weekly = (datasets.load("movielens", week=week) for week in (False, True))
    assert weekly.shape == (943, 1682, 31)
    np.testing.assert_array_equal(weekly.indices[:, :2], plain.indices)
    assert set(weekly.indices[:, 2]) == set(range(31))


def test_a_dataset_that_may_not_be_passed_on_says_where_to_get_it(monkeypatch, tmp_path):
    monkeypatch.setenv("VAECP_DATA", str(tmp_path))
    monkeypatch.setenv("VAECP_CACHE", str(tmp_path))
    line = r"u1\.base is not here.*never to be passed on.*GroupLens, and set VAECP_DATA"
    with pytest.raises(DatasetError, match=line):
        datasets.load("movielens")


def test_only_datasets_with_published_folds_have_them():
    with pytest.raises(DatasetError, match="'amino' has no published folds: use one of alog"):
        datasets.load_fold("amino", 1)


def test_alog_starts_as_its_file_does():
    train = load("alog")
    assert train.keys().iloc[0].tolist() == [30, 1, 1]
    assert train.values[0] == 1.9459


def test_alog_holds_logs_of_counts():
    counts = np.exp(load("alog").values)
    small = counts[counts < 100]
    np.testing.assert_allclose(small, small.round(), atol=0.01)


def test_synthetic_has_the_variance_of_its_recipe():
    # A product of three standard normals has variance 1; r of them and the noise: r + 1.
    values = [datasets.load("synthetic", r=9, seed=seed).values for seed in range(40)]
    assert np.var(values) == pytest.approx(10, rel=0.1)


def test_synthetic_is_a_low_rank_tensor_plus_unit_noise():
    # Beyond rank r the singular values of an unfolding are those of the noise alone, below
    # sqrt(20) + sqrt(400) for a 20 x 400 matrix of standard normals.
    singular = np.linalg.svd(
        datasets.load("synthetic", r=9).to_array().reshape(20, 400), compute_uv=False
    )
    assert singular[9] < np.sqrt(20) + np.sqrt(400) < singular[8]


def test_synthetic_repeats_by_seed():
    first, again, other = (datasets.load("synthetic", seed=seed).values for seed in (3, 3, 4))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_il2_leaves_out_what_was_not_measured():
    il2 = datasets.load("il2")
    assert len(il2) == 13 * 4 * 12 * 8 - 192
    unknown = il2.keys(il2.gaps())
    assert set(unknown["ligand"]) == {"H16N N-term (Biv)", "R38Q N-term (Biv)"}
    assert set(unknown["time"]) == {0.5}


def test_kinetic_does_not_take_missing_entries_for_zeros():
    kinetic = datasets.load("kinetic")
    assert kinetic.n_cells - len(kinetic) == 1_754
    assert (kinetic.values == 0).sum() == 2


def test_covid19_numbers_its_samples_within_each_severity():
    samples = datasets.load("covid19").labels[0]
    assert samples[0] == "Negative 1"
    assert {sample.rsplit(" ", 1)[0] for sample in samples} == {
        "Negative",
        "Mild",
        "Moderate",
        "Severe",
        "Deceased",
    }


def test_an_unknown_name_is_answered_with_the_known_ones():
    with pytest.raises(DatasetError, match="there is no dataset 'amigo': use one of amino, fia"):
        datasets.load("amigo")


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("amino", {"fold": 1}, "dataset 'amino' has no option 'fold': it has none"),
        ("alog", {"seed": 1}, "dataset 'alog' has no option 'seed': it has fold and part"),
        ("alog", {"fold": 6}, "fold is 6: dataset 'alog' has the folds 1 to 5"),
        ("alog", {"part": "half"}, "part is 'half'"),
        ("beijing", {"fold": 3}, "fold is 3: dataset 'beijing' has the folds 1 to 2"),
        ("synthetic", {"r": 0}, "r is 0: use a whole number of at least 1"),
        ("synthetic", {"seed": 1.5}, "seed is 1.5: use a whole number of at least 0"),
    ],
)
def test_a_wrong_option_is_named_with_its_rule(name, options, message):
    with pytest.raises(DatasetError, match=message):
        datasets.load(name, **options)


def test_what_needs_no_file_fetches_none():
    assert datasets.fetch("synthetic") == datasets.fetch("il2") == []


def test_every_address_is_pinned_to_a_commit_and_every_sum_is_a_sha256():
    for name in datasets.names():
        for file in datasets.info(name).files:
            assert not file.address or len(file.address.split("/")[2]) == 40
            assert len(bytes.fromhex(file.sha256)) == 32


def test_a_missing_package_is_named_with_its_extra(monkeypatch, tmp_path):
    monkeypatch.setenv("VAECP_DATA", "")
    monkeypatch.setenv("VAECP_CACHE", str(tmp_path))
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(MissingExtraError, match=r"needs pooch, .*vaecp\[datasets\]"):
        locate("amino", datasets.info("amino").files[0])
