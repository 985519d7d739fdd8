"""Engines that run the encoder and the decoder of a Whisper model."""
