"""The flagship: a dense reference, projected onto few kernels or features.

``estimators`` holds the two public classes. Their fit (:func:`~laconism.flagship.fit.fit_laconic`) has
these steps:

1. ``rows`` merges duplicates and sorts the rows, ``settings`` reads the parameters once, and ``tasks``
   holds two objects for what differs between labels and values.
2. ``candidates`` lists the candidates: those of ``kernel_candidates``, of ``learnt_candidates``, of
   ``feature_candidates`` and of ``heavy_tails``; ``candidate`` says what a candidate is, ``law`` checks
   one.

   a. ``search`` finds width and precision with ``score_grid`` (coordinate ascent) and ``kernel_family``;
      ``feature_weights`` and ``ard`` learn feature weights by slopes and by the ``evidence``,
      ``learnt_kernel`` learns additive kernels.
   b. ``references`` fits the dense reference of each output, with ``reference`` (the fitted model) and
      ``reference_features`` (its feature maps); ``features`` does so on the features themselves, and
      ``sparse_features`` under a sparse prior (``sparse_prior``); ``wide`` says when rows are few.

3. ``fit`` takes a later candidate only if it is clearly better (``rules``). Of many rows this is done
   on a sample (``many_rows``), and the posterior of the winner is that of all rows (``partitioned``).
4. ``build_path`` projects the winner onto every number of columns: ``projection`` chooses columns and
   projects posteriors, ``kernel_projection`` has the loss under the prior of a Gaussian process,
   ``wide_projection`` projects onto many features, ``path_loss`` compares the models of every size with
   the winner on left-out rows, ``free_centres`` moves the centres of small models if that is asked for,
   ``prior_variance`` adds variance far from the kernels, and ``path`` holds the models.
5. ``path_model`` publishes the model of the selected size, and other sizes on demand.
"""

from .estimators import LaconicClassifier, LaconicRegressor

__all__ = ["LaconicClassifier", "LaconicRegressor"]
