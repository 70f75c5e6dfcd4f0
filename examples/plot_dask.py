"""200,000 rows in partitions
==========================

The rows are a Dask array of eight partitions, drawn where they are needed and never in one place. A
sample of 10,000 rows chooses kernel and width. The posterior comes from sums over all rows: each pass of
Newton's method returns a small matrix from every partition. The left picture shows the probability that
was fitted, beside the true one. The right picture shows what each pass took.
"""

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np
from distributed import Client

from laconism.dask import DaskLaconicClassifier

client = Client(processes=False, n_workers=2, threads_per_worker=1, dashboard_address=":0")


def latent(x0, x1):
    """Return the log-odds of the second class: a spiral."""
    return 4 * np.sin(2.5 * np.hypot(x0, x1) - np.arctan2(x1, x0))


rng = da.random.default_rng(0)
X = rng.uniform(-2, 2, size=(200_000, 2), chunks=(25_000, 2))
y = latent(X[:, 0], X[:, 1]) + rng.logistic(size=200_000, chunks=25_000) > 0

# %%
# The parameters are those of ``LaconicClassifier``. ``to_local`` returns the ordinary estimator.
model = DaskLaconicClassifier().fit(X, y)
print(f"{100 * (1 - model.score(X, y)):.1f} % errors on all rows")
for record in model.history_:
    print(f"{record.kind:9} {record.seconds:6.2f} s {record.bytes / 1e6:7.2f} MB")
local = model.to_local()
client.close()

# %%
# The shade and the thin lines are the model, the wide lines the truth, for probabilities of 0.1, 0.5 and
# 0.9. The squares are the kernels that the model kept.
side = np.linspace(-2, 2, 200)
xx0, xx1 = np.meshgrid(side, side)
fitted = local.predict_proba(np.column_stack([xx0.ravel(), xx1.ravel()]))[:, 1].reshape(xx0.shape)
true = 1 / (1 + np.exp(-latent(xx0, xx1)))
print(f"mean difference from the true probability: {np.abs(fitted - true).mean():.3f}")

fig, (left, right) = plt.subplots(
    1, 2, figsize=(11, 4.8), layout="constrained", gridspec_kw={"width_ratios": [1.2, 1]}
)
shade = left.pcolormesh(xx0, xx1, fitted, cmap="RdBu_r", vmin=0, vmax=1, alpha=0.6, rasterized=True)
levels = [0.1, 0.5, 0.9]
left.contour(xx0, xx1, true, levels=levels, colors="gold", linewidths=5, alpha=0.8)
left.contour(xx0, xx1, fitted, levels=levels, colors="k", linewidths=[0.8, 1.6, 0.8])
vectors = local.relevance_vectors_
left.plot(*vectors.T, "s", mfc="none", mec="k", ms=6)
left.set(xlabel="feature 0", ylabel="feature 1")
left.set_title(f"{local.n_relevant_} kernels (squares) for 200,000 rows")
fig.colorbar(shade, ax=left, label="probability")

passes = model.history_
place = np.arange(len(passes))
right.barh(place, [record.seconds for record in passes], color="#4a7fb5")
for k, record in enumerate(passes):
    right.text(record.seconds, k, f"  {record.bytes / 1e6:.2g} MB", va="center")
right.set_yticks(place, [record.kind for record in passes])
right.invert_yaxis()
right.margins(x=0.2)
right.set(xlabel="seconds", title="seconds and bytes of each pass")
plt.show()
