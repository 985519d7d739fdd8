"""Transcriptions as files, one module per format, and back from JSON.

A format is a function that begins a `Composer`; the composer takes segments one by one and gives out text as soon as it
is final. `Output` (see `sasayaki.writers.output`) carries that text to a file while a recording is transcribed; `write`
does it for a whole transcription.
"""

from sasayaki.writers.channels import with_channel
from sasayaki.writers.files import check_target, prepare_folder, remove_leftovers, write_text
from sasayaki.writers.json_file import parse_json, read_json
from sasayaki.writers.output import Output, write
from sasayaki.writers.registry import FORMATS, Format, render
from sasayaki.writers.times import format_timestamp

__all__ = [
    "FORMATS",
    "Format",
    "Output",
    "check_target",
    "format_timestamp",
    "parse_json",
    "prepare_folder",
    "read_json",
    "remove_leftovers",
    "render",
    "with_channel",
    "write",
    "write_text",
]
