"""The Whisper object: a loaded model with everything that can be done with it. Here the parts are joined."""

from __future__ import annotations

import os
import reprlib
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import numpy as np

import sasayaki
from sasayaki.alignment.heads import NO_HEADS, AlignmentHeads
from sasayaki.audio import AudioSource
from sasayaki.audio.load import is_encoded
from sasayaki.batching.many import outcomes, streams_side_by_side
from sasayaki.batching.recording import cuts_side_by_side
from sasayaki.batching.size import suitable_batch_size
from sasayaki.checkpoints.catalog import ALIASES, MODEL_NAMES
from sasayaki.checkpoints.names import Checkpoint, ModelDimensions
from sasayaki.checkpoints.once import LoadOnce
from sasayaki.checkpoints.read import read_checkpoint
from sasayaki.checkpoints.resolve import list_models, resolve
from sasayaki.checkpoints.tables import alignment_heads_for, head_lags_for
from sasayaki.decoding.decode import Decoder
from sasayaki.decoding.language import allowed_languages
from sasayaki.decoding.pool import TaskPool
from sasayaki.decoding.recorder import Tracer
from sasayaki.errors import AudioError, BackendError, OptionError
from sasayaki.inference.base import AlignmentInference, Array, AudioFeatures, Inference
from sasayaki.inference.memory import free_memory
from sasayaki.inference.select import create_inference
from sasayaki.languages import to_language_code
from sasayaki.option_values import check_call, check_flag, check_path, is_collection, parse_languages
from sasayaki.options import AUTO, DecodingOptions, TranscribeOptions, override
from sasayaki.records import to_plain
from sasayaki.results import Alignment, DecodingResult, Outcome, Transcription
from sasayaki.text.tokenizer import Tokenizer
from sasayaki.trace import Trace
from sasayaki.transcribe.start import Plan, Run, align, one_after_the_other, start
from sasayaki.transcribe.stop import Cancel, Stop
from sasayaki.transcribe.stream import Progress, SegmentStream

__all__ = ["SegmentStream", "Whisper", "available_models", "get_model", "list_models", "load_model"]

Item = TypeVar("Item")
T = TypeVar("T")


