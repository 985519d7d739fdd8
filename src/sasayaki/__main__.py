"""`python -m sasayaki`: the same as the command `sasayaki`."""

import sys

from sasayaki.cli.start import main

sys.exit(main())
