"""sasayaki and its peers behind one method: audio in, text out. A peer is imported when it is used."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.recordings import Samples, read_samples


class Engine:
    """One way to transcribe.

    Args:
        model: `base`, `tiny.en`, …
        folder: models of peers: `ct2/NAME`, `openai/NAME.pt`, `ov/NAME-int8`, `ggml/NAME-q8_0.bin`. Where one is
            missing, its peer looks for the model by name.
        threads: threads to use.
        beam: number of beams, 1 for greedy decoding.
    """

    package = ""
    """The distribution, whose version stands in the results."""

    batch = 1
    """Windows side by side."""

    def __init__(self, model: str, folder: Path, *, threads: int, beam: int) -> None:
        self.model = model
        self.folder = folder
        self.threads = threads
        self.beam = beam
        self.is_english = model.endswith(".en")
        self.load()

    def load(self) -> None:
        """Make ready."""
        raise NotImplementedError

    def opened(self, path: Path) -> Samples | str:
        """What `transcribe` takes for a file: its path, if the engine reads files itself, or samples."""
        return read_samples(path)

    def transcribe(self, audio: Samples | str, *, language: str, policy: str) -> str:
        """The text of a recording.

        Args:
            audio: float32 samples (n_samples,) at 16 kHz, or what `opened` gave.
            language: code of the language.
            policy: `matched` decodes at temperature 0 alone and without text of earlier windows, and peers that decode
                window by window find no voice activity first; `defaults` leaves each engine its defaults.
        """
        raise NotImplementedError

    def version(self) -> str:
        """Name and version of the package."""
        return f"{self.package} {version(self.package)}"

    def found(self, path: str, name: str | None = None) -> str:
        """A file or folder of `folder`, or where it is not there, the model's name for the peer to look up."""
        return str(self.folder / path) if (self.folder / path).exists() else name or self.model


class ReadsFiles(Engine):
    """An engine that is given a path."""

    def opened(self, path: Path) -> Samples | str:
        """See Engine."""
        return str(path)


class Sasayaki(ReadsFiles):
    """This library, with the precision that it chooses."""

    package = "sasayaki"
    options: dict[str, Any] = {}  # noqa: RUF012, never changed

    def load(self) -> None:
        """Load by name."""
        import sasayaki

        self.engine = sasayaki.load_model(self.model, threads=self.threads)

    def transcribe(self, audio: Samples | str, *, language: str, policy: str) -> str:
        """See Engine."""
        options = self.options | {"beam_size": self.beam if self.beam > 1 else None, "batch_size": self.batch}
        if policy == "matched":
            options |= {"temperature": 0.0, "condition_on_previous_text": False}
        return str(self.engine.transcribe(audio, language="en" if self.is_english else language, **options).text)


class SasayakiBatch8(Sasayaki):
    """Cuts at silences, eight side by side."""

    batch = 8


class SasayakiFull(Sasayaki):
    """Short recordings with all the silence behind them."""

    options = {"short_context": False}  # noqa: RUF012


class FasterWhisper(ReadsFiles):
    """faster-whisper with int8, its fastest type on a CPU."""

    package = "faster-whisper"

    def load(self) -> None:
        """Load a CTranslate2 folder or by name."""
        from faster_whisper import WhisperModel

        path = self.found(f"ct2/{self.model}")
        self.engine: Any = WhisperModel(path, device="cpu", compute_type="int8", cpu_threads=self.threads)

    def transcribe(self, audio: Samples | str, *, language: str, policy: str) -> str:
        """See Engine."""
        options: dict[str, Any] = {"beam_size": self.beam, "language": "en" if self.is_english else language}
        if policy == "matched":
            options |= {"temperature": 0.0, "condition_on_previous_text": False, "vad_filter": False}
        segments, _ = self.engine.transcribe(audio, **options)
        return "".join(segment.text for segment in segments)


