"""Every table and figure of the five papers, re-run beside the rivals they name."""
