"""A feature selector in a pipeline
================================

Without a kernel every classifier here is a selector as well: ``transform`` passes on the columns that
were kept, with their names. The relevance is drawn with two standard deviations of the posterior, so one
can see which weights the data determine.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from laconism import SparseBayesClassifier
from laconism.inspection import RelevanceDisplay

X, y = load_wine(return_X_y=True)
names = load_wine().feature_names

# %%
# Three cultivars of wine, thirteen measurements. One model against the rest for each class; a feature is
# kept if one of them needs it.
selector = SparseBayesClassifier("jeffreys")
model = make_pipeline(StandardScaler(), selector).fit(X, y)
print("kept:", ", ".join(names[k] for k in selector.relevance_))

fig, axes = plt.subplots(1, 3, figsize=(12, 3.2), layout="constrained")
for k, ax in enumerate(axes):
    RelevanceDisplay.from_estimator(model, output=k, feature_names=names, ax=ax)
    ax.set_title(f"cultivar {k}: {ax.get_title()}")
plt.show()

# %%
# Selection inside the pipeline is repeated in each fold, so nothing leaks.
forest = RandomForestClassifier(50, random_state=0)
for name, steps in {
    "the classifier itself": make_pipeline(StandardScaler(), SparseBayesClassifier()),
    "a forest on what it keeps": make_pipeline(StandardScaler(), SparseBayesClassifier(), forest),
    "a forest on everything": make_pipeline(StandardScaler(), forest),
}.items():
    scores = cross_val_score(steps, X, y, cv=5)
    print(f"{name:26} {scores.mean():.1%} right (standard deviation {scores.std():.1%})")
