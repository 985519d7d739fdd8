"""The command line as a whole: help, version, exit codes of real processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import types
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sasayaki
from sasayaki.cli import console
from sasayaki.cli.main import main
from sasayaki.errors import AudioError
from sasayaki.options import TranscribeOptions
from tests.cli.fake_model import FakeModel

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}


def run(*arguments: str, module: str = "sasayaki", cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", module, *arguments]
    return subprocess.run(command, cwd=cwd, env=ENVIRONMENT, capture_output=True, text=True, timeout=60)


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"{sasayaki.__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--help"], ["transcribe", "detect-language", "align", "inspect", "models", "--version"]),
        (["transcribe", "--help"], ["--output-format", "--model", "Number of beams at temperature 0"]),
        (["detect-language", "--help"], ["--top", "--model"]),
        (["inspect", "--help"], ["--html", "--trace", "--model", "Number of beams at temperature 0"]),
        (["models", "--help"], ["List models"]),
    ],
)
def test_help(arguments: list[str], words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 0
    said = capsys.readouterr()
    assert said.err == ""
    assert all(word in said.out for word in words)


def test_help_tells_every_option_with_its_default(capsys: pytest.CaptureFixture[str]) -> None:
    main(["transcribe", "--help"])
    told = " ".join(capsys.readouterr().out.replace("│", " ").split())
    for each in fields(TranscribeOptions):
        assert (f"--{each.name.replace('_', '-')} " in told) == ("is_object" not in each.metadata)
    assert "(default: 0.0,0.2,0.4,0.6,0.8,1.0)" in told


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_completion_is_printed(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--tyro-print-completion", shell]) == 0
    script = capsys.readouterr().out
    assert "sasayaki" in script
    assert "--output-format" in script


def test_every_exit_code_is_in_the_documents() -> None:
    table = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
    for code in (
        console.DONE,
        console.FAILED,
        console.BAD_INPUT,
        console.STOPPED,
        console.INTERRUPTED,
        console.TERMINATED,
    ):
        assert f"\n| {code} | " in table


@pytest.mark.parametrize(
    ("arguments", "words"),
    [(["trans", "x"], "transcribe, detect-language, align, inspect, models"), ([], "transcribe")],
)
def test_an_unknown_command_is_one_line(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert words in line


def test_help_imports_no_engine() -> None:
    """`sasayaki --help` answers at once."""
    code = (
        "import sys; from sasayaki.cli.main import main; code = main(['transcribe', '--help']);"
        "heavy = {'openvino', 'torch', 'av', 'numpy', 'tiktoken', 'huggingface_hub'} & set(sys.modules);"
        "sys.exit(f'imported {heavy}' if heavy else code)"
    )
    done = subprocess.run([sys.executable, "-c", code], env=ENVIRONMENT, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("arguments", "code", "line"),
    [
        (["transcribe", "none.mp3"], 2, "no such file: none.mp3"),
        (["transcribe", "talk.mp3", "--beam_size", "0"], 2, "beam_size must be at least 1, got 0"),
        (["transcribe", "talk.mp3", "--model", "nonsense"], 2, "unknown model 'nonsense'. Tried: this; that"),
        (["transcribe", "talk.mp3", "--model", "crash"], 1, "unexpected RuntimeError: the engine broke"),
        (["transcribe", "talk.mp3", "-o", "talk.mp3"], 2, "cannot write into talk.mp3: it is a file"),
        (["transcribe", "talk.mp3", "-f", "txt"], 0, None),
    ],
)
def test_exit_codes_and_one_line_without_a_traceback(
    tmp_path: Path, arguments: list[str], code: int, line: str | None
) -> None:
    (tmp_path / "talk.mp3").write_text("sound")
    done = run(*arguments, module="tests.cli.fake_model", cwd=tmp_path)
    assert done.returncode == code
    if line is not None:
        assert done.stderr.startswith(f"sasayaki: error: {line}")
        assert done.stderr.count("\n") == 1
        assert done.stdout == ""


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals for a single child")
@pytest.mark.parametrize(("end", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_the_process_and_leaves_no_file(tmp_path: Path, end: signal.Signals, code: int) -> None:
    """B162: after Ctrl-C and SIGTERM there is no file that was not finished."""
    (tmp_path / "talk.mp3").write_text("slow")
    command = [sys.executable, "-m", "tests.cli.fake_model", "transcribe", "talk.mp3", "-o", "out"]
    with subprocess.Popen(
        command,
        cwd=tmp_path,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a test run in the background ignores it
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()  # the first segment is out, the second takes a minute
        process.send_signal(end)
        _, said = process.communicate(timeout=120)
    assert process.returncode == code
    assert said.splitlines()[-1] == "sasayaki: interrupted"
    assert os.listdir(tmp_path / "out") == []


@pytest.mark.skipif(os.name == "nt", reason="needs a shell that closes streams")
@pytest.mark.parametrize(
    ("streams", "code", "said"),
    [
        (">&-", 0, "talk.mp3: language en\n"),
        (">&- 2>&-", 0, ""),
        ("2>/dev/full", 0, ""),
        (">/dev/full", 2, "talk.mp3: language en\nsasayaki: error: cannot write to standard output: "),
    ],
)
def test_streams_that_are_closed_or_full_are_no_unexpected_error(
    tmp_path: Path, streams: str, code: int, said: str
) -> None:
    if "full" in streams and not os.path.exists("/dev/full"):
        pytest.skip("this system has no device that is always full")
    (tmp_path / "talk.mp3").write_text("sound")
    line = f"{sys.executable} -m tests.cli.fake_model transcribe talk.mp3 -f txt {streams}"
    done = subprocess.run(["sh", "-c", line], cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True, timeout=60)
    assert done.returncode == code
    assert done.stderr.startswith(said)
    assert "unexpected" not in done.stderr
    assert (tmp_path / "talk.txt").exists() == (code == 0)


@pytest.mark.parametrize("arguments", [["transcribe", "-"], ["align", "a.mp3", "@-"], ["align", "-", "text"]])
def test_standard_input_that_is_closed_is_told(
    model: FakeModel,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.mp3").write_text("sound")
    monkeypatch.setattr(sys, "stdin", None)
    assert main(arguments) == 2
    assert "on standard input, which is closed" in capsys.readouterr().err


def test_an_interruption_while_modules_are_imported_shows_no_traceback() -> None:
    code = (
        "import sys, builtins; plain = builtins.__import__\n"
        "def stop(name, *rest):\n    if name == 'tyro': raise KeyboardInterrupt\n    return plain(name, *rest)\n"
        "builtins.__import__ = stop; from sasayaki.cli.start import main; sys.exit(main())"
    )
    done = subprocess.run([sys.executable, "-c", code], env=ENVIRONMENT, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (130, "sasayaki: interrupted\n")


def test_the_package_runs_as_a_module() -> None:
    done = run("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{sasayaki.__version__}\n", "")


def test_detect_language_prints_file_language_and_probability(
    model: FakeModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def load_audio(audio: str | bytes) -> np.ndarray:
        if Path(str(audio)).read_text() == "broken":
            raise AudioError(f"{audio} holds no audio")
        return np.zeros(16000, np.float32)

    shapes = []

    def detect_language(model: FakeModel, mel: np.ndarray, *, languages: Any) -> tuple[int, dict[str, float]]:
        shapes.append(mel.shape)
        probs = {"en": 0.25, "de": 0.7, "fr": 0.05}
        return 50261, {code: prob for code, prob in probs.items() if code in (languages or probs)}

    model.dims = types.SimpleNamespace(n_mels=128)
    monkeypatch.setattr(sasayaki, "load_audio", load_audio, raising=False)
    monkeypatch.setattr(sasayaki, "detect_language", detect_language, raising=False)
    monkeypatch.chdir(tmp_path)
    Path("a.mp3").write_text("sound")
    Path("b.mp3").write_text("broken")

    assert main(["detect-language", "a.mp3", "b.mp3", "none.mp3", "--model", "tiny"]) == 2
    said = capsys.readouterr()
    assert said.out == "a.mp3\tde\t0.700\n"
    assert said.err.splitlines() == [
        f"sasayaki: error: no such file: none.mp3; look into {tmp_path}",
        "sasayaki: error: b.mp3 holds no audio",
    ]
    assert model.load_arguments["model"] == "tiny"

    assert main(["detect-language", "a.mp3", "--top", "2"]) == 0
    assert capsys.readouterr().out == "a.mp3\tde\t0.700\na.mp3\ten\t0.250\n"
    assert main(["detect-language", "a.mp3", "--languages", "en,fr"]) == 0
    assert capsys.readouterr().out == "a.mp3\ten\t0.250\n"
    assert shapes == [(128, 3000)] * 3
    assert main(["detect-language", "a.mp3", "--languages", "klingon"]) == 2
    assert main(["detect-language", "a.mp3", "--top", "0"]) == 2
    assert main(["detect-language", "none.mp3"]) == 2
    assert main(["detect-language"]) == 2
    assert model.n_loads == 3


def test_models_are_listed_with_source_and_size(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    listing = [
        types.SimpleNamespace(name="base", source="package", where="some-package", size_bytes=145_000_000),
        types.SimpleNamespace(name="large-v3", source="hub", where="openai/whisper-large-v3", size_bytes=None),
    ]
    fake = types.ModuleType("sasayaki.model")
    fake.list_models = lambda: listing  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "sasayaki.model", fake)
    assert main(["models"]) == 0
    assert capsys.readouterr().out == (
        "base      package  145 MB  some-package\nlarge-v3  hub      -       openai/whisper-large-v3\n"
    )
