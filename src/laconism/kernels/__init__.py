"""Kernels: positive semi-definite functions of two points."""

from ._base import Kernel, Product, Sum
from ._families import DotProduct, Stationary
from ._resolve import REGISTRY, resolve_kernel
from .callable import FunctionKernel
from .linear import Linear
from .matern import Matern
from .polynomial import Polynomial
from .rbf import RBF
from .scaled import Scaled

__all__ = [
    "RBF",
    "REGISTRY",
    "DotProduct",
    "FunctionKernel",
    "Kernel",
    "Linear",
    "Matern",
    "Polynomial",
    "Product",
    "Scaled",
    "Stationary",
    "Sum",
    "resolve_kernel",
]
