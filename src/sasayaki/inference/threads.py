"""How many threads an engine should start where a container or the environment limits the process.

Which processors the process may use, and which of them are fast, is for the engine to find out.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

ROOT = Path("/")


def limited_threads(root: Path = ROOT, environment: Mapping[str, str] = os.environ) -> int | None:
    """The number of threads that a limit leaves to this process; None where there is no limit below its cores.

    Limits are OMP_NUM_THREADS, by which programs with several processes share a machine, and the processor time of the
    control groups (v1 and v2) that the process is in: threads beyond it would all be stopped together, in the middle of
    a matrix product. Parts of a processor are rounded.

    Args:
        root: folder that holds `proc` and `sys`.
        environment: variables of the process.
    """
    limits = [limit for limit in (_from_environment(environment), _from_groups(root)) if limit is not None]
    if not limits or min(limits) >= _n_cores(root, usable_processors()):
        return None
    return min(limits)


def usable_processors() -> Collection[int]:
    """Numbers of the processors that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return os.sched_getaffinity(0)
    return range(os.cpu_count() or 1)


def _from_environment(environment: Mapping[str, str]) -> int | None:
    """The first number of OMP_NUM_THREADS, which may give one for each level of nested loops."""
    first = environment.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
    return int(first) if first.isdecimal() and int(first) else None


def _from_groups(root: Path) -> int | None:
    quotas = [quota for mount in _mounts(root) for quota in mount.quotas(root)]
    return max(1, int(min(quotas) + 0.5)) if quotas else None


def _n_cores(root: Path, processors: Collection[int]) -> int:
    """Number of cores; processors that share one count once."""
    cores = set()
    for processor in processors:
        path = root / f"sys/devices/system/cpu/cpu{processor}/topology/thread_siblings_list"
        cores.add(_read(path) or str(processor))
    return len(cores)


@dataclass(frozen=True, slots=True)
class _Mount:
    """Where a hierarchy of control groups is mounted, and which of its groups this process is in.

    Attributes:
        point: folder.
        top: group that the folder shows.
        group: of this process.
    """

    point: PurePosixPath
    top: PurePosixPath
    group: PurePosixPath

    def quotas(self, root: Path) -> Iterator[float]:
        """Processors' worth of time that the group and each one above it may use, where it is limited."""
        inside = self.group.relative_to(self.top) if self.group.is_relative_to(self.top) else PurePosixPath()
        folder = root / self.point.relative_to("/")
        for part in (None, *inside.parts):
            folder = folder / part if part else folder
            limits = _read(folder / "cpu.max").split()
            if not limits:
                limits = [_read(folder / f"cpu.cfs_{name}_us") for name in ("quota", "period")]
            with suppress(ValueError, ZeroDivisionError):
                quota = int(limits[0]) / int(limits[1])
                if quota > 0:
                    yield quota


def _mounts(root: Path) -> Iterator[_Mount]:
    """The hierarchies that may limit processor time."""
    groups = dict(_groups(root))
    for line in _read(root / "proc/self/mountinfo").splitlines():
        before, _, after = line.partition(" - ")
        fields, kind = before.split(), after.split()
        if len(fields) < 5 or len(kind) < 3:
            continue
        is_v1 = kind[0] == "cgroup" and "cpu" in kind[2].split(",")
        group = groups.get("cpu" if is_v1 else "")
        if group and (is_v1 or kind[0] == "cgroup2"):
            yield _Mount(PurePosixPath(_plain(fields[4])), PurePosixPath(_plain(fields[3])), PurePosixPath(group))


def _groups(root: Path) -> Iterator[tuple[str, str]]:
    """This process's group by controller; the name of version 2 is empty (see cgroups(7), /proc/pid/cgroup)."""
    for line in _read(root / "proc/self/cgroup").splitlines():
        controllers, _, group = line.partition(":")[2].partition(":")
        for controller in controllers.split(","):
            yield controller, group


def _plain(name: str) -> str:
    """A path of mountinfo without its escaped spaces."""
    return name.replace("\\040", " ")


def _read(path: Path) -> str:
    """The text of a file, empty where it cannot be read."""
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""
