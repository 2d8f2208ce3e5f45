"""`python -m netkv` is `netkv`."""

import sys

from netkv.cli import main

if __name__ == "__main__":
    sys.exit(main())
