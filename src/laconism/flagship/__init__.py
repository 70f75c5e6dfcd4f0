"""The flagship: a dense reference, projected onto few kernels or features.

``estimators`` are the two public classes. Their fit (:func:`~laconism.flagship.fit.fit_laconic`) in the
order in which it happens:

1. ``rows`` merges duplicates, ``settings`` are the parameters, read once, and ``tasks`` are what differs
   between labels and values, in two objects that are passed to all that follows.
2. ``candidates``: a kernel family and, where rows are few, the features themselves are each fitted.

   a. ``hyperparameters`` chooses width, precision, prior and weights of features, with ``search``
      (references on some rows), ``score_grid`` (ascent on a grid), ``feature_weights`` and ``ard`` (by
      slopes and by the evidence) and ``kernel_family``; ``choice`` is the result.
   b. ``references`` fits the dense reference of each output on all rows, with ``dense_reference``,
      ``reference`` (the fitted value) and ``reference_features`` (its feature maps).
   c. The task calibrates the references and couples several classes.
   d. ``paths`` builds the models of every size with ``build_path``, to the dense references and, on
      ``wide`` data, to those of sparse priors (``sparse_prior``, ``sparse_reference``). ``projection``
      chooses columns and projects posteriors, ``wide_projection`` does so for many features, and
      ``prior_variance`` adds variance far from kernels.
   e. ``paths`` takes the prior and the size that predict left-out rows best.

3. ``fit`` takes a later candidate only if it is clearly better (``rules``), and so does ``heavy_tails``.
4. ``path_model`` publishes the model of the selected size from its ``path``, and any other size later.
"""

from .estimators import LaconicClassifier, LaconicRegressor

__all__ = ["LaconicClassifier", "LaconicRegressor"]
