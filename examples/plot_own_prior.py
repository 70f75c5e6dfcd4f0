r"""A prior of your own
===================

A prior is two functions of :math:`u = w^2` that satisfy one law,
:math:`2\,\frac{d\,\mathrm{penalty}}{du}\,\mathrm{variance}(u) = 1`, and a slope at zero.
:func:`laconism.testing.check_prior` checks it against finite differences; every estimator and solver
accepts it. Here is the elastic net, a lasso and a ridge at once.
"""

import matplotlib.pyplot as plt
import numpy as np

from laconism import SparseBayesRegressor
from laconism.inspection import PriorDisplay
from laconism.priors import Gaussian, Laplace, Prior
from laconism.testing import check_prior


class ElasticNet(Prior):
    """Penalty ``rate |w| + w**2 / (2 width**2)``."""

    def __init__(self, rate=1.0, width=1.0):
        self.rate = rate
        self.width = width

    def penalty(self, u):
        """Return the penalty."""
        return self.rate * np.sqrt(u) + u / (2 * self.width**2)

    def variance(self, u):
        """Return the variance of the touching Gaussian."""
        size = np.sqrt(u)
        return size / (self.rate + size / self.width**2)

    @property
    def kink(self):
        """Slope of the penalty in the size of the weight, at zero."""
        return self.rate


check_prior(ElasticNet())
priors = {"Laplace": Laplace(1.0), "Gaussian": Gaussian(1.0), "elastic net": ElasticNet(1.0, 1.0)}
PriorDisplay.from_priors(priors)
plt.show()

# %%
# A pair of nearly identical columns: the lasso takes one of them, the elastic net shares the
# weight between both.
rng = np.random.default_rng(0)
X = rng.normal(size=(60, 6))
X[:, 1] = X[:, 0] + 0.05 * rng.normal(size=60)
y = X[:, 0] + X[:, 1] + 0.5 * rng.normal(size=60)
for prior in (Laplace(rate=20.0), ElasticNet(rate=20.0, width=0.2)):
    model = SparseBayesRegressor(prior).fit(X, y)
    print(f"{type(prior).__name__:10} weights {model.coef_[:2].round(2)}, kept {model.relevance_}")