class Whisper:
    """A loaded model. Threads may share it.

    Made by `load_model`; the constructor is for engines and vocabularies of your own.

    Args:
        inference: the engine with the weights.
        tokenizer: of the model's vocabulary.
        suppress: token ids that `-1` in the option `suppress_tokens` stands for; None means non-speech symbols.
        alignment_heads: (layer, head) pairs whose attention follows the audio; None when they are not known.
        head_lags: seconds from the start of a word to where each of these heads looks; None when nobody measured.
        name: what it was loaded as.
    """

    def __init__(
        self,
        inference: Inference,
        tokenizer: Tokenizer,
        *,
        suppress: tuple[int, ...] | None = None,
        alignment_heads: tuple[tuple[int, int], ...] | None = None,
        head_lags: tuple[float, ...] | None = None,
        name: str = "",
    ) -> None:
        self.inference = inference
        self.tokenizer = tokenizer
        self.alignment_heads = alignment_heads
        self.head_lags = head_lags
        self.name = name
        self._decoder = Decoder(inference, tokenizer, suppress)
        self._plan: Plan | None = None

    def __repr__(self) -> str:
        return f"Whisper({self.name!r}, {self.dims})"

    def __getstate__(self) -> Any:
        raise BackendError(
            "a loaded model can be neither copied nor sent to another process; call load_model there, or let threads "
            "share it"
        )

    @property
    def dims(self) -> ModelDimensions:
        """Sizes of the model."""
        return self.inference.dims

    @property
    def device(self) -> str:
        """Where the engine runs, as PyTorch writes it: `cpu`, `cuda:0`."""
        return str(getattr(self.inference, "device", "cpu"))

    @property
    def is_multilingual(self) -> bool:
        """Whether the model knows more languages than English."""
        return self.dims.is_multilingual

    def embed_audio(self, mel: Array) -> Array:
        """Encoder output (n_audio_ctx, n_audio_state) of a mel (n_mels, 3000), or of a batch of them."""
        features, is_single = self._encode(mel)
        arrays = [feature.array for feature in features]
        if is_single:
            return arrays[0]
        if not arrays:
            return np.empty((0, self.dims.n_audio_ctx, self.dims.n_audio_state), np.float32)
        if isinstance(arrays[0], np.ndarray):
            return np.stack(arrays)
        import torch

        return torch.stack(arrays)

    def detect_language(
        self, mel: Array, *, languages: str | Sequence[str] | None = None
    ) -> tuple[int, dict[str, float]] | tuple[list[int], list[dict[str, float]]]:
        """Detect the language of a window (n_mels, 3000), or of a batch of windows.

        Args:
            mel: log-mel spectrogram.
            languages: codes or names of the languages to choose from; None allows all.

        Returns:
            The token of the likeliest language and the probability of every language that is allowed, given that it
            is one of them; lists for a batch.

        Raises:
            OptionError: the model is English-only, or has none of the languages.
            AudioError: the mel has a wrong shape or dtype.
        """
        features, is_single = self._encode(mel)
        detected = self._decoder.detect_languages(features, languages)
        if is_single:
            return detected[0].token, detected[0].probs
        return [language.token for language in detected], [language.probs for language in detected]

    def decode(
        self,
        mel: Array,
        options: DecodingOptions | Sequence[DecodingOptions] | None = None,
        *,
        trace: Trace | None = None,
        **overrides: Any,
    ) -> DecodingResult | list[DecodingResult]:
        """Decode one window, or a batch of windows, of 30 s each.

        Args:
            mel: log-mel spectrogram (n_mels, 3000), or (n_audio, n_mels, 3000) for a batch; or encoder output
                (n_audio_ctx, n_audio_state) of `embed_audio`, or a batch of it.
            options: how to decode; for a batch, one for all or one for each window.
            trace: what to record every step into; None records nothing.
            **overrides: fields of DecodingOptions that replace those of `options`.

        Returns:
            A DecodingResult, or a list of them for a batch. Each is what it would be alone.

        Raises:
            OptionError: an option cannot be used, or does not fit the model.
            AudioError: the mel has a wrong shape or dtype.
        """
        wanted = DecodingOptions() if options is None else options
        given = _one_for_each(wanted, mel) if isinstance(wanted, (list, tuple)) else [wanted]
        settled = [override(_checked(DecodingOptions, each), overrides) for each in given]
        for each in settled:
            self._decoder.check(each)
        features, is_single = self._encode(mel)
        if not isinstance(wanted, (list, tuple)):
            settled *= len(features)
        decoder = replace(self._decoder, tracer=self._tracer(trace)) if trace is not None else self._decoder
        results = decoder.decode(features, settled)
        return results[0] if is_single else results

    def transcribe(
        self,
        audio: AudioSource,
        *,
        progress: Progress | None = None,
        cancel: Cancel | None = None,
        time_limit: float | None = None,
        journal: str | os.PathLike[str] | None = None,
        trace: Trace | None = None,
        verbose: bool | None = None,
        options: TranscribeOptions | None = None,
        **overrides: Any,
    ) -> Transcription:
        """Transcribe a recording of any length, in memory that does not grow with it.

        Args:
            audio: path, bytes, binary file object, or samples at 16 kHz (n_samples,).
            progress: called after each window with the seconds done and the seconds there are.
            cancel: asked before each step of the decoder; True ends the transcription.
            time_limit: seconds after which the transcription ends, reading included; None sets no limit.
            journal: file that keeps every window as soon as it is final; the same transcription goes on from there
                after a crash. The file stays; None keeps none.
            trace: what to record every window and step into; None records nothing.
            verbose: taken for openai/whisper's callers; nothing is printed. `stream` gives segments as they are ready.
            options: how to transcribe.
            **overrides: fields of TranscribeOptions that replace those of `options`.

        Raises:
            OptionError: an option cannot be used, or does not fit the model.
            AudioError: the audio cannot be read.
            OutputError: the journal cannot be read or written.
            StoppedError: `cancel` or `time_limit` ended it; the error has the segments that were final.
        """
        if verbose:
            warnings.warn("verbose=True prints nothing; use stream, or progress", stacklevel=2)
        settled = self._settle(options, overrides)
        run = self._run(settled, Stop(cancel, time_limit), progress, journal, trace)
        return start(self._decoder, audio, settled, run).collect()

    def stream(
        self,
        audio: AudioSource,
        *,
        progress: Progress | None = None,
        cancel: Cancel | None = None,
        time_limit: float | None = None,
        journal: str | os.PathLike[str] | None = None,
        trace: Trace | None = None,
        options: TranscribeOptions | None = None,
        **overrides: Any,
    ) -> SegmentStream:
        """An iterator over the segments of a recording, each as soon as it is final.

        Arguments and errors are those of `transcribe`. Options are checked, the audio is read and its language is
        settled at once; windows are decoded as segments are asked for. Closing the iterator ends the transcription.
        """
        settled = self._settle(options, overrides)
        run = self._run(settled, Stop(cancel, time_limit), progress, journal, trace)
        return start(self._decoder, audio, settled, run)

    def transcribe_many(
        self,
        sources: Iterable[AudioSource],
        *,
        n_windows: int | None = None,
        cancel: Cancel | None = None,
        time_limit: float | None = None,
        options: TranscribeOptions | None = None,
        **overrides: Any,
    ) -> Iterator[Outcome]:
        """Transcribe many recordings with their windows side by side; each as `transcribe` would alone.

        Args:
            sources: paths, or whatever else `transcribe` takes; read as they are needed.
            n_windows: windows that are decoded together: one of each recording, or several of its cuts where
                `batch_size` is more than 1. None takes what `batch_size="auto"` would.
            cancel: asked before each step of the decoder; True ends it all.
            time_limit: seconds that each recording may take, from its reading on, while others go on beside it; None
                sets no limit.
            options: how to transcribe.
            **overrides: fields of TranscribeOptions that replace those of `options`.

        Returns:
            An outcome for each source, in their order: its transcription, or its error with what was final before. An
            error of one recording, whatever it is, does not stop the others.

        Raises:
            OptionError: an option cannot be used, or does not fit the model; or `sources` is a single recording.
            StoppedError: `cancel` ended it; the error has what was final of the recording that comes next.
        """
        settled = self._settle(options, overrides)
        _check_several(sources)

        def begin(source: AudioSource, stream: Callable[..., SegmentStream]) -> SegmentStream:
            return stream(source, cancel=cancel, time_limit=time_limit, options=settled)

        Stop(cancel, time_limit)
        if n_windows is None:
            n_windows = self.batch_size(replace(settled, batch_size=AUTO))
        return outcomes(self.stream_many(sources, begin, n_windows=n_windows))

    def stream_many(
        self,
        items: Iterable[Item],
        begin: Callable[[Item, Callable[..., SegmentStream]], SegmentStream],
        *,
        n_windows: int = 8,
    ) -> Generator[tuple[Item, SegmentStream | Exception], None, None]:
        """Iterators over the segments of many recordings, whose windows are decoded side by side.

        Args:
            items: whatever stands for a recording, such as its path; taken as there is room.
            begin: called as `begin(item, stream)`; gives what `stream`, which takes the arguments of `Whisper.stream`,
                has made.
            n_windows: windows that are decoded together.

        Returns:
            The items in their order, each with its stream, or with the error of `begin`. A stream is closed when the
            next one is asked for.

        Raises:
            OptionError: of `begin`, or `n_windows` is not a number above 0.
        """
        if not isinstance(n_windows, int) or isinstance(n_windows, bool) or n_windows < 1:
            raise OptionError(f"n_windows must be a whole number of at least 1, got {n_windows!r}")

        def open_one(item: Item, plan: Plan) -> SegmentStream:
            beside = object.__new__(type(self))
            vars(beside).update(vars(self), _plan=plan)
            return begin(item, beside.stream)

        return streams_side_by_side(TaskPool(self.inference), items, open_one, n_windows)

    def batch_size(self, options: TranscribeOptions) -> int:
        """How many windows are decoded side by side with these options; `auto` is settled by the memory that is free.

        Up to 8, as long as there are no more than 20 hypotheses in all: a larger batch is no faster on a processor.
        Half of the memory that is free now must be enough for them.
        """
        if isinstance(options.batch_size, int):
            return options.batch_size
        return suitable_batch_size(self.inference, options.beam_size or 1, free_memory(self.device))

    def align(
        self,
        audio: AudioSource,
        text: str,
        language: str | None = None,
        *,
        progress: Progress | None = None,
        cancel: Cancel | None = None,
        time_limit: float | None = None,
    ) -> Alignment:
        """Find when each word of a known text is said, in a recording of any length.

        Args:
            audio: path, bytes, binary file object, or samples at 16 kHz (n_samples,).
            text: what is said, all of it or parts; line breaks and ends of sentences end lines.
            language: code or name of its language; None detects it.
            progress: called after each window with the seconds done and the seconds there are.
            cancel: asked before each call of the engine; True ends the alignment.
            time_limit: seconds after which the alignment ends, reading included; None sets no limit.

        Returns:
            All words in order; those that were not found have no times.

        Raises:
            OptionError: the text has no words, or the model does not know the language.
            AudioError: the audio cannot be read.
            BackendError: the engine does not tell where attention looks.
            StoppedError: `cancel` or `time_limit` ended it; its transcription has the words that were found.
        """
        stop = Stop(cancel, time_limit)
        check_call("progress", progress)
        return align(self._decoder, audio, text, language, self._heads(), stop=stop, progress=progress)

    def _run(
        self,
        options: TranscribeOptions,
        stop: Stop,
        progress: Progress | None,
        journal: str | os.PathLike[str] | None,
        trace: Trace | None,
    ) -> Run:
        check_call("progress", progress)
        if journal is not None:
            check_path("journal", journal)
        return Run(
            stop=stop,
            progress=progress,
            journal=journal,
            tracer=self._tracer(trace),
            model={"version": sasayaki.__version__, "name": self.name, "dims": to_plain(self.dims)},
            heads=self._heads() if isinstance(self.inference, AlignmentInference) else NO_HEADS,
            plan=self._plan or self._alone(options),
        )

    def _alone(self, options: TranscribeOptions) -> Plan:
        """How a recording is gone through that has no others beside it."""
        return partial(cuts_side_by_side, self.batch_size(options)) if options.cuts_recordings else one_after_the_other

    def _settle(self, options: TranscribeOptions | None, overrides: Mapping[str, Any]) -> TranscribeOptions:
        given = TranscribeOptions() if options is None else _checked(TranscribeOptions, options)
        settled = override(given, overrides)
        allowed_languages(self.tokenizer, parse_languages(settled.languages))
        if not self.is_multilingual:
            settled = _english_only(settled)
        for temperature in settled.temperatures:
            window = settled.for_window(temperature, language=settled.language, prompt=())
            self._decoder.check(replace(window, prompt=settled.initial_prompt))
        return settled

    def _heads(self) -> AlignmentHeads:
        if self.alignment_heads is None:
            return AlignmentHeads.unknown(self.dims.n_text_layer, self.dims.n_text_head)
        return AlignmentHeads.of(self.alignment_heads, self.head_lags)

    def _tracer(self, trace: Trace | None) -> Tracer | None:
        if trace is None:
            return None
        if not isinstance(trace, Trace):
            raise OptionError(f"trace must be a sasayaki.Trace or None, got {trace!r}")
        return Tracer(trace, self.inference, self.alignment_heads)

    def _encode(self, mel: Array) -> tuple[list[AudioFeatures], bool]:
        """Encoded windows of a mel or of encoder output, and whether it was a single one."""
        dims = self.dims
        shape = tuple(getattr(mel, "shape", ()))
        if len(shape) not in (2, 3) or "float" not in str(mel.dtype):
            raise AudioError(
                f"expected a float array ({dims.n_mels}, {2 * dims.n_audio_ctx}) or a batch of them, got "
                f"{getattr(mel, 'dtype', type(mel).__name__)} {shape}"
            )
        batch = mel[None] if len(shape) == 2 else mel
        if shape[-2:] == (dims.n_audio_ctx, dims.n_audio_state):
            return self.inference.wrap(batch), len(shape) == 2
        if shape[-2:] != (dims.n_mels, 2 * dims.n_audio_ctx):
            raise AudioError(
                f"expected a mel of shape ({dims.n_mels}, {2 * dims.n_audio_ctx}), 30 seconds, got {shape[-2:]}; "
                "use pad_or_trim, or transcribe for recordings of any length"
            )
        return self.inference.encode(batch), len(shape) == 2


