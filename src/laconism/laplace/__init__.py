"""Gaussian approximations of a posterior: the mode, one shared precision, moment matching."""
