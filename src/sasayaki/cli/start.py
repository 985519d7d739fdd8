"""Where the command starts: an interruption while the rest is imported, or at the very end, shows no traceback."""

from __future__ import annotations

import signal
import sys


def main() -> int:
    """Run the command line and give its exit code."""
    try:
        from sasayaki.cli.main import main as run

        code = run()
    except KeyboardInterrupt:
        sys.stderr.write("sasayaki: interrupted\n")
        code = 130
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return code
