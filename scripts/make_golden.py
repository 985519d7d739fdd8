"""Write golden facts with openai/whisper: tokens, scores and segments for a folder of clips.

Runs where openai-whisper 20250625 and av are installed; sasayaki is not imported. The folder holds clips and
a `manifest.tsv` with the columns file, language and seconds at least. Every clip is one JSON line, written as
soon as it is done; a second run skips what is there. `pack` makes the file that is committed.

    make_golden.py decode MODEL --weights WEIGHTS --speech FOLDER --out base.jsonl --clips 'de_*' 'fr_*'
    make_golden.py transcribe MODEL --setting long-beam5 --weights WEIGHTS --speech FOLDER --out long.jsonl
    make_golden.py pack base.jsonl tests/golden/decode_base.json --clips-of tests/data/manifest.tsv

WEIGHTS is a folder with `MODEL.pt`. `--join jfk_x4,0,en_jfk.mp3,en_jfk.mp3,en_jfk.mp3,en_jfk.mp3` makes a
longer recording of clips, here without a gap. Options may be read from a file, one a line, with `@FILE`.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import numpy as np

SAMPLE_RATE = 16000
N_DIGITS = 9  # significant digits kept of every float

CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "greedy": {},
    "greedy-notimestamps": {"without_timestamps": True},
    "beam5": {"beam_size": 5},
    "beam5-notimestamps": {"beam_size": 5, "without_timestamps": True},
}

SETTINGS: dict[str, dict[str, Any]] = {
    # the reference's command line defaults: fallback over temperatures, previous text as prompt
    "fallback": {"language": "en", "beam_size": 5, "best_of": 5},
    # what all engines can be held to
    "matched": {"language": "en", "beam_size": 5, "temperature": 0.0, "condition_on_previous_text": False},
    "long-greedy": {"beam_size": None, "temperature": 0.0},
    "long-beam5": {"beam_size": 5, "temperature": 0.0},
}


class Margins:
    """Collects how narrow the decisions of one decode were, without changing any of them.

    `smallest` is the smallest difference, in natural-log units, over the steps: best against second best
    filtered logit (greedy), last candidate kept against first dropped (beam), mass of the timestamps against
    the best text token (timestamp rule), best against second best hypothesis (ranking).
    """

    def __init__(self) -> None:
        self.smallest = float("inf")

    def add(self, margin: float) -> None:
        """Note one decision; infinite and undefined margins are no ties."""
        if np.isfinite(margin):
            self.smallest = min(self.smallest, abs(margin))

    def greedy(self, tokens: Any, logits: Any, eot: int) -> None:
        """Best against second best token of every row that has not ended."""
        best = logits.float().topk(2, dim=-1).values
        for row in range(len(best)):
            if tokens[row, -1] != eot:
                self.add((best[row, 0] - best[row, 1]).item())

    def beam(self, tokens: Any, logits: Any, sum_logprobs: Any, beam_size: int, eot: int) -> None:
        """Last candidate kept against the first one dropped."""
        best = logits.float().log_softmax(-1).topk(beam_size + 1)
        scores: dict[tuple[int, ...], float] = {}
        for row, prefix in enumerate(tokens.tolist()):
            for logprob, token in zip(best.values[row], best.indices[row].tolist(), strict=True):
                scores[(*prefix, token)] = (sum_logprobs[row] + logprob).item()
        ranked = sorted(scores.items(), key=lambda item: item[1], reverse=True)
        survivors = [place for place, (sequence, _) in enumerate(ranked) if sequence[-1] != eot][:beam_size]
        if survivors[-1] + 1 < len(ranked):
            self.add(ranked[survivors[-1]][1] - ranked[survivors[-1] + 1][1])

    def timestamp_mass(self, logprobs: Any, timestamp_begin: int) -> None:
        """Total mass of the timestamps against the most probable other token."""
        mass = logprobs[:, timestamp_begin:].logsumexp(dim=-1)
        for row in (mass - logprobs[:, :timestamp_begin].max(dim=-1).values).tolist():
            self.add(row)

    def ranking(self, tokens: Any, sum_logprobs: Any) -> None:
        """Best against second best hypothesis after division by length."""
        pairs = zip(tokens, sum_logprobs, strict=True)
        scores = sorted((total / max(len(ids), 1) for ids, total in pairs), reverse=True)
        if len(scores) > 1:
            self.add(scores[0] - scores[1])


def watch_decisions() -> Margins:
    """Wrap the reference's search so that a `Margins` sees each decision; returns it."""
    from whisper import decoding

    margins = Margins()
    greedy_update, beam_update = decoding.GreedyDecoder.update, decoding.BeamSearchDecoder.update
    apply_rules, rank = decoding.ApplyTimestampRules.apply, decoding.MaximumLikelihoodRanker.rank

    def watched_greedy(self: Any, tokens: Any, logits: Any, sum_logprobs: Any) -> Any:
        margins.greedy(tokens, logits, self.eot)
        return greedy_update(self, tokens, logits, sum_logprobs)

    def watched_beam(self: Any, tokens: Any, logits: Any, sum_logprobs: Any) -> Any:
        margins.beam(tokens, logits, sum_logprobs, self.beam_size, self.eot)
        return beam_update(self, tokens, logits, sum_logprobs)

    def watched_rules(self: Any, logits: Any, tokens: Any) -> None:
        # The rule's last comparison uses the log-softmax it computes itself: look on as it does.
        original = decoding.F.log_softmax

        def watched_log_softmax(*args: Any, **kwargs: Any) -> Any:
            logprobs = original(*args, **kwargs)
            margins.timestamp_mass(logprobs, self.tokenizer.timestamp_begin)
            return logprobs

        decoding.F.log_softmax = watched_log_softmax
        try:
            apply_rules(self, logits, tokens)
        finally:
            decoding.F.log_softmax = original

    def watched_rank(self: Any, tokens: Any, sum_logprobs: Any) -> Any:
        for group in zip(tokens, sum_logprobs, strict=True):
            margins.ranking(*group)
        return rank(self, tokens, sum_logprobs)

    decoding.GreedyDecoder.update, decoding.BeamSearchDecoder.update = watched_greedy, watched_beam
    decoding.ApplyTimestampRules.apply, decoding.MaximumLikelihoodRanker.rank = watched_rules, watched_rank
    return margins


