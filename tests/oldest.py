"""Print the lower bounds of the dependencies in pyproject.toml, as constraints for pip.

Those of the package, of its extras and of its tests: ``make test OLDEST=1`` installs exactly them.
"""

import re
import tomllib
from itertools import chain
from pathlib import Path

PYPROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"
BOUND = re.compile(r"([A-Za-z0-9._-]+)(?:\[[^]]*\])?>=([0-9.]+)")


def lower_bounds(pyproject):
    """Return the lowest version allowed for each distribution, the same in every list that names it."""
    project = pyproject["project"]
    lists = [project["dependencies"], *project["optional-dependencies"].values()]
    bounds = {}
    for requirement in chain(*lists, pyproject["dependency-groups"]["test"]):
        if requirement.startswith(f"{project['name']}["):
            continue  # an extra that names another
        name, version = BOUND.fullmatch(requirement).groups()
        if bounds.setdefault(name, version) != version:
            raise ValueError(f"{name} has two lower bounds: {bounds[name]} and {version}.")
    return bounds


if __name__ == "__main__":
    with PYPROJECT.open("rb") as file:
        found = lower_bounds(tomllib.load(file))
    print(*(f"{name}=={version}" for name, version in sorted(found.items())), sep="\n")
