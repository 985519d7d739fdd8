"""Options of other engines' Python functions that have another name here, or need none."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

_LOAD = "precision, device and threads are arguments of load_model"
_BATCH = "batch_size decodes so many windows side by side"
_LOOPS = "loop_guard, which is on, cuts what repeats itself without end"
_PROGRESS = "progress is a function that is called after each window with the seconds done and the seconds there are"

_ROWS = (
    # Names of faster-whisper, WhisperX and Transformers, and what to do.
    ("compute_type device device_index cpu_threads torch_dtype", _LOAD),
    ("vad_filter", "vad is 'silero', 'energy' or 'off'; voice activity is looked for unless it is off"),
    (
        "vad_parameters",
        "vad_threshold, and in seconds vad_min_speech, vad_min_silence and vad_padding are options here",
    ),
    ("hotwords", "phrases={'Kubernetes': 3.0} favours words, initial_prompt shows their spelling"),
    ("log_prob_threshold logprob_thold", "it is spelled logprob_threshold"),
    ("chunk_length chunk_length_s chunk_size num_workers", _BATCH),
    ("max_new_tokens", "sample_len is the largest number of tokens of a window"),
    ("num_beams", "it is spelled beam_size"),
    ("repetition_penalty no_repeat_ngram_size", _LOOPS),
    ("prompt_reset_on_temperature", "text found at a temperature above 0.5 is never the next window's prompt"),
    ("language_detection_segments", "it is spelled language_detection_windows"),
    ("suppress_numerals", r"deny_tokens=r'\d' lets no token have a digit"),
    ("return_timestamps", "segments have times; word_timestamps=True times the words"),
    ("log_progress print_progress combined_progress", _PROGRESS),
)

ADVICE: Mapping[str, str] = MappingProxyType({name: advice for names, advice in _ROWS for name in names.split()})
"""What to do instead, by name."""