class FasterWhisperBatch8(FasterWhisper):
    """Its batched pipeline, which always cuts by voice activity and decodes at one temperature."""

    batch = 8

    def load(self) -> None:
        """Load, and put the pipeline around the model."""
        from faster_whisper import BatchedInferencePipeline

        super().load()
        self.pipeline = BatchedInferencePipeline(self.engine)

    def transcribe(self, audio: Samples | str, *, language: str, policy: str) -> str:
        """See Engine."""
        options = {"beam_size": self.beam, "language": "en" if self.is_english else language}
        segments, _ = self.pipeline.transcribe(audio, batch_size=self.batch, **options)
        return "".join(segment.text for segment in segments)


class OpenAI(Engine):
    """openai/whisper at float32."""

    package = "openai-whisper"

    def load(self) -> None:
        """Load a checkpoint or by name."""
        import torch
        import whisper

        torch.set_num_threads(self.threads)
        self.engine = whisper.load_model(self.found(f"openai/{self.model}.pt"), device="cpu")

    def transcribe(self, audio: Samples | str, *, language: str, policy: str) -> str:
        """See Engine; the defaults are those of its command line."""
        options: dict[str, Any] = {"beam_size": self.beam if self.beam > 1 else None, "fp16": False, "best_of": 5}
        options["language"] = "en" if self.is_english else language
        if policy == "matched":
            options |= {"temperature": 0.0, "condition_on_previous_text": False, "best_of": None}
        return str(self.engine.transcribe(audio, **options)["text"])


class OpenVINOGenAI(Engine):
    """OpenVINO GenAI with int8 weights; it has neither fallback nor conditioning."""

    package = "openvino-genai"

    def load(self) -> None:
        """Load an exported folder."""
        import openvino_genai

        path = self.found(f"ov/{self.model}-int8")
        options = {"INFERENCE_NUM_THREADS": self.threads, "PERFORMANCE_HINT": "LATENCY"}
        self.engine = openvino_genai.WhisperPipeline(path, "CPU", **options)

    def transcribe(self, audio: Samples | str, *, language: str, policy: str) -> str:
        """See Engine."""
        options: dict[str, Any] = {"return_timestamps": True}
        if self.beam > 1:
            options["num_beams"] = self.beam
        if not self.is_english:
            options |= {"language": f"<|{language}|>", "task": "transcribe"}
        return str(self.engine.generate(audio, **options).texts[0])


class WhisperCpp(Engine):
    """whisper.cpp through pywhispercpp, with 16-bit weights."""

    package = "pywhispercpp"
    weights = "f16"

    def load(self) -> None:
        """Load for greedy decoding or beam search, which are models of their own there."""
        from pywhispercpp.model import Model

        name = self.model if self.weights == "f16" else f"{self.model}-{self.weights}"
        path = self.found(f"ggml/{self.model}-{self.weights}.bin", name)
        quiet = {"print_progress": False, "print_realtime": False, "redirect_whispercpp_logs_to": None}
        self.engine = Model(path, params_sampling_strategy=int(self.beam > 1), n_threads=self.threads, **quiet)

    def transcribe(self, audio: Samples | str, *, language: str, policy: str) -> str:
        """See Engine."""
        options: dict[str, Any] = {"language": "en" if self.is_english else language}
        if self.beam > 1:
            options["beam_search"] = {"beam_size": self.beam, "patience": -1.0}
        if policy == "matched":
            options |= {"temperature": 0.0, "temperature_inc": 0.0, "no_context": True, "greedy": {"best_of": 1}}
        return " ".join(segment.text for segment in self.engine.transcribe(audio, **options))


class WhisperCppInt8(WhisperCpp):
    """whisper.cpp with 8-bit weights."""

    weights = "q8_0"


ENGINES: dict[str, type[Engine]] = {
    "sasayaki": Sasayaki,
    "sasayaki-full": SasayakiFull,
    "sasayaki-batch8": SasayakiBatch8,
    "fw-int8": FasterWhisper,
    "fw-int8-batch8": FasterWhisperBatch8,
    "ovgenai-int8": OpenVINOGenAI,
    "openai-f32": OpenAI,
    "whispercpp-f16": WhisperCpp,
    "whispercpp-q8": WhisperCppInt8,
}
"""Engines by the names of the command line and the tables."""
