"""Kernel families: fewer coordinates with the same distances."""

from __future__ import annotations

import numpy as np
import pytest

from laconism.flagship.kernel_family import KernelFamily


@pytest.mark.parametrize("kernel", ["rbf", "matern"])
def test_rotated_rows_have_the_same_kernels(kernel):
    rng = np.random.default_rng(0)
    X = 5 + rng.normal(size=(12, 300)) * rng.uniform(0.1, 9, size=300)
    weight = rng.uniform(1, 3, size=12)
    X[:, 7] = 2.0
    family = KernelFamily.of(kernel, 3, 1.0, None, X, weight)
    rotated = family.rotated(X, weight)
    assert rotated is not None
    other, Z = rotated
    assert Z.shape[1] < X.shape[0]
    expected = family.kernel_at(-1, np.ones(300))(X, X)
    np.testing.assert_allclose(other.kernel_at(-1, np.ones(Z.shape[1]))(Z, Z), expected, atol=1e-12)


def test_rows_with_few_features_or_without_distances_are_not_rotated():
    X, weight = np.random.default_rng(0).normal(size=(12, 12)), np.ones(12)
    assert KernelFamily.of("rbf", 3, 1.0, None, X, weight).rotated(X, weight) is None
    assert KernelFamily.of("poly", 3, 1.0, None, X[:5], weight[:5]).rotated(X[:5], weight[:5]) is None
    equal = np.ones((3, 12))
    assert KernelFamily.of("rbf", 3, 1.0, None, equal, weight[:3]).rotated(equal, weight[:3]) is None
