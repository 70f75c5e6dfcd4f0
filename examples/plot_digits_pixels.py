"""Which pixels separate a three from an eight?
============================================

Handwritten digits of 8 by 8 pixels. Logistic regression uses all of them; the Jeffreys prior keeps a
few. The picture shows where they are: an eight is closed on the left, a three is open.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from laconism import SparseBayesClassifier
from laconism.inspection import ImageRelevanceDisplay

X, y = load_digits(return_X_y=True)
pair = np.isin(y, (3, 8))
X, X_test, y, y_test = train_test_split(X[pair], y[pair], test_size=0.5, random_state=0)

# %%
# Pixels are grey levels on one scale already; scikit-learn's penalty needs them standardised.
sparse = SparseBayesClassifier().fit(X, y)
search = GridSearchCV(
    LogisticRegression(max_iter=1_000), {"C": [0.01, 0.1, 1.0]}, scoring="neg_log_loss"
)
dense = make_pipeline(StandardScaler(), search).fit(X, y)
for name, model, kept in (
    ("laconism, Jeffreys", sparse, sparse.n_relevant_),
    ("logistic regression, ridge by CV", dense, np.count_nonzero(search.best_estimator_.coef_)),
):
    print(f"{name:34} {kept:2d} pixels, {np.mean(model.predict(X_test) == y_test):.1%} right")

# %%
# Discs are weights in favour of an eight; no weight favours a three. The image below is the class mean.
fig, axes = plt.subplots(1, 2, figsize=(9, 5), layout="compressed")
for ax, digit in zip(axes, (3, 8), strict=True):
    ImageRelevanceDisplay.from_estimator(sparse, (8, 8), image=X[y == digit].mean(axis=0), ax=ax)
    ax.set_title(f"on the mean of all {digit}s: {ax.get_title()}")
plt.show()
