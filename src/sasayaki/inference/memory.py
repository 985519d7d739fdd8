"""How much memory this process could still take, where a container limits it too."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from sasayaki.inference.control_groups import ROOT, group_folders, read_text


def free_memory(device: str = "cpu", root: Path = ROOT) -> int | None:
    """Bytes that are free for this process on a device; None where nobody tells.

    On the processor that is what the kernel takes for available, or what the control groups (v1 and v2) leave, if that
    is less. Cached files, which go when memory is needed, count as free.

    Args:
        device: as PyTorch writes it: `cpu`, `cuda:0`.
        root: folder that holds `proc` and `sys`.
    """
    if device.startswith("cuda"):
        import torch

        return int(torch.cuda.mem_get_info(device)[0])
    return min((*_available(root), *_left_by_groups(root)), default=None)


def _available(root: Path) -> Iterator[int]:
    kib = _numbers(root / "proc/meminfo").get("MemAvailable:")
    if kib is not None:
        yield kib << 10


def _left_by_groups(root: Path) -> Iterator[int]:
    """What the limit of each group leaves."""
    for folder in group_folders("memory", root):
        limit = read_text(folder / "memory.max") or read_text(folder / "memory.limit_in_bytes")
        used = read_text(folder / "memory.current") or read_text(folder / "memory.usage_in_bytes")
        if limit.isdecimal() and used.isdecimal():
            cached = _numbers(folder / "memory.stat")
            cached_bytes = cached.get("total_inactive_file", cached.get("inactive_file", 0))
            yield max(int(limit) - int(used) + cached_bytes, 0)


def _numbers(path: Path) -> dict[str, int]:
    """Names and whole numbers of lines such as `MemAvailable: 1000 kB`."""
    words = [line.split() for line in read_text(path).splitlines()]
    return {each[0]: int(each[1]) for each in words if len(each) > 1 and each[1].isdecimal()}
