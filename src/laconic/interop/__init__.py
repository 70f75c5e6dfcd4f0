"""Bridges to other packages; each is imported only when it is used."""

from .persistence import load, save
from .progress import ProgressBar

__all__ = ["ProgressBar", "load", "save"]
