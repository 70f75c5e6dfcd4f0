"""Features that matter only together
==================================

The class is the sign of a product of two features. Each alone is independent of the class, so no test
of one feature at a time and no linear model finds them. JCFO learns a weight for every feature inside
the kernel together with the weights of the kernels. Both become exactly zero where they are not needed.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_selection import f_classif

from laconism import JCFOClassifier, RVMClassifier, SparseBayesClassifier
from laconism.inspection import RelevanceDisplay

rng = np.random.default_rng(0)
X, X_test = rng.normal(size=(200, 20)), rng.normal(size=(3_000, 20))
y, y_test = X[:, 3] * X[:, 7] > 0, X_test[:, 3] * X_test[:, 7] > 0

# %%
# One feature at a time, or all of them at once: both fail, for opposite reasons.
_, p_values = f_classif(X, y)
print(f"p-values of features 3 and 7: {p_values[3]:.2f}, {p_values[7]:.2f}")
models = {
    "linear": SparseBayesClassifier(),
    "kernel of all features": RVMClassifier(),
    "JCFO": JCFOClassifier(),
}
for name, model in models.items():
    print(f"{name:23} {model.fit(X, y).score(X_test, y_test):.1%} right")

# %%
# The feature weights that are left, and the number of kernels.
joint = models["JCFO"]
print(f"features {joint.get_support(indices=True)}, {joint.n_relevant_} of {len(X)} kernels")
RelevanceDisplay.from_estimator(joint)
plt.show()
