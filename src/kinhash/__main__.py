"""`python -m kinhash`: the command line."""

import sys

from kinhash.cli import main

sys.exit(main())
