"""The parts of the benchmarks that need no engine: recordings, turns, what is kept, word errors, tables."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import compare
from benchmarks.compare import RecordingSet
from benchmarks.floor import encoder_work, step_work
from benchmarks.peaks import Machine, Product, check_kernel, kernels, product_request
from benchmarks.processes import Process
from benchmarks.recordings import RATE, Clip, Recording, join, read_manifest, read_samples, spread, write_wave
from benchmarks.records import read_records
from benchmarks.report import draw, summarise, tables
from benchmarks.utterances import count, differences, summary
from benchmarks.word_errors import align, edit_distance
from sasayaki.checkpoints.names import ModelDimensions
from sasayaki.inference.openvino_runtime import PrecisionPlan


def clip(number: int, seconds: float = 2.0) -> Clip:
    return Clip(Path(f"{number}.wav"), "en", seconds, f"text {number}")


def load(path: Path) -> np.ndarray:
    return np.full(2 * RATE, int(path.stem) + 1, np.float32)


@pytest.mark.parametrize(
    ("expected", "got", "errors"),
    [("", "", 0), ("a b", "", 2), ("", "a b", 2), ("a b c", "a c", 1), ("a b c", "x a b c", 1), ("a b", "b a", 2)],
)
def test_edit_distance_counts_replaced_missing_and_added_words(expected: str, got: str, errors: int) -> None:
    assert edit_distance(expected.split(), got.split()) == errors


@given(st.lists(st.sampled_from("abc"), max_size=8), st.lists(st.sampled_from("abc"), max_size=8))
def test_an_alignment_has_all_words_in_order_and_as_many_errors_as_the_distance(expected: list, got: list) -> None:
    pairs = align(expected, got)
    assert [place for place, _ in pairs if place is not None] == list(range(len(expected)))
    assert [place for _, place in pairs if place is not None] == list(range(len(got)))
    errors = [None in pair or expected[pair[0]] != got[pair[1]] for pair in pairs]
    assert sum(errors) == edit_distance(expected, got)


def test_errors_belong_to_the_utterance_whose_words_are_wrong() -> None:
    utterances = [("a.wav", ["one", "two", "three", "four"]), ("b.wav", ["five", "six", "seven", "eight"])]
    first, second = count(utterances, ["one", "too", "three", "four", "oh", "six"])
    assert (first.hits, first.replaced, first.missing, first.added, first.is_lost) == (3, 1, 0, 0, False)
    assert (second.hits, second.errors, second.is_lost) == (1, 3, True)
    assert second.heard == ["oh", "six"]
    (added, _) = count(utterances, ["well", "one", "two", "three", "four", "five", "six", "seven", "eight"])
    assert (added.added, added.errors) == (1, 1)


def test_an_utterance_of_few_words_is_never_lost() -> None:
    assert not count([("a.wav", ["one", "two", "three"])], [])[0].is_lost


def test_utterances_are_listed_where_an_engine_is_some_errors_apart() -> None:
    utterances = [("a.wav", ["one"]), ("b.wav", ["two", "three"])]
    ours, theirs = count(utterances, ["one", "two", "three"]), count(utterances, ["one"])
    assert list(differences([ours, theirs], 2)) == ["| b.wav | 2 | 0 | 2 |"]
    assert summary(["base", "peer"], theirs) == "| base | peer | 66.67 | 2 | 0 | 2 | 0 | none |"


def test_joined_recording_lasts_as_long_as_asked_and_has_a_pause_behind_each_clip() -> None:
    recording = join([clip(0), clip(1)], load, seconds=9)
    assert 9 <= recording.seconds < 12
    assert recording.text == "text 0 text 1 text 0 text 1"
    assert recording.samples[2 * RATE] == 0
    assert recording.samples[2 * RATE - 1] == 1


def test_clips_are_joined_in_another_order_with_their_texts() -> None:
    clips = [clip(number) for number in range(9)]
    straight, first, again, second = (join(clips, load, seconds=23, order=order) for order in (0, 1, 1, 2))
    assert straight.text == " ".join(each.text for each in clips)
    assert len({each.text for each in (straight, first, second)}) == 3
    assert len({each.name for each in (straight, first, second)}) == 3
    assert first.text == again.text
    heard = dict.fromkeys(first.samples[first.samples > 0].astype(int) - 1)
    assert first.text == " ".join(f"text {number}" for number in heard)


def test_joined_recording_needs_clips() -> None:
    with pytest.raises(ValueError, match="expected clips"):
        join([], load, seconds=9)


def test_fewer_clips_are_spread_over_all() -> None:
    assert [each.path.stem for each in spread([clip(n) for n in range(9)], 8)] == ["0", "3", "6"]


def test_manifest_gives_clips_of_the_language_with_text(tmp_path: Path) -> None:
    rows = ["file\tlanguage\tseconds\ttext\tnote", "a.wav\ten\t2\thello\t", "b.wav\ten\t31\tlong\t"]
    (tmp_path / "all.tsv").write_text("\n".join([*rows, "c.wav\tde\t2\thallo\t", "d.wav\ten\t2\t\t"]))
    assert read_manifest(tmp_path / "all.tsv", language="en") == [Clip(tmp_path / "a.wav", "en", 2.0, "hello")]


def test_a_wave_file_keeps_samples_to_16_bits(tmp_path: Path) -> None:
    samples = np.array([0, 0.5, -0.25, 2, -2], np.float32)
    write_wave(tmp_path / "a.wav", samples)
    np.testing.assert_allclose(read_samples(tmp_path / "a.wav"), samples.clip(-1, 1), atol=1e-4)
    assert len(read_samples(tmp_path / "a.wav", most=2)) == 2


class FakeProcess:
    """Answers like an engine and like the scorer, and tells what it was started with and asked."""

    started: ClassVar[list[tuple[str, ...]]] = []
    asked: ClassVar[list[dict[str, Any]]] = []
    broken: ClassVar[str] = ""

    def __init__(self, python: str, module: str, arguments: tuple[str, ...], threads: int) -> None:
        self.started.append((python, module, *arguments))
        if self.broken and self.broken in arguments:
            raise RuntimeError("no such model")
        self.ready = {"load_seconds": 1.0, "load_peak_mib": 300.0, "version": "1"} if arguments else {}

    def ask(self, **request: Any) -> dict[str, Any]:
        self.asked.append(request)
        return {"errors": 1, "words": 10} if "reference" in request else {"text": "a", "seconds": 2.0, "peak_mib": 9.0}

    def close(self) -> None: ...


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> type[FakeProcess]:
    for name in ("started", "asked"):
        monkeypatch.setattr(FakeProcess, name, [])
    monkeypatch.setattr(FakeProcess, "broken", "")
    monkeypatch.setattr(compare, "PAUSE_S", 0)
    return FakeProcess


SETS = {"clips": RecordingSet("clips", [Recording(name, np.zeros(RATE, np.float32), "en", "a b") for name in "xy"])}


def take(out: Path, *arguments: str, engines: str = "sasayaki,fw-int8") -> list[dict[str, Any]]:
    given = compare.arguments(["manifest", "--out", str(out), "--engines", engines, *arguments])
    compare.run(given, SETS, str(out.parent), start=FakeProcess)
    return read_records([out])


def test_each_measurement_has_a_process_that_gets_warm_first(tmp_path: Path, fake: type[FakeProcess]) -> None:
    records = take(tmp_path / "out", "--repeats", "2", "--beams", "5", "--policies", "matched")
    assert [(each["engine"], each["turn"], each["file"]) for each in records] == [
        *(("sasayaki", 0, "x"), ("sasayaki", 0, "y"), ("fw-int8", 0, "x"), ("fw-int8", 0, "y")),
        *(("fw-int8", 1, "x"), ("fw-int8", 1, "y"), ("sasayaki", 1, "x"), ("sasayaki", 1, "y")),
    ]
    assert len(fake.started) == 1 + 4
    assert [each["is_warming"] for each in fake.asked if "path" in each] == [True, False, False] * 4
    assert {(each["errors"], each["words"], each["seconds"]) for each in records} == {(1, 10, 2.0)}


def test_beams_models_and_policies_are_all_combined(tmp_path: Path, fake: type[FakeProcess]) -> None:
    records = take(tmp_path / "out", "--repeats", "1", "--models", "base,tiny.en")
    combined = {(each["engine"], each["model"], each["beam"], each["policy"]) for each in records}
    assert len(combined) == 2 * 2 * 2 * 2


def test_a_broken_run_goes_on_where_it_was(tmp_path: Path, fake: type[FakeProcess]) -> None:
    out = tmp_path / "out"
    whole = take(out, "--repeats", "2")
    lines = out.read_text().splitlines(keepends=True)
    out.write_text("".join(lines[:-2]) + lines[-2][:30])
    fake.started.clear()
    again = take(out, "--repeats", "2")
    assert len(fake.started) == 1 + 1
    assert again == whole


def test_an_engine_that_cannot_be_used_is_left_out(
    tmp_path: Path, fake: type[FakeProcess], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FakeProcess, "broken", "fw-int8")
    records = take(tmp_path / "out", "--repeats", "2")
    assert {each["engine"] for each in records} == {"sasayaki"}
    assert "base without fw-int8: no such model" in capsys.readouterr().err
    assert sum("fw-int8" in each for each in fake.started) == 1


def test_peers_have_an_interpreter_of_their_own() -> None:
    given = ["/peers/python", "whispercpp-q8=/cpp/python"]
    assert compare.interpreter("fw-int8", given) == "/peers/python"
    assert compare.interpreter("whispercpp-q8", given) == "/cpp/python"
    assert compare.interpreter("sasayaki-full", given) == compare.interpreter("openai-f32", []) == sys.executable


def test_unknown_engines_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        compare.arguments(["manifest", "--out", "x", "--engines", "sasayaki,whisper"])
    assert "whisper is not among" in capsys.readouterr().err


ECHO = """
from benchmarks.processes import answer_lines
def begin():
    print("noise")
    return {"is_ready": True}, answer
