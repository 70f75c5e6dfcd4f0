"""A kernel machine that drops noisy features
==========================================

In a kernel of all features every noise feature adds noise to every distance.
``basis="per_feature_rbf"`` puts one-dimensional kernels on each feature, and
:class:`~laconism.GridRVMClassifier` learns one precision for each feature and each row of that grid.
Two features of this problem carry signal, the others are noise.
"""

import matplotlib.pyplot as plt

from laconism import GridRVMClassifier, RVMClassifier
from laconism.datasets import make_mixture, mixture_means
from laconism.inspection import ConvergenceDisplay

means = mixture_means(random_state=0)
noises, draws = [0, 5, 10, 15], 3
wrong = {"RVM, kernel of all features": [], "grid of features by rows": []}
models = {
    "RVM, kernel of all features": RVMClassifier(),
    "grid of features by rows": GridRVMClassifier(combine="sum", basis="per_feature_rbf"),
}
for n_noise in noises:
    test = make_mixture(2_000, n_noise=n_noise, means=means, random_state=99)
    train = [make_mixture(100, n_noise=n_noise, means=means, random_state=k) for k in range(draws)]
    for name, model in models.items():
        scores = [model.fit(X, y).score(*test) for X, y in train]
        wrong[name].append(100 * (1 - sum(scores) / draws))

# %%
# The relevance of a feature is the effective number of parameters that it has in the model.
grid = models["grid of features by rows"]
for feature, relevance in enumerate(grid.mode_relevance_[0]):
    if relevance > 0:
        kind = "signal" if feature < 2 else "noise"
        print(f"feature {feature:2d} ({kind}): {relevance:.1f} effective parameters")

# %%
fig, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
for (name, errors), style in zip(wrong.items(), ("s--", "o-"), strict=True):
    ax.plot(noises, errors, style, label=name)
    print(f"{name:28}" + "".join(f"{error:6.1f}" for error in errors) + "  % errors")
ax.set(xlabel="features of noise", ylabel="errors on new points, %")
ax.legend(frameon=False)
plt.show()

# %%
# The bound on the evidence rises until the end, while slices of the grid are pruned one by one.
ConvergenceDisplay.from_estimator(grid)
plt.show()
