"""More rows, not more kernels
===========================

The support vectors of an SVM grow in proportion to the data, because every error is one. A sparse
Bayesian model needs as many kernels as the shape of the boundary requires, and the cost of a prediction
follows. No kernel matrix is formed, so many rows can be fitted.
"""

import matplotlib.pyplot as plt
from sklearn.svm import SVC

from laconism import SparseBayesClassifier
from laconism.datasets import make_ripley

X_test, y_test = make_ripley(4_000, random_state=99)
sizes = [250, 1_000, 4_000, 16_000]
kept = {"SVC": [], "laconism": []}
print("   rows   kernels, % errors:           SVC         laconism")
for n in sizes:
    X, y = make_ripley(n, random_state=0)
    ours = SparseBayesClassifier(kernel="rbf", gamma=2.0).fit(X, y)
    theirs = SVC(gamma=2.0).fit(X, y)
    kept["SVC"].append(int(theirs.n_support_.sum()))
    kept["laconism"].append(ours.n_relevant_)
    errors = [100 * (1 - model.score(X_test, y_test)) for model in (theirs, ours)]
    cells = [f"{kept[name][-1]:>8d}, {e:4.1f}" for name, e in zip(kept, errors, strict=True)]
    print(f"{n:7d}" + " " * 21 + "".join(f"{cell:>16}" for cell in cells))

# %%
fig, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
for (name, counts), style in zip(kept.items(), ("s--", "o-"), strict=True):
    ax.loglog(sizes, counts, style, label=name)
ax.set(xlabel="training rows", ylabel="kernels in the model")
ax.legend(frameon=False)
plt.show()
