"""The data of the papers: seeded generators, and loaders of published data.

- ``_generators``: classification and regression problems of the papers.
- ``_grids``: samples that are tables, and the mixture of The Elements of Statistical Learning.
- ``_loaders``: published data from packages and files.
"""

from ._generators import (
    make_cross,
    make_gaussian_classes,
    make_offset_spirals,
    make_ripley,
    make_sinc,
    make_sparse_classification,
    make_sparse_regression,
    make_spiral,
    make_tibshirani,
)
from ._grids import make_grid, make_mixture, mixture_means
from ._loaders import (
    find_data_file,
    load_boston,
    load_breast_cancer,
    load_colon,
    load_crabs,
    load_esl_mixture,
    load_glass,
    load_ida,
    load_leukemia,
    load_npz,
    load_pima,
    load_ripley,
)

__all__ = [
    "find_data_file",
    "load_boston",
    "load_breast_cancer",
    "load_colon",
    "load_crabs",
    "load_esl_mixture",
    "load_glass",
    "load_ida",
    "load_leukemia",
    "load_npz",
    "load_pima",
    "load_ripley",
    "make_cross",
    "make_gaussian_classes",
    "make_grid",
    "make_mixture",
    "make_offset_spirals",
    "make_ripley",
    "make_sinc",
    "make_sparse_classification",
    "make_sparse_regression",
    "make_spiral",
    "make_tibshirani",
    "mixture_means",
]
