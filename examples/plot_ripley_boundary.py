"""A boundary drawn by a few kernels
=================================

Ripley's problem: two classes in the plane, each a mixture of two Gaussians; no rule errs on less than
8.9 % of new points. A Gaussian kernel sits on each of 250 training points. The Jeffreys prior keeps a
handful of them, and has nothing to tune. The squares mark the points whose kernels are left; the solid
line is probability 0.5, the dashed lines are 0.1 and 0.9.
"""

import matplotlib.pyplot as plt
from sklearn.metrics import log_loss

from laconism import SparseBayesClassifier
from laconism.datasets import make_ripley
from laconism.inspection import BoundaryDisplay

X, y = make_ripley(250, random_state=0)
X_test, y_test = make_ripley(10_000, random_state=1)

# %%
# The papers' kernel width is h = 0.5, which is ``gamma = 1 / (2 h**2) = 2``.
models = {
    "Jeffreys": SparseBayesClassifier("jeffreys", kernel="rbf", gamma=2.0),
    "Laplace, rate 1": SparseBayesClassifier("laplace", kernel="rbf", gamma=2.0),
}
fig, axes = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
for ax, (name, model) in zip(axes, models.items(), strict=True):
    model.fit(X, y)
    BoundaryDisplay.from_estimator(model, X, y, ax=ax)
    ax.set_title(f"{name}: {ax.get_title()}")
    error = 100 * (1 - model.score(X_test, y_test))
    loss = log_loss(y_test, model.predict_proba(X_test))
    kept = f"{model.n_relevant_:2d} of {len(X)} kernels"
    print(f"{name:16} {kept}, {error:4.1f} % errors, log-loss {loss:.3f}")

plt.show()
