"""Whisper speech recognition for Python whose heart is the decoder."""

__version__ = "0.1.0"
