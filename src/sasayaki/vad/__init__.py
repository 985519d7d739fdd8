"""Where in a recording somebody speaks."""
