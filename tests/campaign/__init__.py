"""Break campaigns: drawn cases of everything that may go wrong, for as long as one likes.

``make campaign MINUTES=30`` runs them, or, from the root of the repository,

    PYTHONPATH=src:tests python -m campaign --minutes 30 --seed 1 [--only NAME]

``fuzz.py`` fits drawn estimators to drawn rows (``draw.py``) and checks what must hold of every answer,
``files.py`` loads damaged and crafted model files, ``kills.py`` ends commands at any moment and fills
the disk, ``tables.py`` gives odd tables to the command line, ``graphs.py`` compares ONNX graphs with
their models. ``runner.py`` shares the time among them. Each case is made from one integer, so

    from campaign import case
    case("fuzz", seed=1_000_123)

does it again. ``test_campaign.py`` runs a few cases of each in ``make test``, so that they do not rot.
"""

import sys

# dask looks for a package of that name, and would find tests/sparse where tests is on the path.
sys.modules.setdefault("sparse", None)

from campaign.runner import case  # noqa: E402

__all__ = ["case"]