def answer(word):
    print("more noise")
    if word == "end":
        raise SystemExit("cannot go on")
    return {"word": word}
answer_lines(begin)
"""


def test_a_process_answers_whatever_libraries_print(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "echo_lines.py").write_text(ECHO)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    process = Process(sys.executable, "echo_lines", (), 1)
    assert process.ready == {"is_ready": True}
    assert process.ask(word="one") == {"word": "one"}
    with pytest.raises(RuntimeError, match="cannot go on"):
        process.ask(word="end")


def record(engine: str, seconds: float, **changes: Any) -> dict[str, Any]:
    made = {"engine": engine, "batch": 1, "model": "base", "beam": 1, "policy": "matched", "set": "joined-60s"}
    made |= {
        "threads": 2,
        "turn": 0,
        "machine": "m",
        "commit": "c",
        "version": "1",
        "file": "joined-60s",
        "audio_seconds": 60.0,
        "errors": 5,
        "words": 100,
        "seconds": seconds,
    }
    return made | {"load_peak_mib": 300.0, "peak_mib": 200.0} | changes


def test_table_has_medians_and_how_much_faster_sasayaki_is() -> None:
    records = [*(record("sasayaki", seconds) for seconds in (2.0, 9.0, 3.0)), record("fw-int8", 6.0)]
    printed = tables(records)
    assert "| sasayaki | 1 | 3.00 | 2.00 | 20.0 | 1.00 | 5.00 | 300 |" in printed
    assert "| fw-int8 | 1 | 6.00 | 6.00 | 10.0 | 2.00 | 5.00 | 300 |" in printed


def test_times_of_several_files_add_up_and_batches_stand_apart() -> None:
    files = [record("fw-int8", 1.0, set="clips", file=name) for name in ("a", "b")]
    single, batch = summarise([*files, record("fw-int8-batch8", 1.0, set="clips", batch=8)])
    assert (single.seconds, single.n_files, single.wer) == (2.0, 2, 5.0)
    assert batch.section != single.section


def test_charts_are_drawn_for_what_was_measured(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib").use("Agg")
    speeds = [record("sasayaki", 2.0), record("fw-int8", 4.0, beam=5), record("sasayaki-batch8", 1.0, batch=8)]
    lengths = [record("sasayaki", 2.0, set=f"length-{n}s", audio_seconds=float(n)) for n in (60, 600)]
    assert [path.name for path in draw(summarise(speeds), tmp_path, "matched")] == ["speed-wer.png"]
    made = draw(summarise([*speeds, *lengths, record("openai-f32", 9.0, model="tiny.en")]), tmp_path, "matched")
    assert [path.stat().st_size > 10_000 for path in made] == [True, True]
    assert draw(summarise(speeds), tmp_path, "defaults") == []


TINY = ModelDimensions(
    n_mels=80,
    n_vocab=100,
    n_audio_ctx=6,
    n_audio_state=4,
    n_audio_head=1,
    n_audio_layer=1,
    n_text_ctx=8,
    n_text_state=4,
    n_text_head=1,
    n_text_layer=2,
)
MACHINE = Machine(bandwidth=1.0, float32=1.0, bfloat16=2.0, int8=4.0)
INT8 = PrecisionPlan(has_int8_weights=True, is_bfloat16=True)


def test_a_step_reads_every_weight_and_the_keys_and_values_of_the_audio_once() -> None:
    n_weights, n_cached = 2 * 14 * 16 + 400, 2 * 2 * 6 * 4
    assert step_work(TINY, 1).floor(MACHINE, INT8) == n_weights + 2 * n_cached
    assert step_work(TINY, 1).floor(MACHINE, replace(INT8, has_int8_weights=False)) == 2 * (n_weights + n_cached)


def test_many_rows_are_bound_by_operations_in_the_precision_of_each() -> None:
    work = step_work(TINY, 50)
    assert work.floor(MACHINE, INT8) == work.weight_ops / 4 + work.other_ops / 2
    assert work.weight_ops == 50 * 2 * (2 * 14 * 16 + 400)


def test_an_encoder_pass_counts_attention_apart_from_products_with_weights() -> None:
    work = encoder_work(TINY)
    assert work.other_ops == 2 * 2 * 6**2 * 4
    assert work.n_weights == 12 * 16 + 2 * 16 * 2 + 3 * 80 * 4 + 3 * 16


def test_a_peak_is_only_that_of_the_precision_that_was_asked_for() -> None:
    request = product_request(1, Product(2, 64, 64), "f32")
    assert len(kernels(request.get_compiled_model())) == 1
    with pytest.raises(RuntimeError, match="expected one matrix product in bf16, but the plug-in runs gemm_mlas_f32"):
        check_kernel(["gemm_mlas_f32"], "bf16")
