"""Ten coefficients among five hundred
===================================

150 rows, 500 features, 10 of which matter. The lasso with a cross-validated penalty finds them too, but
among many others, and shrinks them: one penalty does both the selection and the estimation. Under the
Jeffreys prior a large coefficient is hardly penalised, and the strength of the prior grows with the
number of candidates, so noise stays out. Nothing is tuned.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LassoCV

from laconism import SparseBayesRegressor
from laconism.datasets import make_sparse_regression

X, y, coef = make_sparse_regression(150, 500, n_relevant=10, rho=0.5, random_state=0)
true = np.flatnonzero(coef)
models = {"laconism": SparseBayesRegressor(), "LassoCV": LassoCV()}

# %%
# Features kept, true ones among them, and the length of the coefficients' error relative to theirs.
fig, axes = plt.subplots(2, 1, figsize=(8, 5), sharex=True, sharey=True, layout="constrained")
for ax, (name, model) in zip(axes, models.items(), strict=True):
    found = model.fit(X, y).coef_
    kept = np.flatnonzero(found)
    right = np.intersect1d(kept, true).size
    error = np.linalg.norm(found - coef) / np.linalg.norm(coef)
    print(f"{name:8} {kept.size:3d} kept, {right} of {true.size} true, relative error {error:.3f}")
    ax.axhline(0, color="grey", linewidth=0.5)
    ax.plot(true, coef[true], "o", markerfacecolor="none", color="black", label="true")
    ax.vlines(kept, 0, found[kept], color="#08306b", linewidth=1.5, label="found")
    ax.set(title=f"{name}: {kept.size} kept", ylabel="coefficient")
axes[0].legend(frameon=False, ncols=2)
axes[1].set_xlabel("feature")

# %%
# Each coefficient comes with the posterior of the model that was kept.
model = models["laconism"]
draws, _ = model.posteriors_[0].sample(4000, random_state=0)
print("\nfeature   true  found   sd")
for feature, sd in zip(model.relevance_, draws.std(axis=0), strict=True):
    print(f"{feature:7d} {coef[feature]:6.2f} {model.coef_[feature]:6.2f} {sd:4.2f}")

plt.show()
