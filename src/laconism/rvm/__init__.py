"""Relevance vector machines, on rows and on grids of features: each weight has a learnt precision."""
