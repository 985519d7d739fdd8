"""Decode recordings of any container and codec to mono samples at one rate, with the FFmpeg inside PyAV.

Files are opened here and handed to FFmpeg as open files: a name is never read as a URL, a protocol or an
option.
`decode_blocks` yields samples as they are decoded, in constant memory; `load_audio` joins them.
"""

import io
import logging
import os
from collections.abc import Generator, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import dataclass
from itertools import chain, groupby
from typing import Any, BinaryIO, TypeAlias, TypeGuard, cast

import numpy as np
import numpy.typing as npt

from sasayaki.audio.constants import SAMPLE_RATE
from sasayaki.audio.waveform import Waveform, as_waveform
from sasayaki.errors import AudioError
from sasayaki.option_values import check_whole_number, required

logger = logging.getLogger(__name__)

EncodedAudio: TypeAlias = "str | os.PathLike[str] | bytes | BinaryIO"
AudioSource: TypeAlias = "EncodedAudio | npt.ArrayLike"

_SHORTEST_GAP_S = 0.1  # timestamps of sound containers jitter by up to 10 ms


def load_audio(source: AudioSource, sr: int = SAMPLE_RATE) -> Waveform:
    """Read a recording as a waveform, the same samples as openai/whisper's `load_audio`.

    The sound is resampled and mixed down to 16-bit mono by FFmpeg and divided by 32768. Damaged parts are
    left out and reported by one warning in the log.

    Args:
        source: path of a file of any format (video too), its content as bytes, a binary file object (read
            from its present position, left open), or an array of samples at that rate (`as_waveform`).
        sr: samples per second of the result.

    Returns:
        The waveform (n_samples,), float32 in -1..1.

    Raises:
        AudioError: the source cannot be read, is no recording, or holds no audio.
        OptionError: `sr` is no whole number above 0.
    """
    check_whole_number("sr", required("sr", sr), least=1)
    if not is_encoded(source):
        return as_waveform(cast("npt.ArrayLike", source))
    blocks = list(decode_blocks(source, sample_rate=sr))
    waveform = np.concatenate(blocks, dtype=np.float32)
    waveform /= 32768
    return waveform


def decode_blocks(
    source: EncodedAudio, *, sample_rate: int = SAMPLE_RATE
) -> Generator[npt.NDArray[np.int16], None, None]:
    """Yield a recording piece by piece as it is decoded: mono blocks (n,), int16, of no fixed length.

    Close the iterator (`contextlib.closing`) to let go of the file before its end. Arguments and errors are
    those of `load_audio`; they are raised at the first or a later block.
    """
    with closing(_decode_source(source, sample_rate, is_mono=True)) as blocks:
        for block in blocks:
            yield block[0]


def decode_channels(
    source: EncodedAudio, *, sample_rate: int = SAMPLE_RATE
) -> Generator[npt.NDArray[np.int16], None, None]:
    """Yield a recording piece by piece with its channels apart: blocks (n_channels, n), int16.

    All blocks have the channels that the recording begins with. Otherwise as `decode_blocks`.
    """
    return _decode_source(source, sample_rate, is_mono=False)


def _decode_source(
    source: EncodedAudio, sample_rate: int, *, is_mono: bool
) -> Generator[npt.NDArray[np.int16], None, None]:
    check_whole_number("sample_rate", sample_rate, least=1)
    from av.error import FFmpegError

    name, damage, n_samples = _name(source), _Damage(), 0
    try:
        with _open_source(source, name) as reader, _open_container(reader) as container:
            stream = _audio_stream(container, name)
            for block in _resample(_decode(container, stream, damage), sample_rate, is_mono=is_mono):
                n_samples += block.shape[1]
                yield block
    except AudioError:
        raise
    except (FFmpegError, OSError, ValueError) as error:
        raise AudioError(f"{name} cannot be read as a recording: {_reason(error, source)}") from error
    if n_samples == 0:
        found = f"{damage.n_packets} packets, all damaged" if damage.n_packets else "a header without samples"
        raise AudioError(f"{name} holds no audio: {found}")
    damage.report(name)


@dataclass
class _Damage:
    """What had to be left out of a recording."""

    n_packets: int = 0
    missing_s: float = 0.0

    def note_gap(self, start_s: float, previous_end_s: float | None) -> None:
        if previous_end_s is not None and start_s - previous_end_s > _SHORTEST_GAP_S:
            self.missing_s += start_s - previous_end_s

    def report(self, name: str) -> None:
        if self.n_packets or self.missing_s:
            logger.warning(
                "%s is damaged: %d packets cannot be decoded and %.2f s are missing; the rest is used",
                name,
                self.n_packets,
                self.missing_s,
            )


def is_encoded(source: Any) -> TypeGuard[EncodedAudio]:
    """Whether the source has to be decoded, and is no array of samples."""
    return isinstance(source, (str, os.PathLike, bytes, bytearray, memoryview)) or hasattr(source, "read")


