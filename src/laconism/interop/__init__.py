"""Bridges to other packages; each of those is imported only when it is used.

- ``whole_file``: files that are written completely or not at all
- ``persistence``: ``save`` and ``load``, models in files without pickle (skops); ``_archive`` bounds
  what a file takes
- ``onnx``: ``to_onnx``, models as graphs; its parts are ``_onnx_graph`` (nodes in numpy's notation),
  ``_onnx_rows`` (rows of any size), ``_onnx_special`` (special functions), ``_onnx_kernel``,
  ``_onnx_basis`` (columns), ``_onnx_model`` (latents and predictions) and ``_onnx_pipeline`` (the steps
  before a model)
- ``progress``: ``ProgressBar``, a callback for terminals (rich)
"""

from typing import TYPE_CHECKING

from .._lazy import lazy as _lazy

if TYPE_CHECKING:
    from .onnx import to_onnx
    from .persistence import load, save
    from .progress import ProgressBar

__all__ = ["ProgressBar", "load", "save", "to_onnx"]

_HOMES = {"onnx": "to_onnx", "persistence": "load save", "progress": "ProgressBar"}
if not TYPE_CHECKING:  # to type checkers every name would be right
    __getattr__, __dir__ = _lazy(__name__, _HOMES)