def load_model(
    name: str | os.PathLike[str],
    device: str = "auto",
    download_root: str | os.PathLike[str] | None = None,
    *,
    backend: str = "auto",
    precision: str = "auto",
    threads: int | None = None,
    compiled: bool = False,
    local_files_only: bool = False,
    show_progress: bool = False,
) -> Whisper:
    """Load a Whisper model.

    Args:
        name: a name such as `base` or `large-v3` (see `available_models`), a hub id, or the path of a file or folder
            in the format of openai/whisper, Hugging Face, CTranslate2 or ggml.
        device: `cpu`, `cuda`, …; `auto` leaves it to the backend.
        download_root: cache folder to use instead of the Hugging Face one.
        backend: `openvino`, `torch`, or `auto`.
        precision: `float32`, `bfloat16`, `int8` (openvino), `float16` (torch), or `auto` for the fastest one that the
            processor supports.
        threads: threads to use; None takes one for each core that the process may use.
        compiled: let `torch.compile` compile the model (torch). The first window then takes a minute longer; meant for
            GPUs, on a processor it is not faster.
        local_files_only: never ask the hub.
        show_progress: show progress bars of downloads on stderr.

    Raises:
        ModelNotFoundError: no such model.
        CheckpointError: the model cannot be read.
        BackendError: the engine is not installed, or PyTorch cannot compile here.
        OptionError: an argument has a value that cannot be used.
    """
    check_path("name", name)
    check_flag("compiled", compiled)
    if download_root is not None:
        check_path("download_root", download_root)
    files = resolve(name, cache_dir=download_root, local_files_only=local_files_only, show_progress=show_progress)
    checkpoint = read_checkpoint(files.checkpoint)
    inference = create_inference(
        checkpoint,
        backend=backend,
        device=device,
        precision=precision,
        threads=threads,
        identity=files.identity,
        compiled=compiled,
    )
    return from_checkpoint(checkpoint, inference, name=files.name)


