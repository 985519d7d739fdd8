"""The command line: one module per command, joined in `sasayaki.cli.main`."""
