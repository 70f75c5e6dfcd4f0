"""Kernels: positive semi-definite functions of two points.

- ``base``: the base classes, of the distance and of the inner product, sums and products.
- ``_pairwise``: distances and inner products of rows, dense or sparse, without overflow.
- ``_term``, ``_category_term``: the kernel of one feature, or of categories, in an additive kernel.
- ``linear``, ``polynomial``, ``rbf``, ``matern``, ``additive``: the kernels.
- ``scaled``: a weight for each feature; ``callable``: a function as a kernel.
- ``_resolve``: from the argument ``kernel=`` of an estimator to a kernel.
"""

from ._resolve import REGISTRY, resolve_kernel
from .additive import Additive
from .base import DotProduct, Kernel, Product, Stationary, Sum
from .callable import FunctionKernel
from .linear import Linear
from .matern import Matern
from .polynomial import Polynomial
from .rbf import RBF
from .scaled import Scaled

__all__ = [
    "RBF",
    "REGISTRY",
    "Additive",
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
