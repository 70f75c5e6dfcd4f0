"""``python -m laconic.cli``."""

from . import main

if __name__ == "__main__":
    main()
