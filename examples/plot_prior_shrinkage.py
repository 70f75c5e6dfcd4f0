r"""What a prior does to a weight
=============================

Under each prior, one weight with standard error 1: its penalty, and what is left of the least-squares
estimate. The ridge shrinks everything by the same factor and leaves nothing at zero. The lasso (Laplace)
subtracts the same from every weight, so large ones stay biased. The Jeffreys prior sets everything below
two standard errors to zero and hardly changes large weights: close to a hard threshold, with nothing to
tune. The generalized Gaussian, penalty :math:`|w|^q`, lies between them.
"""

import matplotlib.pyplot as plt
import numpy as np

from laconism import SparseBayesRegressor
from laconism.inspection import PriorDisplay
from laconism.priors import Gaussian, GeneralizedGaussian, Jeffreys, Laplace

priors = {
    "Gaussian (ridge)": Gaussian(width=1.0),
    "Laplace (lasso)": Laplace(rate=1.0),
    "Jeffreys": Jeffreys(strength=1.0),
    "generalized Gaussian, q = 0.5": GeneralizedGaussian(q=0.5, scale=1.0),
}
fig, axes = plt.subplots(1, 2, figsize=(10, 4.6), layout="constrained")
for ax, kind in zip(axes, ("penalty", "shrinkage"), strict=True):
    PriorDisplay.from_priors(priors, kind=kind, ax=ax)
plt.show()

# %%
# On an orthogonal design an estimator does exactly this to every weight. Forty columns,
# each orthogonal to the others, with known least-squares estimates in units of their standard error.
n, estimates = 400, np.linspace(-6, 6, 40)
rng = np.random.default_rng(0)
Q, _ = np.linalg.qr(np.column_stack([np.ones(n), rng.normal(size=(n, 40)), rng.normal(size=n)]))
noise = Q[:, -1] * np.sqrt(n)
y = Q[:, 1:41] @ estimates + noise
model = SparseBayesRegressor(Jeffreys(strength=1.0)).fit(Q[:, 1:41], y)
# The standard error is that of the noise which the fit itself has estimated.
scale = np.sqrt(model.noise_variance_)
display = PriorDisplay.from_priors({"Jeffreys": priors["Jeffreys"]}, limit=6.0)
display.ax_.plot(estimates / scale, model.coef_ / scale, "k^", label="fitted weights")
display.ax_.legend()
kept = np.abs(estimates[model.relevance_])
print(f"{model.n_relevant_} of {estimates.size} weights kept; the smallest was {kept.min():.2f} errors")
plt.show()
