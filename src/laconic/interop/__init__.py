"""Bridges to other packages; each is imported only when it is used."""

from .progress import ProgressBar

__all__ = ["ProgressBar"]
