"""How many threads are left by control groups of both versions, and by the environment, from faked files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from sasayaki.inference import threads
from sasayaki.inference.openvino_runtime import ENCODER_GROUPS, PrecisionPlan
from sasayaki.inference.threads import limited_threads

V1 = "31 23 0:28 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct\n"
V2 = "30 23 0:27 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"


def write(root: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with 16 cores."""
    monkeypatch.setattr(threads, "usable_processors", lambda: range(16))
    return tmp_path


def in_group(root: Path, **files: str) -> Path:
    """A process in the group /a/b of version 2, with files for the groups `top`, `a` and `b`."""
    folders = {"top": "", "a": "a/", "b": "a/b/"}
    write(root, {"proc/self/mountinfo": V2, "proc/self/cgroup": "0::/a/b\n"})
    write(root, {f"sys/fs/cgroup/{folders[name]}cpu.max": text for name, text in files.items()})
    return root


@pytest.mark.parametrize(
    ("quota", "expected"),
    [
        *(("200000 100000", 2), ("400000 100000", 4), ("800000 100000", 8), ("150000 100000", 2)),
        *(("240000 100000", 2), ("20000 100000", 1), ("50000 50000", 1), ("max 100000", None)),
        *(("1600000 100000", None), ("6400000 100000", None), ("", None), ("nonsense", None), ("100 0", None)),
    ],
)
def test_a_group_of_version_2_limits_threads(machine: Path, quota: str, expected: int | None) -> None:
    assert limited_threads(in_group(machine, b=quota), {}) == expected


def test_the_narrowest_of_the_groups_above_counts(machine: Path) -> None:
    assert limited_threads(in_group(machine, a="300000 100000", b="max 100000"), {}) == 3
    assert limited_threads(in_group(machine, a="300000 100000", b="200000 100000"), {}) == 2
    assert limited_threads(in_group(machine, a="300000 100000", b="800000 100000"), {}) == 3


def test_a_container_sees_its_own_group_at_the_top(machine: Path) -> None:
    write(machine, {"proc/self/mountinfo": V2, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "200000 100000"})
    assert limited_threads(machine, {}) == 2


@pytest.mark.parametrize(("quota", "expected"), [("400000", 4), ("-1", None), ("0", None), ("50000", 1)])
def test_a_group_of_version_1_limits_threads(machine: Path, quota: str, expected: int | None) -> None:
    group = "sys/fs/cgroup/cpu,cpuacct/docker/abc"
    write(machine, {"proc/self/mountinfo": V1, "proc/self/cgroup": "4:memory:/other\n3:cpu,cpuacct:/docker/abc\n"})
    write(machine, {f"{group}/cpu.cfs_quota_us": quota, f"{group}/cpu.cfs_period_us": "100000"})
    assert limited_threads(machine, {}) == expected


def test_a_container_of_version_1_is_found_though_its_path_is_the_hosts(machine: Path) -> None:
    """The mount shows the container's group as its top; the path of the process is that of the host."""
    write(machine, {"proc/self/mountinfo": V1.replace("0:28 / ", "0:28 /docker/abc ")})
    write(machine, {"proc/self/cgroup": "3:cpu,cpuacct:/docker/abc\n"})
    top = "sys/fs/cgroup/cpu,cpuacct"
    write(machine, {f"{top}/cpu.cfs_quota_us": "200000", f"{top}/cpu.cfs_period_us": "100000"})
    assert limited_threads(machine, {}) == 2


def test_both_versions_side_by_side(machine: Path) -> None:
    hybrid = V1 + V2.replace("/sys/fs/cgroup", "/sys/fs/cgroup/unified")
    write(machine, {"proc/self/mountinfo": hybrid, "proc/self/cgroup": "3:cpu,cpuacct:/\n0::/\n"})
    top = "sys/fs/cgroup/cpu,cpuacct"
    write(machine, {f"{top}/cpu.cfs_quota_us": "500000", f"{top}/cpu.cfs_period_us": "100000"})
    assert limited_threads(machine, {}) == 5


@pytest.mark.parametrize(
    ("value", "expected"),
    [("4", 4), ("1", 1), ("4,2", 4), (" 8 ", 8), ("16", None), ("64", None), ("", None), ("0", None), ("many", None)],
)
def test_the_environment_limits_threads(machine: Path, value: str, expected: int | None) -> None:
    assert limited_threads(machine, {"OMP_NUM_THREADS": value}) == expected


def test_the_narrower_of_environment_and_group_counts(machine: Path) -> None:
    root = in_group(machine, b="200000 100000")
    assert limited_threads(root, {"OMP_NUM_THREADS": "4"}) == 2
    assert limited_threads(root, {"OMP_NUM_THREADS": "1"}) == 1


def test_a_limit_counts_only_below_the_number_of_cores(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two processors share a core here, of which the engine takes one; 12 threads for 8 cores would be too many."""
    for number in range(16):
        siblings = f"{number % 8},{number % 8 + 8}"
        write(machine, {f"sys/devices/system/cpu/cpu{number}/topology/thread_siblings_list": siblings})
    assert limited_threads(machine, {"OMP_NUM_THREADS": "12"}) is None
    assert limited_threads(machine, {"OMP_NUM_THREADS": "7"}) == 7
    monkeypatch.setattr(threads, "usable_processors", lambda: [0, 1, 8, 9])
    assert limited_threads(machine, {"OMP_NUM_THREADS": "2"}) is None


@pytest.mark.parametrize("text", ["", "0::", "one", "3:cpu", "a b c - d", "1 2 3 4 5 - cgroup2\n6 - cgroup x rw,cpu"])
def test_files_that_make_no_sense_limit_nothing(machine: Path, text: str) -> None:
    write(machine, {"proc/self/mountinfo": text + "\n" + V1 + V2, "proc/self/cgroup": text})
    assert limited_threads(machine, {}) is None


def test_this_machine_can_be_asked() -> None:
    assert threads.usable_processors()
    assert limited_threads() is None or limited_threads() >= 1


def test_threads_are_not_tied_to_processors() -> None:
    """OpenVINO ties the first threads of every process to the same processors, so that two of them share one."""
    options = PrecisionPlan.choose("float32").compile_options(1, ENCODER_GROUPS)
    assert options["ENABLE_CPU_PINNING"] is False
