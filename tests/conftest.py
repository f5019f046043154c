"""Shared setting: one compilation cache for all tests, and where the real data are."""

import os
from pathlib import Path

import numpy as np
import pytest

pytest.register_assert_rewrite("command_line", "method_contract")

CACHE = Path(__file__).resolve().parent.parent / ".jax-cache"
os.environ.setdefault("VAECP_COMPILATION_CACHE", str(CACHE))


@pytest.fixture
def random() -> np.random.Generator:
    return np.random.default_rng(0)
