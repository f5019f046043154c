from types import SimpleNamespace

import numpy as np
import pytest

from vaecp.models.vaecp.gradients.layout import RowLayout
from vaecp.models.vaecp.gradients.schedule import (
    FINISHING_RATE,
    MAX_EPOCHS,
    MIN_EPOCHS,
    STEPS,
    Schedule,
    choose_batch_size,
    choose_block_size,
    choose_blocks,
    choose_epochs,
)
from vaecp.runtime.placement import Placement


def test_phases_warm_the_kl_up_and_hand_over_to_the_variance_head():
    schedule = Schedule(10, 0.1, decay=False, kl_warmup=0.4, scale_from=0.8, finish=0.3)
    mean, scale = schedule.phases()
    np.testing.assert_allclose(mean.learning_rate, [0.1] * 8)
    np.testing.assert_allclose(mean.scale_learning_rate, [0.0] * 8)
    np.testing.assert_allclose(mean.kl_weight, [0, 0.25, 0.5, 0.75] + [1] * 4)
    np.testing.assert_allclose(scale.learning_rate, [0.0] * 2)
    np.testing.assert_allclose(scale.scale_learning_rate, [0.1] * 2)
    assert scale.by_likelihood.all()
    finish, scale_again = schedule.finishing_phases()
    np.testing.assert_allclose(finish.learning_rate, [0.1 * FINISHING_RATE] * 3)
    np.testing.assert_allclose(scale_again.scale_learning_rate, [0.1] * 2)
    assert not mean.with_held_out.any()
    assert finish.with_held_out.all()
    assert scale_again.with_held_out.all()
    assert schedule.n_epochs_in_all == 10 + 3 + 2


def test_as_published_both_heads_are_trained_together_at_one_rate():
    (together,) = Schedule(5, 0.1, decay=False, kl_warmup=0.0, scale_from=0.0).phases()
    np.testing.assert_allclose(together.learning_rate, [0.1] * 5)
    np.testing.assert_allclose(together.scale_learning_rate, [0.1] * 5)
    np.testing.assert_allclose(together.kl_weight, [1.0] * 5)


def test_a_decaying_rate_is_half_a_cosine():
    (phase,) = Schedule(4, 0.2, decay=True, kl_warmup=0.0, scale_from=1.0).phases()
    expected = 0.1 * (1 + np.cos(np.pi * np.array([0, 0.25, 0.5, 0.75])))
    np.testing.assert_allclose(phase.learning_rate, expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("platform", "batch_size", "expected"),
    [
        ("cpu", 2**19, (512, None)),
        ("gpu", 2**19, (2**15, 2)),  # a row of the third mode has 32 entries of a block
        ("gpu", 2**13, (512, None)),
    ],
)
def test_large_batches_on_a_gpu_are_made_of_sorted_blocks(platform, batch_size, expected):
    layout = RowLayout((10_000, 5_000, 1_000))
    placement = Placement((SimpleNamespace(platform=platform),))
    assert choose_blocks(2**25, batch_size, layout, placement) == expected


@pytest.mark.parametrize("n_entries", [1, 100, 5_000, 200_000, 30_000_000])
def test_batches_and_epochs_suit_the_number_of_entries(n_entries):
    batch_size = choose_batch_size(n_entries)
    assert 64 <= batch_size <= 8192
    assert batch_size % choose_block_size(n_entries, batch_size) == 0
    n_epochs = choose_epochs(n_entries, batch_size)
    assert MIN_EPOCHS <= n_epochs <= MAX_EPOCHS
    steps = n_epochs * -(-n_entries // batch_size)
    assert steps <= STEPS or n_epochs == MIN_EPOCHS
