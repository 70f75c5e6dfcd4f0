"""What all tests share: the order in which they run, and that ``tests/sparse`` is no package."""

import importlib.util
import sys

# Dask imports the package ``sparse`` where it finds it. It must not find the folder of that name here.
if getattr(importlib.util.find_spec("sparse"), "origin", None) is None:
    sys.modules["sparse"] = None


def pytest_collection_modifyitems(items):
    """Long tests first: the last minutes then have short ones to fill both workers with."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)
