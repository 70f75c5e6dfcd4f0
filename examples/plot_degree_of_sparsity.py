"""Sparse is not always better
===========================

Two problems in the plane. The cross needs few kernels, the spiral many. The shape ``q`` of the
generalized Gaussian prior ranges from nearly best subset (small) over the lasso (1) to ridge (2).
:class:`~laconism.SparseBayesClassifierCV` chooses it by cross-validation along a warm-started path. With
``one_standard_error=True`` it takes the sparsest candidate within one standard error of the best; with
``race=False`` it tries every candidate on every fold, so that all of them can be drawn.
"""

import matplotlib.pyplot as plt

from laconism import SparseBayesClassifierCV
from laconism.datasets import make_cross, make_spiral
from laconism.inspection import BoundaryDisplay, SparsityPathDisplay

problems = {
    "cross": (make_cross(120, random_state=0), make_cross(2_000, random_state=1), [2.0]),
    "spiral": (make_spiral(120, random_state=0), make_spiral(2_000, random_state=1), [20.0]),
}
fig, axes = plt.subplots(2, 2, figsize=(11, 8.5), layout="constrained")
for row, (name, (train, test, gammas)) in zip(axes, problems.items(), strict=True):
    model = SparseBayesClassifierCV(kernel="rbf", gammas=gammas, one_standard_error=True, race=False)
    model.fit(*train)
    best = model.best_estimator_
    right = model.score(*test)
    print(
        f"{name:7} q = {model.best_params_['prior__q']:.1f}: {best.n_relevant_:3d} of "
        f"{len(train[0])} kernels, {right:.1%} right"
    )
    SparsityPathDisplay.from_estimator(model, ax=row[0])
    BoundaryDisplay.from_estimator(model, *train, ax=row[1], grid_resolution=120)
    row[0].set_title(name)
plt.show()
