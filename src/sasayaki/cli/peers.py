"""Options of other engines' command lines that have another name here, or need none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

_FILES = "files are chosen with --output_format (-f), such as -f srt"
_NAMES = "--output_dir (-o) takes the folder; files are called like the recording"
_CLIPS = "--clip_timestamps START,END takes both, in seconds"
_SPEAKERS = "speakers are not told apart; --channels split keeps the channels of a recording apart"
_WORDS = "--word_timestamps True times the words, without a second model"
_NEEDLESS = "leave it out, there is nothing to choose"

_ROWS = (
    # Names of faster-whisper, whisper-ctranslate2, WhisperX and others, with _ for -, and what to do.
    ("compute_type", "--precision chooses the number format: int8, bfloat16, float16 or float32"),
    ("model_directory download_root cache_directory", "--model_dir is the folder of downloaded models"),
    ("model_name model_size model_path", "--model (-m) takes a name or a path"),
    ("cpu_threads", "--threads is their number"),
    ("device_index device_id", "--device takes both, such as cuda:1"),
    ("batched chunk_length chunk_size num_workers", "--batch_size decodes so many windows side by side"),
    ("vad_filter vad_method", "--vad is silero, energy or off; voice activity is looked for unless it is off"),
    ("vad_onset vad_offset", "--vad_threshold is the probability from which on a moment counts as speech"),
    ("vad_min_speech_duration_ms", "--vad_min_speech takes seconds"),
    ("vad_min_silence_duration_ms", "--vad_min_silence takes seconds"),
    ("vad_speech_pad_ms", "--vad_padding takes seconds"),
    ("vad_max_speech_duration_s vad_samples_overlap", _NEEDLESS),
    ("log_prob_threshold", "it is spelled --logprob_threshold"),
    ("max_new_tokens", "--sample_len is the largest number of tokens of a window"),
    ("language_detection_segments", "it is spelled --language_detection_windows"),
    ("hotwords", "--phrases 'Kubernetes=3.0' favours words, --initial_prompt shows their spelling"),
    ("repetition_penalty no_repeat_ngram_size", "--loop_guard, which is on, cuts what repeats itself without end"),
    ("suppress_numerals", r"--deny_tokens '\d' lets no token have a digit"),
    ("prompt_reset_on_temperature", "text found at a temperature above 0.5 is never the next window's prompt"),
    ("diarize tinydiarize diarize_model min_speakers max_speakers num_speakers speaker_num hf_token", _SPEAKERS),
    ("align_model no_align interpolate_method return_char_alignments timestamp dtw", _WORDS),
    ("segment_resolution", "--captions divides the text by the rules of captions"),
    ("print_progress", "--progress True shows a bar"),
    ("print_colors print_confidence print_special", "`sasayaki inspect` shows every token with its probability"),
    ("output output_file output_name transcript_path", _NAMES),
    ("file file_name input", "recordings are named without an option"),
    ("pretty_json flash flash_attn no_flash_attn split_on_word", _NEEDLESS),
    # Names of whisper.cpp that are long.
    ("processors", "--batch_size decodes so many windows side by side"),
    ("output_txt output_vtt output_srt output_lrc output_csv output_json", _FILES),
    ("output_json_full", "-f json with --word_timestamps True has all there is"),
    ("output_words", "-f ass has the words as karaoke"),
    ("translate", "--task translate does it"),
    ("prompt", "it is spelled --initial_prompt"),
    ("max_len", "--max_line_width is the width of a line"),
    ("offset_t offset_n duration", _CLIPS),
    ("no_timestamps", "--without_timestamps True does it"),
    ("detect_language", "`sasayaki detect-language FILE` does it"),
    ("no_fallback", "--temperature_increment_on_fallback None tries one temperature"),
    ("temperature_inc", "it is spelled --temperature_increment_on_fallback"),
    ("max_context", "--condition_on_previous_text False forgets the text so far"),
    ("audio_ctx", "--short_context chooses it by the length of the recording"),
    ("no_gpu", "--device cpu does it"),
    ("ov_e_device", "--backend openvino is the default on a processor"),
    ("no_prints", "--quiet (-q) does it"),
    ("suppress_nst", "--suppress_tokens -1, the default, bans the symbols that are not spoken"),
    ("suppress_regex", "--deny_tokens takes the regular expression"),
    ("grammar_rule grammar_penalty", "--grammar holds the whole grammar"),
    ("entropy_thold", "--compression_ratio_threshold tells loops"),
    ("logprob_thold", "it is spelled --logprob_threshold"),
    ("no_speech_thold", "it is spelled --no_speech_threshold"),
    ("vad_model", "--vad silero has its weights in a package"),
)

_SHORT = {
    "t": "threads", "p": "processors", "ot": "offset_t", "on": "offset_n", "d": "duration", "mc": "max_context",
    "ml": "max_len", "sow": "split_on_word", "bo": "best_of", "bs": "beam_size", "ac": "audio_ctx",
    "et": "entropy_thold", "lpt": "logprob_thold", "nth": "no_speech_thold", "tp": "temperature",
    "tpi": "temperature_inc", "tr": "translate", "di": "diarize", "tdrz": "tinydiarize", "nf": "no_fallback",
    "otxt": "output_txt", "ovtt": "output_vtt", "osrt": "output_srt", "olrc": "output_lrc", "ocsv": "output_csv",
    "oj": "output_json", "ojf": "output_json_full", "owts": "output_words", "of": "output_file", "np": "no_prints",
    "pp": "print_progress", "pc": "print_colors", "ps": "print_special", "nt": "no_timestamps", "l": "language",
    "dl": "detect_language", "oved": "ov_e_device", "dtw": "dtw", "ng": "no_gpu", "dev": "device", "fa": "flash_attn",
    "nfa": "no_flash_attn", "sns": "suppress_nst", "vm": "vad_model", "vt": "vad_threshold",
    "vspd": "vad_min_speech_duration_ms", "vsd": "vad_min_silence_duration_ms", "vp": "vad_speech_pad_ms",
    "vmsd": "vad_max_speech_duration_s", "vo": "vad_samples_overlap", "i": "input",
}  # fmt: skip
"""Options of whisper.cpp with one dash, and their long names. Those with o, m and f in front would else be read as
`-o srt`, `-m l` and `-f a`."""

ADVICE: Mapping[str, str] = MappingProxyType({name: advice for names, advice in _ROWS for name in names.split()})
"""What to do instead, by name; - is _."""


def advice_on(arguments: Iterable[str]) -> list[str]:
    """A sentence for each argument that is an option of another engine, told as it was given."""
    found = []
    for argument in arguments:
        option = argument.partition("=")[0]
        name = option.lstrip("-").replace("-", "_")
        n_dashes = len(option) - len(option.lstrip("-"))
        if n_dashes == 1 and name in _SHORT:
            name = _SHORT[name]
            found.append(f"{option} is no option here: {ADVICE.get(name, f'it is spelled --{name}')}")
        elif n_dashes == 2 and name in ADVICE:
            found.append(f"{option} is no option here: {ADVICE[name]}")
    return list(dict.fromkeys(found))
