"""What every estimator shares: validation, tasks, publishing, predictions, callbacks."""