def _name(source: Any) -> str:
    """The source in a message: one line, whatever the path holds."""
    if isinstance(source, (str, os.PathLike)):
        return repr(os.fspath(source))
    return "the file object" if hasattr(source, "read") else "the given data"


class _Reader:
    """An open binary file as FFmpeg gets it.

    Of the name only the suffix is kept: it tells formats without a header (.gsm, .al), and nothing else in a
    name can mislead FFmpeg or break its encoding.
    """

    def __init__(self, file: BinaryIO, path: Any) -> None:
        suffix = os.path.splitext(path)[1] if isinstance(path, str) else ""
        self.name = f"audio{suffix}" if suffix.isascii() and suffix[1:].isalnum() else "audio"
        self.read = file.read
        if _is_seekable(file):
            self.seek, self.tell = file.seek, file.tell


def _is_seekable(file: Any) -> bool:
    return hasattr(file, "seekable") and bool(file.seekable())


@contextmanager
def _open_source(source: Any, name: str) -> Iterator[_Reader]:
    """Open what has to be opened, check it as far as that needs no FFmpeg, and close what was opened."""
    if isinstance(source, (str, os.PathLike)):
        path: Any = os.fsdecode(source)
        opened: AbstractContextManager[Any] = open(path, "rb")  # noqa: SIM115 (closed below)
    elif hasattr(source, "read"):
        path, opened = getattr(source, "name", None), nullcontext(source)
    else:
        path, opened = None, io.BytesIO(source)
    with opened as file:
        if not isinstance(file.read(0), bytes):
            raise AudioError(f"{name} gives text; open it in binary mode ('rb')")
        if _is_seekable(file):
            file = _from_here(file, name)
        yield _Reader(file, path)


def _from_here(file: BinaryIO, name: str) -> BinaryIO:
    """The rest of a seekable file, with its present position as position 0."""
    begin = file.tell()
    file.seek(0, os.SEEK_END)
    n_bytes = file.tell() - begin
    file.seek(begin)
    if n_bytes <= 0:
        raise AudioError(f"{name} is empty (0 bytes to read); expected a recording")
    return io.BytesIO(file.read()) if begin else file


def _open_container(reader: _Reader) -> Any:
    import av

    # Formats that refer to other files (playlists) must not make FFmpeg open them.
    options: dict[str, Any] = {"options": {"protocol_whitelist": "none"}}
    if int(av.__version__.partition(".")[0]) < 19:  # later versions never fail over tags that are not UTF-8
        options["metadata_errors"] = "ignore"
    return av.open(reader, mode="r", **options)


def _audio_stream(container: Any, name: str) -> Any:
    if not container.streams.audio:
        kinds = sorted({stream.type for stream in container.streams})
        raise AudioError(f"{name} has no audio stream, only {' and '.join(kinds) or 'a header'}")
    stream = container.streams.best("audio")
    if stream is None or stream.codec_context is None:
        raise AudioError(f"{name} has an audio stream that this FFmpeg has no decoder for")
    return stream


def _decode(container: Any, stream: Any, damage: _Damage) -> Iterator[Any]:
    """Yield the frames that can be decoded and count what cannot."""
    from av.error import FFmpegError

    end_s: float | None = None
    for packet in _demux(container, stream, damage):
        try:
            frames = packet.decode()
        except FFmpegError:
            damage.n_packets += 1
            continue
        for frame in frames:
            start_s = end_s if frame.time is None else frame.time
            if start_s is not None:
                damage.note_gap(start_s, end_s)
                end_s = start_s + frame.samples / frame.sample_rate
            yield frame


def _demux(container: Any, stream: Any, damage: _Damage) -> Iterator[Any]:
    """Yield packets until the end, or until FFmpeg can find no more."""
    from av.error import FFmpegError

    try:
        yield from container.demux(stream)
    except FFmpegError:
        damage.n_packets += 1


def _resample(frames: Iterator[Any], sample_rate: int, *, is_mono: bool) -> Iterator[npt.NDArray[np.int16]]:
    """Convert frames to blocks (n_channels, n), int16; the form of the frames may change on the way."""
    from av import AudioResampler

    layout = "mono" if is_mono else None
    for _, run in groupby(frames, key=lambda frame: (frame.format.name, frame.layout.name, frame.sample_rate)):
        first = next(run)
        layout = layout or first.layout.name
        resampler = AudioResampler(format="s16p", layout=layout, rate=sample_rate)
        for frame in chain([first], run, [None]):  # None flushes the resampler
            for resampled in resampler.resample(frame):
                yield resampled.to_ndarray()


def _reason(error: Exception, source: Any) -> str:
    reason = getattr(error, "strerror", None) or str(error)
    if isinstance(source, str) and "://" in source:
        reason += "; only files are read, so download it first"
    return reason