def get_model(name: str, *, backend: str = "auto", precision: str = "auto", threads: int | None = None) -> Whisper:
    """`load_model`, once in a process, for callers that may ask at the same moment.

    Callers with equal arguments share one model. It is kept until the process ends.
    """
    check_path("name", name)
    return _shared_models.get((name, backend, precision, threads))


def _load_shared(key: tuple[str, str, str, int | None]) -> Whisper:
    name, backend, precision, threads = key
    return load_model(name, backend=backend, precision=precision, threads=threads)


_shared_models = LoadOnce(_load_shared)


def from_checkpoint(checkpoint: Checkpoint, inference: Inference, *, name: str = "") -> Whisper:
    """Join a checkpoint's vocabulary and tables with the engine that runs it."""
    heads = checkpoint.alignment_heads or alignment_heads_for(name)
    return Whisper(
        inference,
        Tokenizer.for_vocab(checkpoint.dims.n_vocab, vocabulary=checkpoint.vocabulary),
        suppress=checkpoint.suppress_tokens,
        alignment_heads=heads,
        head_lags=checkpoint.head_lags or head_lags_for(heads),
        name=name,
    )


def available_models() -> list[str]:
    """Names that `load_model` knows."""
    return [*MODEL_NAMES, *(alias for alias in ALIASES if alias not in MODEL_NAMES)]


