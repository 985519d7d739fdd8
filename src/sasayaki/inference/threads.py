"""How many threads an engine should start where a container or the environment limits the process.

Which processors the process may use, and which of them are fast, is for the engine to find out.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from sasayaki.inference.control_groups import ROOT, group_folders, read_text


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
    quotas = [quota for folder in group_folders("cpu", root) for quota in _quotas(folder)]
    return max(1, int(min(quotas) + 0.5)) if quotas else None


def _quotas(folder: Path) -> Iterator[float]:
    """Processors' worth of time that a control group may use, if it is limited."""
    limits = read_text(folder / "cpu.max").split()
    if not limits:
        limits = [read_text(folder / f"cpu.cfs_{name}_us") for name in ("quota", "period")]
    with suppress(ValueError, ZeroDivisionError):
        quota = int(limits[0]) / int(limits[1])
        if quota > 0:
            yield quota


def _n_cores(root: Path, processors: Collection[int]) -> int:
    """Number of cores; processors that share one count once."""
    cores = set()
    for processor in processors:
        path = root / f"sys/devices/system/cpu/cpu{processor}/topology/thread_siblings_list"
        cores.add(read_text(path) or str(processor))
    return len(cores)
