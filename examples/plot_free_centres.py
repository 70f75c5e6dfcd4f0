"""Fewer kernels with free centres
===============================

Kernels stand on training rows, which are where they happen to be. With ``centres="free"`` the centres of
small models follow the gradient of the loss, the distance from the dense reference. Fewer kernels then
lose as little, which counts where a model must be small.
"""

import matplotlib.pyplot as plt
import numpy as np

from laconism import LaconicClassifier
from laconism.datasets import make_ripley

X, y = make_ripley(250, random_state=0)
models = {centres: LaconicClassifier("rbf", centres=centres).fit(X, y) for centres in ("rows", "free")}
for centres, model in models.items():
    lost = next(point.nats for point in model.path_ if point.kernels == 6)
    print(f"{centres}: six kernels lose {lost:.3f} nats per row")

# %%
# On the left models of six kernels; on the right what a model of each size loses.

fig, (left, right) = plt.subplots(1, 2, figsize=(8, 3.6), layout="constrained")
left.scatter(*X.T, c=y, s=6, cmap="coolwarm", alpha=0.35, linewidths=0)
grid = np.stack(np.meshgrid(np.linspace(-1.4, 1.1, 80), np.linspace(-0.4, 1.3, 80)), axis=-1)
styles = (("rows", "C7", "s"), ("free", "k", "o"))
for centres, colour, marker in styles:
    few = models[centres].with_kernels(6)
    p = few.predict_proba(grid.reshape(-1, 2))[:, 1].reshape(80, 80)
    left.contour(*np.moveaxis(grid, -1, 0), p, levels=[0.5], colors=colour)
    left.plot(*few.relevance_vectors_.T, marker, color=colour, label=f"{centres}: six centres")
    path = [(point.kernels, point.nats) for point in models[centres].path_ if 0 < point.kernels <= 20]
    right.semilogy(*zip(*path, strict=True), marker + "-", color=colour, label=centres)
right.axhline(models["rows"].tolerance_, color="0.6", linestyle=":")
left.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
right.set(xlabel="kernels", ylabel="nats lost per row")
right.legend(frameon=False)
plt.show()
