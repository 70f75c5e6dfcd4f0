"""Three kinds of inference for the RVM
====================================

A relevance vector machine has one precision for each weight. They can be found from the empty model up
(``"sequential"``), from the full model down (``"evidence"``), or with distributions of their own
(``"variational"``). The first two maximise the same evidence from opposite directions, and may end in
different optima; the third maximises a bound on it. No step of the three decreases its objective.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons
from sklearn.metrics import log_loss

from laconism import RVMClassifier
from laconism.inspection import BoundaryDisplay

X, y = make_moons(200, noise=0.25, random_state=0)
X_test, y_test = make_moons(4_000, noise=0.25, random_state=1)
fig, axes = plt.subplots(1, 3, figsize=(14, 4.4), layout="constrained")
for ax, inference in zip(axes, ("sequential", "evidence", "variational"), strict=True):
    model = RVMClassifier(gamma=1.0, inference=inference).fit(X, y)
    climbs = np.diff([record.objective for record in model.history_]).min() > -1e-9
    loss = log_loss(y_test, model.predict_proba(X_test))
    print(
        f"{inference:12} {model.n_relevant_:2d} kernels, {model.n_iter_:3d} iterations, "
        f"log-loss {loss:.3f}, objective never drops: {climbs}"
    )
    BoundaryDisplay.from_estimator(model, X, y, ax=ax, grid_resolution=100)
    ax.set_title(f"{inference}: {ax.get_title()}")
plt.show()
