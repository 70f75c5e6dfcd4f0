"""How many kernels are enough?
============================

:class:`~laconism.LaconicClassifier` first fits a dense reference, a Gaussian process, and then projects
it onto the fewest kernels that predict the same. All sizes of the path are stored: ``with_kernels(k)``
is the model of any size, without another fit. So the price of sparsity can be seen, and chosen.
"""

import matplotlib.pyplot as plt
from sklearn.metrics import log_loss

from laconism import LaconicClassifier
from laconism.datasets import make_ripley
from laconism.inspection import BoundaryDisplay, ProjectionDisplay

X, y = make_ripley(250, random_state=0)
X_test, y_test = make_ripley(5_000, random_state=1)
model = LaconicClassifier().fit(X, y)
print(model.status_)
ProjectionDisplay.from_estimator(model)
plt.show()

# %%
# The same elbow on data that the model has not seen. What is lost is lost early; beyond the tolerance
# more kernels change nothing that matters.
sizes = [1, 2, 3, 5, 8, model.n_relevant_, len(model.path_) - 1]
print("kernels  log-loss  right")
for k in sorted(set(sizes)):
    smaller = model.with_kernels(k)
    loss = log_loss(y_test, smaller.predict_proba(X_test))
    print(f"{k:7d}  {loss:8.3f}  {smaller.score(X_test, y_test):5.1%}")

# %%
# Three kernels already give a similar boundary.
fig, axes = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
for ax, k in zip(axes, (3, model.n_relevant_), strict=True):
    BoundaryDisplay.from_estimator(model.with_kernels(k), X, y, ax=ax)
plt.show()
