"""What all tests share: the order in which they run."""


def pytest_collection_modifyitems(items):
    """Long tests first: the last minutes then have short ones to fill both workers with."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)
