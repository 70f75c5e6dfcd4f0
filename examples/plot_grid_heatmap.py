"""Which rows and columns of a table matter?
=========================================

Each sample is a table, sensors by hours, and the target depends on a few sensors at a few hours. A model
with one precision for each entry has to find every weight separately.
:class:`~laconism.GridRVMRegressor` has one precision for each sensor and one for each hour, so the
entries of a slice share their evidence.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import RidgeCV

from laconism import GridRVMRegressor, RVMRegressor
from laconism.datasets import make_grid
from laconism.inspection import GridRelevanceDisplay

sensors, hours = 16, 24
shape = (sensors, hours)
X, y, coef = make_grid(400, shape, relevant=([2, 3, 11], [7, 8, 9, 18, 19]), noise=0.5, random_state=0)
X, X_test, y, y_test = X[:300], X[300:], y[:300], y[300:]

# %%
# Errors of the weights, relative to their length, and on new tables.
models = {
    "ridge": RidgeCV(np.logspace(-2, 4, 25)),
    "RVM, a precision per entry": RVMRegressor(kernel=None),
    "grid, product of precisions": GridRVMRegressor(shape, combine="product"),
    "grid, sum of precisions": GridRVMRegressor(shape, combine="sum"),
}
for name, model in models.items():
    model.fit(X.reshape(len(X), -1), y)
    off = np.linalg.norm(np.reshape(model.coef_, shape) - coef) / np.linalg.norm(coef)
    score = model.score(X_test.reshape(len(X_test), -1), y_test)
    print(f"{name:28} relative error of the weights {off:.2f}, R2 on new tables {score:.2f}")

# %%
# White is exactly zero; the bars are the effective numbers of parameters of each slice.
GridRelevanceDisplay.from_estimator(
    models["grid, product of precisions"], labels=("sensor", "hour of the day")
)
plt.show()
