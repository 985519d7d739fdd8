"""Model files of every common format, read into one canonical form."""
