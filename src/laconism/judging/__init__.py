"""How candidates are judged: left-out rows, comparisons, folds, calibration, prices."""
