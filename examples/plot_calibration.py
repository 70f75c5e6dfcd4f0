"""Are the probabilities calibrated?
=================================

A probability of 0.9 should come true nine times out of ten. ``predict_proba`` integrates over the
posterior of the weights, so a model fitted to few rows is less confident. The mean weights alone ignore
that uncertainty. With 30 training rows the difference is visible. The bars are confidence intervals of
the frequencies; the panel below counts the observations behind each point.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import log_loss

from laconism import SparseBayesClassifier
from laconism.datasets import make_ripley
from laconism.inspection import CalibrationDisplay

X_test, y_test = make_ripley(300, random_state=99)
model = SparseBayesClassifier(kernel="rbf", gamma=2.0)
said = {"mean weights": [], "integrated": []}
for seed in range(20):
    model.fit(*make_ripley(30, random_state=seed))
    posterior, likelihood = model.posteriors_[0], model.likelihoods_[0]
    latent = model.basis_.columns(X_test) @ posterior.mean + posterior.intercept
    said["mean weights"].append(np.exp(likelihood.log_link(latent)))
    said["integrated"].append(model.predict_proba(X_test)[:, 1])

# %%
# All twenty models together. Below the diagonal on the right and above it on the left is too sure.
happened = np.tile(y_test, 20)
fig, axes = plt.subplots(1, 2, figsize=(10, 5.6), layout="constrained")
for ax, (name, draws) in zip(axes, said.items(), strict=True):
    p = np.concatenate(draws)
    CalibrationDisplay.from_predictions(happened, p, name=name, ax=ax)
    sure = (p < 0.05) | (p > 0.95)
    wrong = np.mean((p[sure] > 0.5) != happened[sure])
    print(
        f"{name:13} log-loss {log_loss(happened, p):.3f}; says at least 95 % for {sure.mean():.0%} of "
        f"the points, and is wrong on {wrong:.1%} of those"
    )
plt.show()
