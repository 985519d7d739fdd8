"""`python -m sasayaki`: the same as the command `sasayaki`."""

import sys

from sasayaki.cli.main import main

sys.exit(main())
