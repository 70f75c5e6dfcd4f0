"""Bridges to other packages; each is imported only when it is used."""

from .onnx import to_onnx
from .persistence import load, save
from .progress import ProgressBar

__all__ = ["ProgressBar", "load", "save", "to_onnx"]
