r"""The price of searching
======================

The largest of :math:`p` standard normal variables is about :math:`\sqrt{2\log p}`. A prior with a fixed
threshold of two standard errors therefore lets noise in, and more of it the more candidates there are.
With ``strength="auto"`` the Jeffreys prior raises its threshold with the number of candidates, and
estimates the kept weights without that charge. Here five features matter; the others are noise.
"""

import matplotlib.pyplot as plt
import numpy as np

from laconism import SparseBayesRegressor
from laconism.datasets import make_sparse_regression
from laconism.priors import Jeffreys

candidates = [20, 100, 500, 2000]
priors = {"strength 1, as in the papers": Jeffreys(strength=1.0), "strength auto": Jeffreys()}
wrong = {name: [] for name in priors}
missed = {name: [] for name in priors}
for p in candidates:
    for name, prior in priors.items():
        found = []
        for seed in range(6):
            X, y, coef = make_sparse_regression(80, p, n_relevant=5, random_state=seed)
            kept = SparseBayesRegressor(prior).fit(X, y).relevance_
            true = np.flatnonzero(coef)
            found.append([np.setdiff1d(kept, true).size, np.setdiff1d(true, kept).size])
        mean = np.mean(found, axis=0)
        wrong[name].append(mean[0])
        missed[name].append(mean[1])

# %%
# What the threshold costs in noise that is let in, and what in features that are missed.
print(f"{'candidates':>10}" + "".join(f"{name:>34}" for name in priors))
for k, p in enumerate(candidates):
    cells = "".join(
        f"{f'{wrong[name][k]:.1f} of noise, {missed[name][k]:.1f} missed':>34}" for name in priors
    )
    print(f"{p:10d}{cells}")

# %%
fig, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
for (name, counts), style in zip(wrong.items(), ("s--", "o-"), strict=True):
    ax.plot(candidates, counts, style, label=name)
ax.set(xscale="log", xlabel="candidate features", ylabel="features of noise that were kept")
ax.set_xticks(candidates, candidates)
ax.minorticks_off()
ax.legend(frameon=False)
plt.show()
