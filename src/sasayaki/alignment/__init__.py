"""From tokens to times."""
