"""Gaussian approximations of a posterior under given precisions.

- ``mode``: the mode by Newton's method, its curvature and evidence (Laplace's approximation).
- ``shared_precision``: one precision for all weights.
- ``moment_matching``: expectation propagation for labels.
- ``first_precision``: precisions of a signal-to-noise ratio of one, to start from.
- ``signal_to_noise``: the evidence of a dense model for all signal-to-noise ratios at once.
"""
