"""How candidates are judged: left-out rows, comparisons, folds, calibration, prices.

``left_out``: leave-one-out, cross-validated refits and PRESS residuals. ``compare``: the rule for
"clearly better". ``price``: the gain, in nats, that a column must bring. ``calibrate``: scale, shift,
coupling, variance factor and noise from left-out rows. ``rows``: orders that do not depend on the order
of the rows. ``duplicates``: equal and nearly equal rows. ``folds``: folds of searches and tenths of the
rows. ``row_scores``, ``trials``, ``race``: log densities of single rows, the result of a candidate on
a fold, and a race of candidates over folds. ``ablate``: switches of candidates and rules, for their
ablation.
"""
