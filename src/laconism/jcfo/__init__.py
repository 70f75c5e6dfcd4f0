"""Joint classifier and feature optimisation: kernel weights and feature scales are found together."""
