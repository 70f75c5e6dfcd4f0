"""What every estimator shares: validation, tasks, publishing, predictions, searches, callbacks.

``kernel_model``: the template of every fit. ``validation``: checks of data and settings. ``tasks``:
labels or values. ``bases``: columns from settings. ``output``: the fit of one output. ``fit_output``:
that fit under a prior that selects columns. ``noise_search``: repeated fits with more noise.
``published``: fitted attributes and latents. ``predictions``, ``multiclass``: from latents to
predictions. ``calibration``: by fits without each part of the rows.
``far_variance``: error bars far from the data. ``search``: the base of all cross-validated
searches. ``effects``: what features and pairs of them explain under an additive kernel. ``callbacks``,
``threads``: progress, and one BLAS thread.
"""