def read_samples(path: Path) -> np.ndarray:
    """Mono samples at 16 kHz, float32 in [-1, 1): decoded to 16-bit integers, then divided by 32768."""
    import av

    chunks = []
    container_format = "gsm" if path.suffix == ".gsm" else None  # raw frames: nothing to recognise them by
    with av.open(str(path), format=container_format, metadata_errors="ignore") as container:
        resampler = av.AudioResampler(format="s16", layout="mono", rate=SAMPLE_RATE)
        for frame in [*container.decode(audio=0), None]:
            chunks += [part.to_ndarray().ravel() for part in resampler.resample(frame)]
    samples = np.concatenate(chunks) if chunks else np.zeros(0, np.int16)
    return samples.astype(np.float32) / 32768


def join(clips: list[np.ndarray], gap_seconds: float) -> np.ndarray:
    """The clips one after another with `gap_seconds` of zeros between them."""
    gap = np.zeros(round(gap_seconds * SAMPLE_RATE), np.float32)
    parts = [part for clip in clips for part in (gap, clip)]
    return np.concatenate(parts[1:])


def digest(samples: np.ndarray) -> str:
    """First 16 hex digits of the sha256 of the 16-bit samples: tells whether two decoders heard the same."""
    return hashlib.sha256((samples * 32768).astype("<i2").tobytes()).hexdigest()[:16]


def rounded(value: float) -> float:
    """`value` with the digits that float32 can carry, so that files stay small."""
    return float(f"{value:.{N_DIGITS}g}")


def decode_clip(model: Any, samples: np.ndarray, margins: Margins) -> dict[str, Any]:
    """Language and, per configuration, what `whisper.decode` says about the first 30 seconds."""
    import torch
    import whisper

    mel = whisper.log_mel_spectrogram(whisper.pad_or_trim(samples), n_mels=model.dims.n_mels)
    with torch.no_grad():
        features = model.encoder(mel[None])
    facts: dict[str, Any] = {"language": "en", "language_probability": None}
    if model.is_multilingual:
        probabilities = model.detect_language(features)[1][0]
        facts["language"] = max(probabilities, key=probabilities.__getitem__)
        facts["language_probability"] = rounded(probabilities[facts["language"]])
    language = None if model.is_multilingual else "en"
    facts["results"] = {}
    for name, options in CONFIGURATIONS.items():
        margins.smallest = float("inf")
        result = whisper.decode(model, features, language=language, fp16=False, **options)[0]
        facts["results"][name] = {
            "tokens": result.tokens,
            "sum_logprob": rounded(result.avg_logprob * (len(result.tokens) + 1)),
            "avg_logprob": rounded(result.avg_logprob),
            "no_speech_prob": rounded(result.no_speech_prob),
            "compression_ratio": rounded(result.compression_ratio),
            "temperature": result.temperature,
            "margin": rounded(margins.smallest) if np.isfinite(margins.smallest) else None,
            "text": result.text,
        }
    return facts