def _checked(kind: type[T], options: object) -> T:
    """The options, if they are of their kind."""
    if not isinstance(options, kind):
        name = kind.__name__
        raise OptionError(f"options must be {name}, got {options!r}; single options are keywords: beam_size=2")
    return options


def _check_several(sources: object) -> None:
    """Refuse a single recording, whose lines, bytes or samples would each be taken for one."""
    is_samples = getattr(sources, "ndim", 2) == 1 and getattr(getattr(sources, "dtype", None), "kind", "f") in "biuf"
    if is_samples or is_encoded(sources) or not is_collection(sources):
        raise OptionError(
            f"sources must be several recordings, such as a list of paths, got {reprlib.repr(sources)}; "
            "one recording is for transcribe"
        )


def _one_for_each(options: Sequence[DecodingOptions], mel: Array) -> Sequence[DecodingOptions]:
    """The options of each window, as many as there are windows."""
    n_window = len(mel) if len(getattr(mel, "shape", ())) == 3 else 1
    if len(options) != n_window:
        raise OptionError(f"expected options for all windows, or {n_window} of them, one for each; got {len(options)}")
    return options


def _english_only(options: TranscribeOptions) -> TranscribeOptions:
    """The options with language and task replaced by what an English-only model can do, with a warning."""
    code = None if options.language is None else to_language_code(options.language)
    if code not in (None, "en") or options.task != "transcribe":
        asked = f"language={options.language!r}, task={options.task!r}"
        warnings.warn(f"an English-only model transcribes English; {asked} is not used", stacklevel=4)
    return replace(options, language="en", task="transcribe", multilingual=False)
