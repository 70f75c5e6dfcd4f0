"""EM, Newton and proximal Newton
==============================

All models here are fitted by repeating one step: a Gaussian that touches the likelihood, a Gaussian that
touches the prior, and a weighted ridge problem. EM takes the papers' bound for the likelihood; Newton's
method takes its curvature. The stationary points are the same, the number of steps is not. Under the
Laplace prior both approach an exact zero slowly, because the touching Gaussian gets ever narrower; the
exact convex solver (proximal Newton) stops with a certificate.
"""

import matplotlib.pyplot as plt

from laconism import SparseBayesClassifier
from laconism.datasets import make_ripley
from laconism.inspection import ConvergenceDisplay
from laconism.priors import Gaussian, Laplace
from laconism.solvers import EM, Newton, Proximal

X, y = make_ripley(120, random_state=0)
ways = {
    "Gaussian prior": (Gaussian(), {"EM": EM(), "Newton": Newton(start="ridge")}),
    "Laplace prior": (
        Laplace(),
        {"EM": EM(), "Newton": Newton(start="ridge"), "proximal": Proximal()},
    ),
}
fits = {
    title: {
        name: SparseBayesClassifier(prior, kernel="rbf", gamma=2.0, solver=solver, max_iter=5_000)
        for name, solver in solvers.items()
    }
    for title, (prior, solvers) in ways.items()
}

# %%
# Each of the two objectives is convex: every solver must end at the same value.
for title, models in fits.items():
    for name, model in models.items():
        last = model.fit(X, y).history_[-1]
        print(
            f"{title:14} {name:9} {model.n_iter_:5d} iterations, objective {last.objective:.3f}, "
            f"{model.n_relevant_:3d} kernels"
        )

# %%
fig, axes = plt.subplots(1, 2, figsize=(10, 4), sharey=True, layout="constrained")
for ax, (title, models) in zip(axes, fits.items(), strict=True):
    best = max(model.history_[-1].objective for model in models.values())
    for (name, model), style in zip(models.items(), ("-", "--", "o:"), strict=False):
        gap = [max(best - record.objective, 1e-9) for record in model.history_]
        ax.plot(range(1, len(gap) + 1), gap, style, label=name)
    ax.set(xscale="log", yscale="log", xlabel="iteration", title=title)
    ax.legend(frameon=False)
axes[0].set_ylabel("objective below the best (nats)")
plt.show()

# %%
# What EM does all that time: it approaches every zero, and reaches it late.
display = ConvergenceDisplay.from_estimator(fits["Laplace prior"]["EM"])
for ax in (display.ax_, display.active_ax_):
    ax.set_xscale("log")
plt.show()
