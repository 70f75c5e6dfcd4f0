"""The same data in other units
============================

Metres or millimetres, euros or thousands of euros: the answer to "which features matter?" should not
depend on it. Jeffreys' prior has no scale, and the noise is estimated, so
:class:`~laconism.SparseBayesRegressor` keeps the same features in any units. scikit-learn's
``ARDRegression`` has the same kind of model, but its hyper-priors and its pruning threshold are numbers
in the units of the coefficients.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import ARDRegression

from laconism import SparseBayesRegressor
from laconism.datasets import make_sparse_regression


def in_other_units(X, y):
    """Return the same data in several units, by name."""
    mixed = 10.0 ** np.random.default_rng(1).integers(-3, 4, size=X.shape[1])
    return {
        "as drawn": (X, y),
        "X * 1000": (X * 1000, y),
        "X / 1000": (X / 1000, y),
        "y * 1e4": (X, y * 1e4),
        "y * 1e-4": (X, y * 1e-4),
        "mixed units": (X * mixed, y),
    }


def measure():
    """Return the features that matter, and those that each method keeps in all units."""
    X, y, coef = make_sparse_regression(100, 250, n_relevant=8, random_state=0)
    methods = {"laconism": SparseBayesRegressor, "ARDRegression": ARDRegression}
    kept = {
        units: {name: np.flatnonzero(method().fit(*data).coef_) for name, method in methods.items()}
        for units, data in in_other_units(X, y).items()
    }
    return np.flatnonzero(coef), kept


# %%
# 100 rows, 250 features, 8 of which matter. Each cell says how many features were kept, how many of
# the eight true ones are among them, and whether they are the same as in the first row.


def main():
    """Print the table, draw the counts."""
    true, kept = measure()
    first = kept["as drawn"]
    print(f"{'units':12}" + "".join(f"{name:>28}" for name in first))
    for units, row in kept.items():
        line = f"{units:12}"
        for name, features in row.items():
            right = np.intersect1d(features, true).size
            same = "same" if np.array_equal(features, first[name]) else "other"
            line += f"{f'{features.size} kept, {right} of {true.size}, {same}':>28}"
        print(line)

    ax = plt.figure(figsize=(7, 4), layout="constrained").add_subplot()
    place = np.arange(len(kept))
    for shift, name in zip((-0.2, 0.2), first, strict=True):
        bars = ax.bar(place + shift, [row[name].size for row in kept.values()], 0.4, label=name)
        ax.bar_label(bars)
    ax.axhline(true.size, color="black", linewidth=0.8, linestyle="dashed", label="true features")
    ax.set_xticks(place, list(kept))
    ax.set(xlabel="units", ylabel="features kept", title="The same data in other units")
    ax.margins(y=0.1)
    ax.legend(frameon=False)
    plt.show()


if __name__ == "__main__":
    main()
