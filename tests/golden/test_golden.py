"""Small fits give the numbers that they gave when ``golden.json`` was written."""

import pytest

from golden.cases import CASES, run
from golden.store import compare, read

STORED = read()


@pytest.mark.parametrize("name", CASES)
def test_golden(name):
    for package in CASES[name].needs:
        pytest.importorskip(package)
    assert name in STORED, f"{name} has no entry: see the docstring of tests/golden/__init__.py"
    compare(STORED[name], run(name))


def test_no_entry_is_without_a_case():
    assert not STORED.keys() - CASES.keys()
