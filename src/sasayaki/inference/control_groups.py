"""The control groups (v1 and v2) that this process is in, by which containers limit it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

ROOT = Path("/")


def group_folders(controller: str, root: Path = ROOT) -> Iterator[Path]:
    """Folders of the groups whose limits count: that of the process, and each one above it that can be seen.

    Args:
        controller: what is limited, as version 1 calls it: `cpu` or `memory`.
        root: folder that holds `proc` and `sys`.
    """
    for mount in _mounts(controller, root):
        yield from mount.folders(root)


def read_text(path: Path) -> str:
    """The text of a file, empty where it cannot be read."""
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""


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

    def folders(self, root: Path) -> Iterator[Path]:
        """Those of the group and of all above it, the topmost first."""
        inside = self.group.relative_to(self.top) if self.group.is_relative_to(self.top) else PurePosixPath()
        folder = root / self.point.relative_to("/")
        yield folder
        for part in inside.parts:
            folder = folder / part
            yield folder


def _mounts(controller: str, root: Path) -> Iterator[_Mount]:
    """The hierarchies that may limit this."""
    groups = dict(_groups(root))
    for line in read_text(root / "proc/self/mountinfo").splitlines():
        before, _, after = line.partition(" - ")
        fields, kind = before.split(), after.split()
        if len(fields) < 5 or len(kind) < 3:
            continue
        is_v1 = kind[0] == "cgroup" and controller in kind[2].split(",")
        group = groups.get(controller if is_v1 else "")
        if group and (is_v1 or kind[0] == "cgroup2"):
            yield _Mount(PurePosixPath(_plain(fields[4])), PurePosixPath(_plain(fields[3])), PurePosixPath(group))


def _groups(root: Path) -> Iterator[tuple[str, str]]:
    """This process's group by controller; the name of version 2 is empty (see cgroups(7), /proc/pid/cgroup)."""
    for line in read_text(root / "proc/self/cgroup").splitlines():
        controllers, _, group = line.partition(":")[2].partition(":")
        for each in controllers.split(","):
            yield each, group


def _plain(name: str) -> str:
    """A path of mountinfo without its escaped spaces."""
    return name.replace("\\040", " ")
