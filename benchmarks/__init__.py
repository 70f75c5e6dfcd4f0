"""Speed, memory and accuracy beside the rivals, in one run, as ratios: ``python -m benchmarks``."""
