"""All options, declared once: what they mean, their units, their defaults, and which of them go together.

Python signatures, the command line and the documents are made from these dataclasses. They are frozen; use
`dataclasses.replace` for a changed copy.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from typing import Any, TypeVar

from sasayaki.errors import OptionError
from sasayaki.grammar import Grammar
from sasayaki.languages import to_language_code
from sasayaki.option_values import (
    check_choice,
    check_flag,
    check_number,
    check_temperature,
    check_whole_number,
    is_collection,
    objects_with,
    parse_clip_timestamps,
    parse_languages,
    parse_suppress_tokens,
    required,
    text_or_tokens,
)
from sasayaki.peer_options import ADVICE
from sasayaki.phrases import parse_phrases

TASKS = ("transcribe", "translate")
TEMPERATURES = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
MAX_HYPOTHESES = 10_000
"""Most beams or samples of a window: more logits than these have fit no memory."""

MAX_BATCH = 1024
"""Most windows side by side."""

AUTO = "auto"
"""The `batch_size` that is settled by the number of beams and by the memory that is free."""

CHANNELS = ("mix", "split")
BEAM_STOPS = ("pool", "bound", "estimate")
BEAM_ENDS = ("seen", "top", "all")
VOICE_DETECTORS = ("auto", "silero", "energy", "off")

MAX_PAUSE = 86_400
"""Most seconds of speech, silence or padding that an option of voice activity may name: a day."""

CAPTION_PRESETS = ("netflix", "bbc", "youtube")
CAPTION_RULES = ("reading_speed", "min_cue_duration", "max_cue_duration", "min_cue_gap")
MAX_CAPTION_RULE = 3600
"""Most seconds, or characters per second, that a rule of captions may name."""

BEAM_RULES = ("beam_stop", "beam_ends", "beam_lookahead", "beam_groups", "beam_diversity")
"""Options that change beam search."""

IMPROVEMENTS = (*BEAM_RULES, "length_reward", "loop_guard")
"""Options that `compat` sets back to what openai/whisper does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowOptions:
    """What holds for every window, whether it is decoded alone or as a part of a long recording."""

    task: str = "transcribe"
    """`transcribe` writes what is said in its language, `translate` writes it in English."""

    language: str | None = None
    """Language spoken, as a code or name (`de`, `German`); None detects it."""

    languages: str | Sequence[str] | None = None
    """Languages that detection may choose from, as codes or names, comma-separated; None allows all."""

    sample_len: int | None = None
    """Largest number of tokens to sample in a window; None means half the text context (224)."""

    best_of: int | None = None
    """Number of independent samples at a temperature above 0; None means one."""

    beam_size: int | None = None
    """Number of beams at temperature 0; None decodes greedily."""

    patience: float | None = None
    """Beam search collects round(beam_size * patience) finished sequences; None means 1.0
    (https://arxiv.org/abs/2204.05424)."""

    length_penalty: float | None = None
    """Exponent in [0, 1] of the length normalisation of https://arxiv.org/abs/1609.08144;
    None divides by the length."""

    length_reward: float | None = None
    """What each token adds to the log-probability by which hypotheses are ranked, which is then not divided by the
    length; None divides."""

    beam_stop: str = "pool"
    """When beam search ends: `pool` with the first finished sequences; `bound` when no other sequence can get a
    better score; `estimate` when no other has a better score so far."""

    beam_ends: str = "seen"
    """Which ends beam search accepts: `seen` on the way to the best beams, `top` among the best beams only, `all`
    of every beam."""

    beam_lookahead: int = 0
    """Number of steps that beam search goes on after a sequence has ended before that one counts as finished."""

    beam_groups: int = 1
    """Number of groups that the beams are split into, each kept apart from those before it."""

    beam_diversity: float = 0.5
    """With `beam_groups`, what a token loses in log-probability for each group that has taken it before."""

    scorers: Sequence[object] = field(default=(), metadata={"is_object": True})
    """Objects with the method `adjust` of `sasayaki.decoding.scorers.base.TokenScorer`, which raise or lower the
    scores that the search compares; in Python only."""

    loop_guard: bool = False
    """Whether a sequence that repeats itself without end is cut where the loop begins."""

    n_best: int | None = None
    """Number of hypotheses to keep in a result, best first, and to take word alternatives from; None keeps all."""

    prefix: str | Sequence[int] | None = None
    """Text or tokens that the window's transcript starts with, not repeated in the result."""

    suppress_tokens: str | Sequence[int] | None = "-1"
    """Token ids never to sample, comma-separated; `-1` stands for the model's list of non-speech symbols, which a
    `grammar` makes void. None or empty bans no extra tokens; control tokens are always banned."""

    allow_tokens: str | None = None
    """Regular expression that the text of a token must match as a whole to be sampled, its leading space included;
    None allows all."""

    deny_tokens: str | None = None
    """Regular expression that may be found nowhere in the text of a sampled token; None denies nothing."""

    grammar: str | Grammar | None = None
    """What the text of a window must look like: `regex:…`, `lark:…` or `json_schema:…`, or `lark:@FILE` and so on for
    the content of a file; None allows any text."""

    filters: Sequence[object] = field(default=(), metadata={"is_object": True})
    """Objects with the method `apply` of `sasayaki.decoding.filters.base.LogitFilter`, which change the logits after
    the bans above and before the timestamp rules; in Python only."""

    phrases: str | Mapping[str, float] | None = None
    """Phrases to favour, each with what its tokens add to the score in nats: `Kubernetes=3.0,Dr. Müller=2.0`, or
    `@FILE` for a JSON object; None favours none."""

    suppress_blank: bool = True
    """Whether the first sampled token may be neither a space nor the end."""

    without_timestamps: bool = False
    """Whether to sample text only, no timestamps."""

    max_initial_timestamp: float | None = 1.0
    """Latest first timestamp, in seconds; None sets no limit."""

    fp16: bool = True
    """Accepted for scripts written for openai/whisper; precision is chosen when a model is loaded."""

    seed: int | None = 0
    """Seed of sampling at temperatures above 0; None draws a new one for each call."""

    def __post_init__(self) -> None:
        check_choice("task", self.task, self._tasks())
        self._check_language()
        self._check_constraints()
        for name in ("sample_len", "n_best"):
            check_whole_number(name, getattr(self, name), least=1)
        for name in ("best_of", "beam_size"):
            check_whole_number(name, getattr(self, name), least=1, most=MAX_HYPOTHESES)
        check_whole_number("seed", self.seed, least=0)
        check_number("patience", self.patience)
        check_number("length_penalty", self.length_penalty, least=0, most=1)
        check_number("max_initial_timestamp", self.max_initial_timestamp, least=0)
        for name in ("suppress_blank", "without_timestamps", "fp16"):
            check_flag(name, getattr(self, name))
        self._keep("phrases", parse_phrases(self.phrases))
        self._keep("filters", objects_with("filters", self.filters, method="apply"))
        self._keep("scorers", objects_with("scorers", self.scorers, method="adjust"))
        check_flag("loop_guard", self.loop_guard)
        self._keep("prefix", text_or_tokens("prefix", self.prefix))
        suppressed = parse_suppress_tokens(self.suppress_tokens)
        if not isinstance(self.suppress_tokens, (str, type(None))):
            self._keep("suppress_tokens", suppressed)
        self._check_beams()
        self._check_beam_rules()

    @property
    def changes_beams(self) -> tuple[str, ...]:
        """Names of the options by which beam search differs from openai/whisper's."""
        return tuple(name for name in BEAM_RULES if getattr(self, name) != _default(name))

    def _check_language(self) -> None:
        code = None if self.language is None else to_language_code(self.language)
        allowed = parse_languages(self.languages)
        self._keep("languages", allowed)
        if code is not None and allowed is not None and code not in allowed:
            raise OptionError(f"language={self.language!r} is not among languages={','.join(allowed)}; add it there")

    def _check_constraints(self) -> None:
        for name in ("allow_tokens", "deny_tokens"):
            pattern = getattr(self, name)
            if not isinstance(pattern, (str, type(None))):
                raise OptionError(f"{name} must be a regular expression as text, got {pattern!r}")
        if self.grammar is not None:
            self._keep("grammar", Grammar.of(self.grammar))

    def _keep(self, name: str, value: object) -> None:
        """Store a checked copy, which neither the caller's list nor a used-up iterator can change."""
        object.__setattr__(self, name, value)

    def _tasks(self) -> tuple[str, ...]:
        return TASKS

    def _check_beams(self) -> None:
        if self.patience is None:
            return
        if self.patience <= 0:
            raise OptionError(f"patience must be above 0, got {self.patience}")
        if self.beam_size is None:
            raise OptionError(f"patience={self.patience} needs beam_size: it scales the number of beams")
        n_finished = float(self.beam_size) * self.patience
        if not (math.isfinite(n_finished) and round(n_finished) >= 1):
            raise OptionError(
                f"beam_size={self.beam_size} with patience={self.patience} would collect {n_finished} sequences; "
                "round(beam_size * patience) must be at least 1, and finite"
            )

    def _check_beam_rules(self) -> None:
        check_choice("beam_stop", self.beam_stop, BEAM_STOPS)
        check_choice("beam_ends", self.beam_ends, BEAM_ENDS)
        check_whole_number("beam_lookahead", required("beam_lookahead", self.beam_lookahead), least=0)
        check_whole_number("beam_groups", required("beam_groups", self.beam_groups), least=1)
        check_number("beam_diversity", required("beam_diversity", self.beam_diversity), least=0)
        check_number("length_reward", self.length_reward)
        if self.length_reward is not None and self.length_penalty is not None:
            raise OptionError(
                f"length_reward={self.length_reward} and length_penalty={self.length_penalty} exclude each other: "
                "one adds for each token, the other divides by the length"
            )
        if self.beam_size is None:
            if self.changes_beams:
                name = self.changes_beams[0]
                raise OptionError(f"{name}={getattr(self, name)!r} needs beam_size: it changes beam search")
        elif self.beam_size % self.beam_groups:
            raise OptionError(
                f"beam_size={self.beam_size} cannot be split into beam_groups={self.beam_groups} groups of equal size"
            )
        if self.beam_ends == "all" and self.beam_stop == "pool":
            raise OptionError(
                "beam_ends='all' needs beam_stop='bound' or 'estimate': with every end accepted, the pool of "
                "beam_stop='pool' is full at once"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodingOptions(WindowOptions):
    """How one window is decoded; field names and defaults are those of openai/whisper."""

    temperature: float = 0.0
    """0 takes the likeliest tokens, above 0 samples from the softened distribution."""

    prompt: str | Sequence[int] | None = None
    """Text or tokens of what came before, as context."""

    write_until: float | None = None
    """A segment that begins before this many seconds of the window is written, even if it does not end in it; None
    lets the model leave it to the next window."""

    def __post_init__(self) -> None:
        WindowOptions.__post_init__(self)
        check_temperature(self.temperature)
        check_number("write_until", self.write_until, least=0)
        self._keep("prompt", text_or_tokens("prompt", self.prompt))
        if self.beam_size is not None and self.best_of is not None:
            raise OptionError(
                f"beam_size={self.beam_size} and best_of={self.best_of} exclude each other in one decode: "
                "beams belong to temperature 0, best_of to temperatures above 0"
            )
        if self.temperature == 0 and self.best_of is not None:
            raise OptionError(f"best_of={self.best_of} needs a temperature above 0, got temperature=0")
        if self.temperature > 0 and self.beam_size is not None:
            raise OptionError(f"beam_size={self.beam_size} needs temperature=0, got temperature={self.temperature}")

    def _tasks(self) -> tuple[str, ...]:
        return (*TASKS, "lang_id")


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscribeOptions(WindowOptions):
    """How a recording of any length is transcribed."""

    beam_size: int | None = 5
    """Number of beams at temperature 0; None decodes greedily."""

    best_of: int | None = 5
    """Number of independent samples at temperatures above 0; None means one."""

    temperature: float | Sequence[float] = TEMPERATURES
    """One temperature, or several to be tried in turn until a window's result passes the thresholds below."""

    compression_ratio_threshold: float | None = 2.4
    """A text that compresses better than this is taken for a loop and tried again; None switches the check off."""

    logprob_threshold: float | None = -1.0
    """An average log-probability below this counts as a failure and is tried again; None switches the check off."""

    no_speech_threshold: float | None = 0.6
    """A window counts as silent when its no-speech probability is above this and its average log-probability is
    below `logprob_threshold`; None keeps every window."""

    loop_guard: bool = True
    """Whether a sequence that repeats itself without end is cut where the loop begins. The next window starts behind
    the last segment before it; without one the window is decoded again at the next temperature. What says the same four
    times or more where the sound does not repeat itself is rejected."""

    compat: bool = False
    """Whether every improvement on openai/whisper's decoding is switched off: the loop guard and the changes of beam
    search. The text is then openai/whisper's own."""

    condition_on_previous_text: bool = True
    """Whether the text so far is the prompt of the next window."""

    initial_prompt: str | Sequence[int] | None = None
    """Text or tokens that prompt the first window: names, spelling, style."""

    carry_initial_prompt: bool = False
    """Whether `initial_prompt` stands before the prompt of every window."""

    multilingual: bool = False
    """Whether the language is detected anew in every window."""

    language_detection_threshold: float = 0.5
    """A language that is at least this likely in one window needs no further window to be taken for the recording's;
    with `multilingual`, a window keeps the language of the one before it unless its own is at least this likely."""

    language_detection_windows: int = 4
    """Most windows of 30 s to listen to for the language of a recording; the mean probability decides."""

    word_timestamps: bool = False
    """Whether each word gets its times."""

    prepend_punctuations: str = "\"'“¿([{-"
    """Punctuation marks that belong to the word after them where a space stands before them."""

    append_punctuations: str = "\"'.。,，!！?？:：”)]}、"
    """Punctuation marks that belong to the word before them."""

    hallucination_silence_threshold: float | None = None
    """With `word_timestamps`, odd text with more than so many seconds of silence around it is taken for invented and
    dropped; None drops none."""

    clip_timestamps: str | Sequence[float] = "0"
    """Stretches to transcribe in the order given, `start,end,start,end,…` in seconds; the last end may be left
    out."""

    channels: str = "mix"
    """`mix` transcribes the sum of all channels, `split` each channel for itself, and joins their segments by time."""

    vad: str = "auto"
    """What finds voice activity: `silero`, a small network; `energy`, how loud the audio is; `auto` for Silero where
    its weights are installed, else energy; `off` does without."""

    batch_size: int | str = 1
    """Windows that are decoded side by side. More than 1 cuts a recording at silences into windows of at most 30 s,
    which is faster; what is said before a cut is not told behind it. `auto` is 2 to 8, by the number of beams and the
    memory that is free; the text does not depend on it."""

    short_context: bool = True
    """Whether the last window of a recording or clip, if it is short, is encoded with moments of the silence behind it,
    each of which counts for several, instead of all up to 30 s. Short recordings take about half the time, and now
    and then a word is heard otherwise. A result that looks wrong is decoded again with all of the silence."""

    coverage_guard: bool = True
    """Whether speech that voice activity finds and no text covers is decoded again on its own."""

    vad_threshold: float = 0.5
    """Probability of speech from which on a moment counts as speech."""

    vad_min_speech: float = 0.1
    """Speech shorter than this many seconds is taken for noise."""

    vad_min_silence: float = 0.3
    """Pauses shorter than this many seconds do not part speech."""

    vad_padding: float = 0.1
    """Seconds by which speech is taken to begin earlier and end later than it is found to."""

    def __post_init__(self) -> None:
        WindowOptions.__post_init__(self)
        if isinstance(self.temperature, str):
            raise OptionError(f"temperature must be a number or several, got {self.temperature!r}")
        if is_collection(self.temperature):
            self._keep("temperature", tuple(self.temperature))
        for temperature in self.temperatures:
            check_temperature(temperature)
        if not self.temperatures:
            raise OptionError("temperature must hold at least one number, got none")
        for name in ("compression_ratio_threshold", "logprob_threshold", "no_speech_threshold"):
            check_number(name, getattr(self, name))
        check_whole_number(
            "language_detection_windows",
            required("language_detection_windows", self.language_detection_windows),
            least=1,
        )
        check_number("language_detection_threshold", self.language_detection_threshold, least=0, most=1)
        flags = ("compat", "condition_on_previous_text", "carry_initial_prompt", "multilingual")
        for name in (*flags, "word_timestamps", "coverage_guard", "short_context"):
            check_flag(name, getattr(self, name))
        self._keep("initial_prompt", text_or_tokens("initial_prompt", self.initial_prompt))
        self._check_voice()
        self._check_batch()
        check_choice("channels", self.channels, CHANNELS)
        self._check_words()
        clips = parse_clip_timestamps(self.clip_timestamps)
        if not isinstance(self.clip_timestamps, str):
            self._keep("clip_timestamps", clips)

    @property
    def cuts_recordings(self) -> bool:
        """Whether windows are cut at silences, for a batch, and do not follow from one another."""
        return self.batch_size != 1

    @property
    def listens(self) -> bool:
        """Whether voice activity is looked for."""
        return self.vad != "off" and not self.compat

    @property
    def rejects_loops(self) -> bool:
        """Whether text that repeats itself is compared with its sound."""
        return self.loop_guard and not self.compat

    def _check_batch(self) -> None:
        given = self.batch_size
        if isinstance(given, str):
            if given == AUTO:
                return
            self._keep("batch_size", int(given) if given.isdecimal() else given)
        if isinstance(given, str) and not given.isdecimal():
            raise OptionError(f"batch_size must be a whole number or {AUTO}, got {given!r}")
        check_whole_number("batch_size", required("batch_size", self.batch_size), least=1, most=MAX_BATCH)

    def _check_words(self) -> None:
        for name in ("prepend_punctuations", "append_punctuations"):
            if not isinstance(getattr(self, name), str):
                raise OptionError(f"{name} must be punctuation marks as text, got {getattr(self, name)!r}")
        check_number("hallucination_silence_threshold", self.hallucination_silence_threshold, least=0)

    def _check_voice(self) -> None:
        check_choice("vad", self.vad, VOICE_DETECTORS)
        check_number("vad_threshold", required("vad_threshold", self.vad_threshold), least=0, most=1)
        for name in ("vad_min_speech", "vad_min_silence", "vad_padding"):
            check_number(name, required(name, getattr(self, name)), least=0, most=MAX_PAUSE)

    @property
    def temperatures(self) -> tuple[float, ...]:
        """The temperatures to try, in order."""
        given = self.temperature
        return tuple(given) if isinstance(given, Sequence) else (given,)

    def for_window(self, temperature: float, *, language: str | None, prompt: Sequence[int]) -> DecodingOptions:
        """Options of one attempt: beams belong to temperature 0, `best_of` to the others."""
        shared = {each.name: getattr(self, each.name) for each in fields(WindowOptions)}
        if self.compat:
            shared.update({name: _default(name) for name in IMPROVEMENTS})
        if temperature > 0:
            shared.update({name: _default(name) for name in BEAM_RULES}, beam_size=None, patience=None)
        else:
            shared.update(best_of=None)
        shared.update(language=language)
        return DecodingOptions(**shared, temperature=float(temperature), prompt=tuple(prompt))


def _default(name: str) -> Any:
    """The default of an option of WindowOptions."""
    return next(each.default for each in fields(WindowOptions) if each.name == name)


@dataclass(frozen=True, slots=True, kw_only=True)
class WriterOptions:
    """How a transcription looks as a file; a format takes those that concern it."""

    highlight_words: bool = False
    """Whether srt and vtt underline each word while it is spoken, and lrc gives each word its time."""

    max_line_width: int | None = None
    """Most characters in a line of captions; a longer word stands alone. None sets no limit."""

    max_line_count: int | None = None
    """Most lines in a caption; needs `max_line_width`, and lets captions run over several segments. None sets no
    limit."""

    max_words_per_line: int | None = None
    """Most words in a caption, which then stays within its segment; None sets no limit."""

    captions: str | None = None
    """Rules that captions keep to, `netflix`, `bbc` or `youtube`; `max_line_width`, `max_line_count` and the options
    below replace single figures. A full-width character counts as two. None takes segments as they are."""

    reading_speed: float | None = None
    """With `captions`, most characters that are shown per second; None means the preset's."""

    min_cue_duration: float | None = None
    """With `captions`, shortest time in seconds that one is shown; None means the preset's."""

    max_cue_duration: float | None = None
    """With `captions`, longest time in seconds that one is shown; None means the preset's."""

    min_cue_gap: float | None = None
    """With `captions`, shortest time in seconds between two of them; None means the preset's."""

    paragraph_pause: float = 2.0
    """Silence between segments, in seconds, that begins a new paragraph of `paragraphs`."""

    def __post_init__(self) -> None:
        check_flag("highlight_words", self.highlight_words)
        for name in ("max_line_width", "max_line_count", "max_words_per_line"):
            check_whole_number(name, getattr(self, name), least=1)
        check_number("paragraph_pause", required("paragraph_pause", self.paragraph_pause), least=0)
        self._check_captions()
        if self.captions is None:
            self._warn_of_lines()

    def _check_captions(self) -> None:
        if self.captions is not None:
            check_choice("captions", self.captions, CAPTION_PRESETS)
            if self.max_words_per_line is not None:
                raise OptionError(
                    f"captions={self.captions!r} and max_words_per_line={self.max_words_per_line} exclude each other: "
                    "the rules of captions decide how many words one has"
                )
        for name in CAPTION_RULES:
            value = getattr(self, name)
            check_number(name, value, least=0, most=MAX_CAPTION_RULE)
            if value is not None and self.captions is None:
                raise OptionError(f"{name}={value} needs captions: it changes the rules of a preset")
            if value == 0 and name in ("reading_speed", "max_cue_duration"):
                raise OptionError(f"{name} must be above 0, got {value}")
        shortest, longest = self.min_cue_duration, self.max_cue_duration
        if shortest is not None and longest is not None and shortest > longest:
            raise OptionError(f"min_cue_duration={shortest} is longer than max_cue_duration={longest}")

    def _warn_of_lines(self) -> None:
        if self.max_line_count is not None and self.max_line_width is None:
            _warn(f"max_line_count={self.max_line_count} has no effect without max_line_width")
        if self.max_words_per_line is not None and self.max_line_width is not None:
            effect = "has no effect" if self.max_line_count is not None else "does not keep lines from breaking sooner"
            _warn(f"max_words_per_line={self.max_words_per_line} {effect} with max_line_width={self.max_line_width}")

    @property
    def divides_segments(self) -> bool:
        """Whether captions need the times of words."""
        limits = (self.captions, self.max_line_width, self.max_line_count, self.max_words_per_line)
        return self.highlight_words or any(limit is not None for limit in limits)


Options = TypeVar("Options", bound=WindowOptions)


def override(options: Options, overrides: Mapping[str, Any]) -> Options:
    """A copy with some fields replaced; an unknown field is an OptionError with a suggestion."""
    known = [each.name for each in fields(options)]
    for name in overrides:
        if name not in known:
            raise OptionError(f"unknown option {name}; {_advice(name, known)}")
    return replace(options, **overrides)


def _advice(name: str, known: Sequence[str]) -> str:
    if name in ADVICE:
        return ADVICE[name]
    close = get_close_matches(name, known, n=1)
    return f"did you mean {close[0]}?" if close else f"known options are {', '.join(known)}"


def _warn(message: str) -> None:
    warnings.warn(message, stacklevel=5)  # the caller of the dataclass
