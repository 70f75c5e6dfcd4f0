"""What each feature does
======================

An additive kernel makes a model that can be read: the prediction is a constant, plus a curve for each
feature, plus a surface for each pair. :class:`~laconism.LaconicRegressor` compares such kernels with
others on rows left out, and learns which features and widths they need. ``effects_`` says how much of
the variance each part explains, and :class:`~laconism.inspection.ShapeDisplay` draws the parts.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes, make_friedman1

from laconism import LaconicRegressor, RVMRegressor
from laconism.inspection import ShapeDisplay
from laconism.kernels import Additive

# %%
# Ten features, of which five matter: Friedman's function is 10 sin(pi x0 x1) + 20 (x2 - 1/2)**2 +
# 10 x3 + 5 x4, with noise of variance one.
X, y = make_friedman1(200, n_features=10, noise=1.0, random_state=0)
model = LaconicRegressor().fit(X, y)
winner = next(trial.name for trial in model.candidates_ if trial.won)
print(f"the winner is the {winner}; {model.n_relevant_} of 200 kernels kept")
for effect in model.effects_[:7]:
    names = " with ".join(f"x{k}" for k in effect.features)
    print(f"{names:11} {effect.share:6.1%} of the variance")

# %%
# The curves have two standard deviations around them. Dashed is the truth, moved to the same height: the
# effects of x0 and x1 alone are the average of the sine over the other one.
display = ShapeDisplay.from_estimator(model, X, feature_names=[f"x{k}" for k in range(10)])
grid = np.linspace(0, 1, 200)
sine = 10 * np.sin(np.pi * np.outer(grid, grid)).mean(axis=0)
truth = {"x0": sine, "x1": sine, "x2": 20 * (grid - 0.5) ** 2, "x3": 10 * grid, "x4": 5 * grid}
for ax, curve in zip(display.axes_, display.curves, strict=False):
    true = truth.get(curve.name, 0 * grid)
    ax.plot(grid, true - true.mean() + curve.mean.mean(), "--", color="#a04a00", linewidth=1.5)
plt.show()

# %%
# Other estimators take such a kernel too. Of 442 patients ten measurements are known, and the
# progression of diabetes a year later. The kernel is centred on the data, so that effects are
# differences from the typical patient.
X, y = load_diabetes(return_X_y=True, scaled=False)
names = "age, sex, body mass index, blood pressure, cholesterol, LDL, HDL, cholesterol / HDL"
names = [*names.split(", "), "log triglycerides", "glucose"]
mean, deviation = X.mean(axis=0), X.std(axis=0)
kernel = Additive(order=1, gamma=0.1 / deviation**2, mean=mean, deviation=deviation)
model = RVMRegressor(kernel=kernel).fit(X, y)
found = [f"{names[effect.features[0]]} {effect.share:.0%}" for effect in model.effects_[:5]]
print("progression of diabetes:", ", ".join(found))
ShapeDisplay.from_estimator(model, X, feature_names=names, max_features=6)
plt.show()
