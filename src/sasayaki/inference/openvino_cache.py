"""Compiled graphs: built at first use, and kept on disk so that the next process only maps them into memory."""

from __future__ import annotations

import hashlib
import logging
import mmap
import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from sasayaki.checkpoints.files import user_cache
from sasayaki.inference.openvino_runtime import core, ov

logger = logging.getLogger(__name__)

_SUFFIX = ".graph"
_UNFINISHED = _SUFFIX + ".part"
_DAY = 24 * 3600
_N_DIGEST = hashlib.sha256().digest_size

_MAX_BYTES = 8 << 30
"""Graphs that were not used for the longest time go when all together are larger."""


def default_folder() -> Path | None:
    """The user's folder of compiled graphs; None when SASAYAKI_GRAPHS, which may name another, is `off`."""
    named = os.environ.get("SASAYAKI_GRAPHS")
    if named:
        return None if named == "off" else Path(named).expanduser()
    return user_cache() / "sasayaki" / "graphs"


@dataclass(frozen=True, slots=True)
class GraphStore:
    """A folder of compiled graphs of one model.

    A file is the SHA-256 of a graph, then the graph. Its name is the hash of all that the graph depends on: weights,
    options, processor, OpenVINO's version, and the code that builds it. Files appear whole, by a rename, so that any
    number of processes may read and write; a file that is damaged is not used and written anew. Where the folder
    cannot be written nothing is kept.

    Attributes:
        folder: where the files are; made when needed.
        identity: of the model's weights, as `ModelFiles.identity`.
        failed: set when a graph could not be kept.
    """

    folder: Path
    identity: str
    failed: threading.Event = field(default_factory=threading.Event, compare=False, repr=False)

    def load(self, name: str, options: dict[str, Any]) -> Any | None:
        """The compiled graph of this name, or None when there is none that can be used."""
        path = self._path(name, options)
        try:
            with path.open("rb") as file:
                if not _is_whole(file):
                    return None
                mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
        except OSError:
            return None
        with suppress(OSError):  # a file of another user, or on a disk that is only read
            path.touch()
        graph = np.frombuffer(mapped, np.uint8, offset=_N_DIGEST)
        try:
            compiled = core().import_model(ov.Tensor(graph, shared_memory=True), "CPU", options)
        except RuntimeError:  # OpenVINO's own check of versions
            return None
        return _Mapped(compiled, mapped)

    def save(self, name: str, options: dict[str, Any], compiled: Any) -> None:
        """Keep a compiled graph, if the disk and OpenVINO let us; what stopped one stops the others."""
        if self.failed.is_set():
            return
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._write(self._path(name, options), compiled.export_model().getvalue())
            _forget_oldest(self.folder)
        except (OSError, RuntimeError) as error:  # RuntimeError is OpenVINO's
            self.failed.set()
            logger.warning(
                "cannot keep the compiled %s in %s, it will be compiled again; SASAYAKI_GRAPHS can name another folder "
                "or be off: %s",
                *(name, self.folder, error),
            )

    def _write(self, path: Path, graph: bytes) -> None:
        """Write a file that appears whole or not at all."""
        handle, temporary = tempfile.mkstemp(dir=self.folder, prefix=f"{os.getpid()}-", suffix=_UNFINISHED)
        try:
            with os.fdopen(handle, "wb") as file:
                os.chmod(temporary, self.folder.stat().st_mode & 0o666)  # whoever may see the folder may read
                file.write(hashlib.sha256(graph).digest())
                file.write(graph)
            os.replace(temporary, path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise

    def _path(self, name: str, options: dict[str, Any]) -> Path:
        depends_on = [self.identity, _environment(), name, *(f"{key}={options[key]}" for key in sorted(options))]
        return self.folder / (hashlib.sha256("\n".join(depends_on).encode()).hexdigest()[:32] + _SUFFIX)


class CompiledGraph:
    """A graph that is loaded, or built and compiled, at its first use, once, whichever thread comes first.

    Args:
        name: tells it from the other graphs of the model.
        build: makes the graph.
        options: for `compile_model`.
        store: where compiled graphs are kept; None keeps none.
    """

    def __init__(self, name: str, build: Callable[[], Any], options: dict[str, Any], store: GraphStore | None) -> None:
        self._name = name
        self._build = build
        self._options = options
        self._store = store
        self._lock = threading.Lock()
        self._compiled: Any = None
        self._idle: list[Any] = []

    def create_infer_request(self) -> Any:
        """A new request of the compiled graph."""
        with self._lock:
            if self._compiled is None:
                self._compiled = self._load() or self._compile()
            else:
                self._settle()
        return self._compiled.create_infer_request()

    @contextmanager
    def request(self) -> Iterator[Any]:
        """A request that nobody else has meanwhile; one that was used before has its memory at hand."""
        with self._lock:
            found = self._idle.pop() if self._idle else None
        request = found or self.create_infer_request()
        yield request
        with self._lock:
            self._settle()
            self._idle.append(request)

    def _settle(self) -> None:
        """A request has been used, most likely."""
        if isinstance(self._compiled, _Mapped):
            self._compiled.settle()

    def _load(self) -> Any | None:
        return self._store and self._store.load(self._name, self._options)

    def _compile(self) -> Any:
        compiled = core().compile_model(self._build(), "CPU", self._options)
        if self._store:
            self._store.save(self._name, self._options, compiled)
        return compiled


@dataclass(slots=True)
class _Mapped:
    """A compiled graph and the memory that it reads its weights from."""

    compiled: Any
    memory: mmap.mmap
    is_settled: bool = False

    def create_infer_request(self) -> Any:
        return self.compiled.create_infer_request()

    def settle(self) -> None:
        """Give pages back, once: in its first call the plug-in packs most weights anew. Others are read again."""
        if not self.is_settled and hasattr(mmap, "MADV_DONTNEED"):
            self.memory.madvise(mmap.MADV_DONTNEED)
        self.is_settled = True


def _is_whole(file: BinaryIO) -> bool:
    """Whether what follows the digest is what was digested; read, not mapped, so that it takes no memory."""
    expected, found = file.read(_N_DIGEST), hashlib.sha256()
    while block := file.read(1 << 20):
        found.update(block)
    return found.digest() == expected


@cache
def _environment() -> str:
    """What a compiled graph depends on beside model and options."""
    code = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("openvino_*.py")):
        code.update(path.read_bytes())
    device = [str(core().get_property("CPU", name)) for name in ("FULL_DEVICE_NAME", "OPTIMIZATION_CAPABILITIES")]
    return "\n".join([code.hexdigest(), ov.get_version(), *device])


def _forget_oldest(folder: Path) -> None:
    """Delete graphs, those unused for the longest time first, until the rest fits, and what a crash left unfinished."""
    total = 0
    for used, size, path in sorted(_files(folder), reverse=True):
        total += size
        is_leftover = path.name.endswith(_UNFINISHED) and used < time.time() - _DAY
        if is_leftover or total > _MAX_BYTES:
            path.unlink(missing_ok=True)


def _files(folder: Path) -> Iterator[tuple[float, int, Path]]:
    """When they were used, their bytes, and where they are, finished or not."""
    for path in folder.glob(f"*{_SUFFIX}*"):
        with suppress(FileNotFoundError):  # another process has deleted it meanwhile
            stat = path.stat()
            yield stat.st_mtime, stat.st_size, path
