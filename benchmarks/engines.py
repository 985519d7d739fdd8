"""sasayaki and its peers behind one method: samples in, text out. A peer is imported when it is used."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy.typing as npt

Samples = npt.NDArray[Any]


class Engine:
    """One way to transcribe.

    Args:
        model: `base`, `tiny.en`, …
        folder: models of peers: `ct2/NAME`, `openai/NAME.pt`, `ov/NAME-int8`, `ggml/NAME-f16.bin`. Where one is
            missing, its peer looks for the model by name.
        threads: threads to use.
    """

    batch = 1

    def __init__(self, model: str, folder: Path, threads: int) -> None:
        self.model = model
        self.folder = folder
        self.threads = threads
        self.is_english = model.endswith(".en")
        self.load()

    def load(self) -> None:
        """Make ready."""
        raise NotImplementedError

    def prepare(self, beam: int) -> None:
        """What an engine must do before requests with another number of beams; not timed."""

    def transcribe(self, samples: Samples, *, beam: int, language: str, policy: str) -> str:
        """The text of 16 kHz samples.

        Args:
            samples: float32 (n_samples,).
            beam: number of beams, 1 for greedy decoding.
            language: code of the language.
            policy: `matched` decodes at temperature 0 alone, without text of earlier windows and without voice
                activity detection; `default` leaves each engine its defaults.
        """
        raise NotImplementedError

    def find(self, path: str) -> str:
        """A file or folder of `folder`, or the model's name where it is not there."""
        return str(self.folder / path) if (self.folder / path).exists() else self.model


class Sasayaki(Engine):
    """This library, with the precision that it chooses."""

    def load(self) -> None:
        """Load by name."""
        import sasayaki

        self.engine = sasayaki.load_model(self.model, threads=self.threads)

    def transcribe(self, samples: Samples, *, beam: int, language: str, policy: str) -> str:
        """See Engine."""
        options: dict[str, Any] = {"beam_size": beam if beam > 1 else None, "batch_size": self.batch}
        if policy == "matched":
            options |= {"temperature": 0.0, "condition_on_previous_text": False}
            if self.batch == 1:
                options |= {"vad": "off", "coverage_guard": False}
        return str(self.engine.transcribe(samples, language="en" if self.is_english else language, **options).text)


class SasayakiBatch8(Sasayaki):
    """Cuts at silences, eight side by side."""

    batch = 8


class FasterWhisper(Engine):
    """faster-whisper with int8, its fastest type on a CPU."""

    def load(self) -> None:
        """Load a CTranslate2 folder or by name."""
        from faster_whisper import WhisperModel

        path = self.find(f"ct2/{self.model}")
        self.engine: Any = WhisperModel(path, device="cpu", compute_type="int8", cpu_threads=self.threads)

    def transcribe(self, samples: Samples, *, beam: int, language: str, policy: str) -> str:
        """See Engine."""
        options: dict[str, Any] = {"beam_size": beam, "language": "en" if self.is_english else language}
        if policy == "matched":
            options |= {"temperature": 0.0, "condition_on_previous_text": False, "vad_filter": False}
        segments, _ = self.engine.transcribe(samples, **options)
        return "".join(segment.text for segment in segments)


class FasterWhisperBatch8(FasterWhisper):
    """Its batched pipeline, which always cuts by voice activity and decodes at one temperature."""

    batch = 8

    def load(self) -> None:
        """Load, and put the pipeline around the model."""
        from faster_whisper import BatchedInferencePipeline

        super().load()
        self.pipeline = BatchedInferencePipeline(self.engine)

    def transcribe(self, samples: Samples, *, beam: int, language: str, policy: str) -> str:
        """See Engine."""
        language = "en" if self.is_english else language
        segments, _ = self.pipeline.transcribe(samples, batch_size=self.batch, beam_size=beam, language=language)
        return "".join(segment.text for segment in segments)


class OpenAI(Engine):
    """openai/whisper at float32."""

    def load(self) -> None:
        """Load a checkpoint or by name."""
        import torch
        import whisper

        torch.set_num_threads(self.threads)
        self.engine = whisper.load_model(self.find(f"openai/{self.model}.pt"), device="cpu")

    def transcribe(self, samples: Samples, *, beam: int, language: str, policy: str) -> str:
        """See Engine."""
        options: dict[str, Any] = {"beam_size": beam if beam > 1 else None, "fp16": False}
        options["language"] = "en" if self.is_english else language
        if policy == "matched":
            options |= {"temperature": 0.0, "condition_on_previous_text": False}
        return str(self.engine.transcribe(samples, **options)["text"])


class OpenVINOGenAI(Engine):
    """OpenVINO GenAI with int8 weights; it has neither fallback nor conditioning."""

    def load(self) -> None:
        """Load an exported folder."""
        import openvino_genai

        path = self.find(f"ov/{self.model}-int8")
        options = {"INFERENCE_NUM_THREADS": self.threads, "PERFORMANCE_HINT": "LATENCY"}
        self.engine = openvino_genai.WhisperPipeline(path, "CPU", **options)

    def transcribe(self, samples: Samples, *, beam: int, language: str, policy: str) -> str:
        """See Engine."""
        options: dict[str, Any] = {"return_timestamps": True}
        if beam > 1:
            options["num_beams"] = beam
        if not self.is_english:
            options |= {"language": f"<|{language}|>", "task": "transcribe"}
        return str(self.engine.generate(samples, **options).texts[0])


class WhisperCpp(Engine):
    """whisper.cpp through pywhispercpp; beam search and greedy decoding are models of their own there."""

    def load(self) -> None:
        """Load for greedy decoding."""
        self.is_search: bool | None = None
        self.prepare(1)

    def prepare(self, beam: int) -> None:
        """Load anew for the other kind of decoding."""
        from pywhispercpp.model import Model

        if self.is_search == (beam > 1):
            return
        self.is_search = beam > 1
        self.engine: Any = None
        options = {"n_threads": self.threads, "print_progress": False, "print_realtime": False}
        path = self.find(f"ggml/{self.model}-f16.bin")
        self.engine = Model(path, params_sampling_strategy=int(beam > 1), redirect_whispercpp_logs_to=None, **options)

    def transcribe(self, samples: Samples, *, beam: int, language: str, policy: str) -> str:
        """See Engine."""
        options: dict[str, Any] = {"language": "en" if self.is_english else language}
        if beam > 1:
            options["beam_search"] = {"beam_size": beam, "patience": -1.0}
        if policy == "matched":
            options |= {"temperature": 0.0, "temperature_inc": 0.0, "no_context": True, "greedy": {"best_of": 1}}
        return " ".join(segment.text for segment in self.engine.transcribe(samples, **options))


ENGINES: dict[str, type[Engine]] = {
    "sasayaki": Sasayaki,
    "sasayaki-batch8": SasayakiBatch8,
    "fw-int8": FasterWhisper,
    "fw-int8-batch8": FasterWhisperBatch8,
    "ovgenai-int8": OpenVINOGenAI,
    "openai-f32": OpenAI,
    "whispercpp-f16": WhisperCpp,
}
"""Engines by the names of the command line and the tables."""


def environment(threads: int) -> dict[str, str]:
    """Environment of an engine's process: every library in it gets as many threads."""
    names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    return dict(os.environ) | dict.fromkeys(names, str(threads)) | {"TOKENIZERS_PARALLELISM": "false"}
