"""The methods that several experiments compare: ours, and rivals from their own libraries.

Whatever a rival leaves open is chosen by cross-validation within its training rows.
"""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.linear_model import LogisticRegression
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.svm import SVC

from laconism import LaconicClassifier, RVMClassifier, SparseBayesClassifier
from laconism.priors import Jeffreys
from laconism.solvers import EM

from ._judge import bits

# Step 2 and step 4 of section 3.3 of paper 000: the ridge start, and delta.
LETTER = {"solver": EM(ridge=1e-6, stop="weights"), "tol": 1e-3, "max_iter": 5000}


def letter(**options):
    """Return the papers' classifier by the papers' algorithm: Jeffreys prior, EM from a ridge start."""
    return SparseBayesClassifier(Jeffreys(strength=1.0), penalize_intercept=True, **LETTER, **options)


def searched(model, grid, folds=5):
    """Return a model whose parameters are chosen by stratified cross-validation."""
    return GridSearchCV(model, grid, cv=StratifiedKFold(folds, shuffle=True, random_state=0))


def svc(gamma):
    """Return a support vector machine of the same kernel, C chosen by 5-fold cross-validation."""
    return searched(SVC(gamma=gamma), {"C": 10.0 ** np.arange(-2, 5)})


def gaussian_process(width):
    """Return a Gaussian process classifier whose length scale climbs the evidence from this width."""
    kernel = ConstantKernel(1.0, (1e-2, 1e4)) * RBF(width, (1e-2, 1e3))
    return GaussianProcessClassifier(kernel, random_state=0)


def mlp():
    """Return a network of ten hidden units, its weight decay chosen by 3-fold cross-validation."""
    net = MLPClassifier((10,), solver="lbfgs", max_iter=500, random_state=0)
    return searched(net, {"alpha": [1e-2, 1e-1, 1.0, 10.0]}, folds=3)


class MixtureClassifier(ClassifierMixin, BaseEstimator):
    """One ``GaussianMixture`` per class, its size chosen by BIC; the class of the largest density."""

    def fit(self, X, y):
        self.classes_, counts = np.unique(y, return_counts=True)
        self.prior_ = counts / len(y)
        self.mixtures_ = [self._mixture(X[y == label]) for label in self.classes_]
        return self

    @staticmethod
    def _mixture(X):
        tried = [
            GaussianMixture(k, covariance_type="diag", reg_covar=1e-2, random_state=0).fit(X)
            for k in range(1, 1 + min(4, len(X)))
        ]
        return min(tried, key=lambda mixture: mixture.bic(X))

    def predict(self, X):
        scores = np.column_stack([mixture.score_samples(X) for mixture in self.mixtures_])
        return self.classes_[np.argmax(scores + np.log(self.prior_), axis=1)]


def kernel_machines(gamma):
    """Return makers of the methods of the benchmark tables, by name."""
    rbf = {"kernel": "rbf", "gamma": gamma}
    return {
        "laconism EM": lambda: letter(**rbf),
        "laconism": lambda: SparseBayesClassifier(penalize_intercept=True, **rbf),
        "LaconicClassifier": LaconicClassifier,
        "laconism RVM": lambda: RVMClassifier(calibrate=False, **rbf),
        "laconism VRVM": lambda: RVMClassifier(inference="variational", calibrate=False, **rbf),
        "SVC": lambda: svc(gamma),
        "GaussianProcess": lambda: gaussian_process((2 * gamma) ** -0.5),
        "MLP": mlp,
        "LogisticRegression": lambda: LogisticRegression(C=np.inf, max_iter=2000),
        "LDA": LinearDiscriminantAnalysis,
        "kNN": lambda: searched(KNeighborsClassifier(), {"n_neighbors": [1, 3, 5, 9, 15, 25]}),
    }


def kept(model):
    """Return how many kernels (or support vectors) a fitted model needs, None if that means nothing."""
    model = getattr(model, "best_estimator_", model)
    if hasattr(model, "n_relevant_"):
        return float(model.n_relevant_)
    return float(model.n_support_.sum()) if isinstance(model, SVC) else None


def classify(model, split):
    """Fit and return errors, error rate, which cases; kernels and log-loss where there are such."""
    model.fit(split.X, split.y)
    wrong = model.predict(split.X_test) != split.y_test
    found = {"errors": float(wrong.sum()), "error": float(wrong.mean()), "wrong": bits(wrong)}
    if (count := kept(model)) is not None:
        found["kernels"] = count
    if hasattr(model, "predict_proba"):
        proba = model.predict_proba(split.X_test)
        column = np.searchsorted(model.classes_, split.y_test)
        own = proba[np.arange(len(column)), column]
        found["log_loss"] = float(-np.log(np.maximum(own, 1e-12)).mean())
    return found
