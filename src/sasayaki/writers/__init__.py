"""Transcriptions as files: txt, json, srt, vtt and tsv, one module per format."""

from sasayaki.writers.files import check_target, prepare_folder, write_text
from sasayaki.writers.registry import FORMATS, Writer, render, write
from sasayaki.writers.times import format_timestamp

__all__ = [
    "FORMATS",
    "Writer",
    "check_target",
    "format_timestamp",
    "prepare_folder",
    "render",
    "write",
    "write_text",
]