def transcribe_clip(model: Any, samples: np.ndarray, setting: str, margins: Margins) -> dict[str, Any]:
    """Text and segments by `whisper.transcribe`."""
    import torch
    import whisper

    torch.manual_seed(0)
    margins.smallest = float("inf")
    options = dict(SETTINGS[setting])
    if not model.is_multilingual:
        options["language"] = "en"
    result = whisper.transcribe(model, samples, fp16=False, verbose=None, **options)
    floats = ("start", "end", "avg_logprob", "compression_ratio", "no_speech_prob")
    segments = [{**segment, **{key: rounded(segment[key]) for key in floats}} for segment in result["segments"]]
    margin = rounded(margins.smallest) if np.isfinite(margins.smallest) else None
    return {"language": result["language"], "margin": margin, "text": result["text"], "segments": segments}


def read_manifest(path: Path) -> list[dict[str, str]]:
    """Rows of a tab-separated manifest."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def chosen_inputs(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Single clips that match a pattern, and the joins asked for, as `{"name", "parts", "gap_seconds"}`."""
    files = [row["file"] for row in read_manifest(arguments.speech / "manifest.tsv")]
    patterns = arguments.clips or ([] if arguments.join else ["*"])
    inputs: list[dict[str, Any]] = [
        {"name": file, "parts": [file], "gap_seconds": 0.0}
        for pattern in patterns
        for file in files
        if fnmatch(file, pattern)
    ]
    for text in arguments.join:
        name, gap, *parts = text.split(",")
        inputs.append({"name": name, "parts": parts, "gap_seconds": float(gap)})
    return list({one["name"]: one for one in inputs}.values())


def run(arguments: argparse.Namespace) -> None:
    """Decode or transcribe every chosen input that the output file lacks."""
    import whisper

    model = whisper.load_model(str(arguments.weights / f"{arguments.model}.pt"), device="cpu").float().eval()
    margins = watch_decisions()
    label = {"model": arguments.model, "job": arguments.setting or "decode"}
    done = {(record["name"], record["job"]) for record in read_lines(arguments.out)}
    with arguments.out.open("a", encoding="utf-8") as out:
        for one in chosen_inputs(arguments):
            if (one["name"], label["job"]) in done:
                continue
            clips = [read_samples(arguments.speech / part) for part in one["parts"]]
            samples = join(clips, one["gap_seconds"])
            heard = {"seconds": round(len(samples) / SAMPLE_RATE, 3), "samples_sha256": digest(samples)}
            if arguments.setting:
                facts = transcribe_clip(model, samples, arguments.setting, margins)
            else:
                facts = decode_clip(model, samples, margins)
            out.write(json.dumps({**label, **one, **heard, **facts}, ensure_ascii=False) + "\n")
            out.flush()
            print(one["name"], facts["language"], flush=True)


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Records of a JSON lines file; none when it does not exist yet."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def pack(arguments: argparse.Namespace) -> None:
    """Write the records of one model as one JSON file, a line per clip, with its provenance first."""
    records = [record for path in arguments.records for record in read_lines(path)]
    if arguments.clips_of:
        wanted = {row["file"] for row in read_manifest(arguments.clips_of)}
        records = [record for record in records if set(record["parts"]) <= wanted]
    models = {record.pop("model") for record in records}
    if len(models) != 1:
        raise SystemExit(f"expected records of one model, got {sorted(models)}; pack each model by itself")
    head = {
        "made_by": "scripts/make_golden.py",
        "reference": "openai-whisper 20250625, PyTorch 2.13.0 on CPU, float32",
        "model": models.pop(),
        "options": {job: SETTINGS.get(job, CONFIGURATIONS) for job in sorted({r["job"] for r in records})},
    }
    lines = [json.dumps(record, ensure_ascii=False, separators=(",", ":")) for record in records]
    fields = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in head.items()]
    body = ",\n".join([*fields, '"clips": [\n' + ",\n".join(lines) + "\n]"])
    arguments.out.write_text("{\n" + body + "\n}\n", encoding="utf-8")


def main() -> None:
    """Read the command line and do the job."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], fromfile_prefix_chars="@")
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("decode", "transcribe"):
        command = commands.add_parser(name)
        command.add_argument("model", help="name of the model, such as tiny.en")
        command.add_argument("--weights", type=Path, required=True)
        command.add_argument("--speech", type=Path, required=True)
        command.add_argument("--out", type=Path, required=True)
        command.add_argument("--clips", nargs="*", default=[], help="names or patterns; all by default")
        command.add_argument("--join", nargs="*", default=[], metavar="NAME,GAP_SECONDS,CLIP,CLIP...")
        command.set_defaults(call=run, setting=None)
        if name == "transcribe":
            command.add_argument("--setting", choices=SETTINGS, required=True)
    command = commands.add_parser("pack")
    command.add_argument("records", type=Path, nargs="+", help="JSON lines files; the last one is the output")
    command.add_argument("out", type=Path)
    command.add_argument("--clips-of", type=Path, help="keep only the clips of this manifest")
    command.set_defaults(call=pack)
    arguments = parser.parse_args()
    arguments.call(arguments)


if __name__ == "__main__":
    main()
