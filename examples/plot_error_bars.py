"""Error bars away from the data
=============================

A sparse model of a few kernels is overconfident where no kernel reaches: its function is flat there, and
its variance is small. :class:`~laconism.RVMRegressor` adds a kernel at the new point, whose weight has
its prior variance, so the band widens away from the data. Both are shown beyond the range of the
observations, with a gap in the middle; the dotted line is the truth.
"""

import matplotlib.pyplot as plt
import numpy as np

from laconism import RVMRegressor, SparseBayesRegressor
from laconism.datasets import make_sinc
from laconism.inspection import RegressionBandDisplay

X, y = make_sinc(150, random_state=0)
there = (X[:, 0] < 0) | (X[:, 0] > 5)
X, y = X[there], y[there]
models = {
    "RVMRegressor": RVMRegressor(gamma=1 / 8),
    "SparseBayesRegressor": SparseBayesRegressor(kernel="rbf", gamma=1 / 8),
}
fig, axes = plt.subplots(2, 1, figsize=(8, 7), sharex=True, sharey=True, layout="constrained")
places = {"in the data": -5.0, "in the gap": 2.5, "far away": 30.0}
for ax, (name, model) in zip(axes, models.items(), strict=True):
    RegressionBandDisplay.from_estimator(model.fit(X, y), X, y, margin=0.4, ax=ax)
    ax.set_title(f"{name}: {ax.get_title()}")
    ax.plot(grid := np.linspace(-17, 17, 500), np.sinc(grid / np.pi), "k:")
    _, std = model.predict_dist(np.array(list(places.values()))[:, None])
    bars = ", ".join(f"{where} ± {s:.2f}" for where, s in zip(places, std, strict=True))
    print(f"{name:20} {bars}")
axes[0].set_xlabel("")
axes[0].get_legend().remove()
plt.show()
