"""The flagship: a dense reference, projected onto few kernels or features.

``estimators`` holds the two public classes. Their fit (:func:`~laconism.flagship.fit.fit_laconic`) has
these steps:

1. ``rows`` merges duplicates, ``settings`` reads the parameters once, and ``tasks`` holds two objects
   for what differs between labels and values; one of them is passed to all later steps.
2. ``candidates`` fits each candidate: a kernel family and, on wide data, the features themselves.

   a. ``hyperparameters`` chooses width, precision, prior and feature weights, with ``search``
      (references on some rows), ``score_grid`` (coordinate ascent), ``feature_weights`` and ``ard`` (by
      slopes and by the evidence) and ``kernel_family``; ``choice`` is the result.
   b. ``references`` fits the dense reference of each output on all rows, with ``dense_reference``,
      ``reference`` (the fitted model) and ``reference_features`` (its feature maps).
   c. The task calibrates the references and couples several classes.
   d. ``paths`` builds the models of every size with ``build_path``, from the dense references and, on
      ``wide`` data, from references under sparse priors (``sparse_prior``, ``sparse_reference``).
      ``projection`` chooses columns and projects posteriors, ``wide_projection`` does so for many
      features, and ``prior_variance`` adds variance far from the kernels.
   e. ``paths`` selects the prior and the size by the left-out log density.

3. ``fit`` takes a later candidate only if it is clearly better (``rules``); so does ``heavy_tails`` for
   Student's noise.
4. ``path_model`` publishes the model of the selected size from its ``path``, and other sizes on demand.
"""

from .estimators import LaconicClassifier, LaconicRegressor

__all__ = ["LaconicClassifier", "LaconicRegressor"]
