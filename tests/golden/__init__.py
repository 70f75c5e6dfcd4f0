"""Golden fits: numbers of small fits, so that a change of structure cannot change an answer unseen.

``cases.py`` says what is fitted, ``store.py`` what is recorded of it and how that is compared,
``golden.json`` holds the numbers, and ``test_golden.py`` fits everything anew and compares.

An entry is regenerated only if its answer is meant to change. Then run, from the root of the repository,

    PYTHONPATH=tests python -m golden.regenerate NAME ...

(without names: all of them), look at the differences that it prints, and commit the file together with
the change and its reason. A new case must pass ``--stability`` too: rows that differ by 1e-13 may not
change a recorded number by more than 1e-8, or another processor would fail the test. Quantities that do
are left out by ``skip`` in the case.

When the package or a public attribute is renamed: the package's name is in one import of
``cases.py`` and nowhere else; attributes are in ``store.py``, in ``NAMES`` and the functions below it.
"""
