"""`python -m node.training STAGE ...`: what `proofmesh train` does; torchrun starts it by this name."""

import sys

from node.training.cli import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
