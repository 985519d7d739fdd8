"""Transcription of recordings of any length."""
