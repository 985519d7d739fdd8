"""Decoding of any number of windows together: languages first, then one task for each window."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sasayaki.decoding.filters.chain import build_filters
from sasayaki.decoding.language import DetectedLanguage, allowed_languages, detect_languages
from sasayaki.decoding.pool import run_tasks
from sasayaki.decoding.prompt import initial_tokens
from sasayaki.decoding.recorder import Tracer
from sasayaki.decoding.scorers.chain import build_scorers
from sasayaki.decoding.task import DecodingTask
from sasayaki.inference.base import AudioFeatures, Inference
from sasayaki.option_values import parse_languages
from sasayaki.options import DecodingOptions
from sasayaki.results import DecodingResult
from sasayaki.text.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True)
class Decoder:
    """A model ready to decode: an engine, its vocabulary and its list of suppressed tokens.

    Attributes:
        inference: the engine.
        tokenizer: of the model's vocabulary; the language and task of each decode replace its own.
        suppress: tokens that `-1` in `suppress_tokens` stands for; None means the tokenizer's non-speech tokens.
        tracer: records every decode; None records nothing.
        step_check: called before each step of a decode; what it raises ends the decode.
    """

    inference: Inference
    tokenizer: Tokenizer
    suppress: tuple[int, ...] | None = None
    tracer: Tracer | None = None
    step_check: Callable[[], None] | None = None

    def check(self, options: DecodingOptions) -> None:
        """Raise OptionError when an option does not fit the model; costs no model work."""
        dims = self.inference.dims
        tokenizer = self._tokenizer(options, options.language)
        allowed_languages(tokenizer, parse_languages(options.languages))
        initial_tokens(tokenizer, options, n_text_ctx=dims.n_text_ctx, n_vocab=dims.n_vocab)
        build_filters(options, tokenizer, dims.n_vocab, self.suppress)
        build_scorers(options, tokenizer, dims.n_vocab, self.suppress)

    def detect_languages(
        self, audios: Sequence[AudioFeatures], languages: str | Sequence[str] | None = None
    ) -> list[DetectedLanguage]:
        """The language of each encoded window, among `languages`; None allows all.

        Raises:
            OptionError: the model is English-only, or has none of the languages.
        """
        allowed = parse_languages(languages)
        return detect_languages(self.inference, self.tokenizer, audios, [allowed] * len(audios))

    def decode(self, audios: Sequence[AudioFeatures], options: Sequence[DecodingOptions]) -> list[DecodingResult]:
        """Decode encoded windows together, each with its own options; each as if it were alone.

        Raises:
            OptionError: an option does not fit the model.
        """
        detected = self._detect_missing(audios, options)
        results: dict[int, DecodingResult] = {}
        tasks: dict[int, DecodingTask] = {}
        for index, (audio, option) in enumerate(zip(audios, options, strict=True)):
            if option.task == "lang_id":
                results[index] = _language_result(audio, detected.get(index))
            else:
                tasks[index] = self._task(audio, option, detected.get(index))
        results.update(zip(tasks, run_tasks(self.inference, list(tasks.values()), check=self.step_check), strict=True))
        return [results[index] for index in range(len(audios))]

    def task(self, audio: AudioFeatures, options: DecodingOptions) -> DecodingTask:
        """The decode of one window whose language is settled, to be driven by the caller.

        Raises:
            OptionError: an option does not fit the model.
        """
        return self._task(audio, options, None)

    def _detect_missing(
        self, audios: Sequence[AudioFeatures], options: Sequence[DecodingOptions]
    ) -> dict[int, DetectedLanguage]:
        """The languages of the windows whose options ask for them or leave them open; nothing is open in English."""
        if not self.inference.dims.is_multilingual:
            return {}
        missing = [index for index, option in enumerate(options) if option.language is None or option.task == "lang_id"]
        allowed = [parse_languages(options[index].languages) for index in missing]
        detected = detect_languages(self.inference, self.tokenizer, [audios[index] for index in missing], allowed)
        return dict(zip(missing, detected, strict=True))

    def _task(self, audio: AudioFeatures, options: DecodingOptions, detected: DetectedLanguage | None) -> DecodingTask:
        return DecodingTask(
            audio,
            self._tokenizer(options, detected.code if detected else options.language),
            options,
            n_text_ctx=self.inference.dims.n_text_ctx,
            n_vocab=self.inference.dims.n_vocab,
            suppress=self.suppress,
            language_probs=detected.probs if detected else None,
            tracer=self.tracer,
        )

    def _tokenizer(self, options: DecodingOptions, language: str | None) -> Tokenizer:
        task = "transcribe" if options.task == "lang_id" else options.task
        return self.tokenizer.with_language(language, task)


def _language_result(audio: AudioFeatures, detected: DetectedLanguage | None) -> DecodingResult:
    """What task `lang_id` gives: a language and no text."""
    return DecodingResult(
        audio_features=audio.array,
        language=detected.code if detected else "en",
        language_probs=detected.probs if detected else None,
    )
