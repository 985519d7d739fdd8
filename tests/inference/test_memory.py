"""How much memory is free, by the kernel and by control groups of both versions, from faked files."""

from __future__ import annotations

from pathlib import Path

import pytest

from sasayaki.inference.memory import free_memory
from tests.inference.test_threads import V2, write

V1 = "31 23 0:28 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
MEMINFO = "MemTotal:       2000 kB\nMemFree:          10 kB\nMemAvailable:   1000 kB\n"


def test_without_limits_what_the_kernel_has_available(tmp_path: Path) -> None:
    write(tmp_path, {"proc/meminfo": MEMINFO})
    assert free_memory(root=tmp_path) == 1000 << 10


@pytest.mark.parametrize(
    ("limit", "expected"), [("500000", 300000), ("max", 1000 << 10), ("5000000", 1000 << 10), ("100000", 0)]
)
def test_a_group_of_version_2_counts_without_cached_files(tmp_path: Path, limit: str, expected: int) -> None:
    group = "sys/fs/cgroup/a/memory"
    write(tmp_path, {"proc/meminfo": MEMINFO, "proc/self/mountinfo": V2, "proc/self/cgroup": "0::/a/b\n"})
    write(tmp_path, {f"{group}.max": limit, f"{group}.current": "250000"})
    write(tmp_path, {f"{group}.stat": "anon 200000\ninactive_file 50000\n"})
    assert free_memory(root=tmp_path) == expected


def test_a_group_of_version_1(tmp_path: Path) -> None:
    group = "sys/fs/cgroup/memory/b/memory"
    write(tmp_path, {"proc/meminfo": MEMINFO, "proc/self/mountinfo": V1, "proc/self/cgroup": "5:memory:/b\n"})
    write(tmp_path, {f"{group}.limit_in_bytes": "700000", f"{group}.usage_in_bytes": "300000"})
    write(tmp_path, {f"{group}.stat": "inactive_file 1\ntotal_inactive_file 20000\n"})
    assert free_memory(root=tmp_path) == 420000


@pytest.mark.parametrize("text", ["", "MemAvailable:", "MemAvailable: much kB"])
def test_nothing_is_known_where_nobody_tells(tmp_path: Path, text: str) -> None:
    write(tmp_path, {"proc/meminfo": text})
    assert free_memory(root=tmp_path) is None
