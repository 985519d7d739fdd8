"""Fit the calibration of word and token probabilities, and report how reliable they are.

    fit_calibration.py MANIFEST --collect words.jsonl --models base tiny.en
    fit_calibration.py MANIFEST --fit words.jsonl

MANIFEST is a tsv with the columns file, language, seconds and text beside its recordings. The first form decodes
every labelled recording of at most 30 s, clean and with white noise, and writes one JSON line each; a run that was
stopped goes on behind what the file has. The second finds which words are right, fits on one half of the recordings,
those in English with little noise, and reports on the other, for the product's calibration and for this one. It uses
openai/whisper's text normaliser, so it needs the packages openai-whisper and RapidFuzz.
"""

from __future__ import annotations

import argparse
import csv
import json
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sasayaki.decoding.confidence import TOKEN_CALIBRATION, WORD_CALIBRATION, Calibration

SNRS = (None, 10, 0)
"""Signal-to-noise ratios in dB; None is the recording as it is."""

FIT_SNRS = (None, 10)
"""What is fitted on. In the worst noise half of the text is made up, and a fit on it would doubt all speech."""

UNSPACED = ("zh", "ja", "th", "lo", "my", "yue")

N_BIN = 10
N_FOLD = 5


@dataclass(frozen=True)
class Samples:
    """Log-probabilities, the mean over the text of each, what turned out to be right, and the recording of each."""

    logprobs: np.ndarray
    means: np.ndarray
    is_right: np.ndarray
    files: np.ndarray

    def __getitem__(self, mask: np.ndarray) -> Samples:
        return Samples(self.logprobs[mask], self.means[mask], self.is_right[mask], self.files[mask])


# Collecting


def labelled(manifest: Path) -> list[dict[str, str]]:
    """Rows of the manifest with a text that fit into one window."""
    with manifest.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    return [row for row in rows if row["text"].strip() and len(row["language"]) == 2 and float(row["seconds"]) <= 30]


def collect(arguments: argparse.Namespace) -> None:
    """Write what the models hear."""
    import sasayaki

    done = {(line["model"], line["snr"], line["file"]) for line in read_lines(arguments.collect)}
    with arguments.collect.open("a", encoding="utf-8") as out:
        for name in arguments.models:
            model = sasayaki.load_model(name, precision=arguments.precision, threads=arguments.threads)
            for row in labelled(arguments.manifest):
                if row["language"] != "en" and not model.is_multilingual:
                    continue
                missing = [snr for snr in SNRS if (name, snr, row["file"]) not in done]
                samples = sasayaki.load_audio(arguments.manifest.parent / row["file"]) if missing else np.zeros(0)
                mels = [sasayaki.log_mel_spectrogram(sasayaki.pad_or_trim(noisy(samples, snr))) for snr in missing]
                results = model.decode(np.stack(mels), language=row["language"], beam_size=5) if mels else []
                for snr, result in zip(missing, results, strict=True):
                    line = {"model": name, "snr": snr, "file": row["file"], "words": words(model, result)}
                    print(json.dumps(line, ensure_ascii=False), file=out, flush=True)


def read_lines(path: Path) -> list[dict[str, Any]]:
    """What was written so far."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []


def noisy(samples: np.ndarray, snr: float | None) -> np.ndarray:
    """Samples (n_samples,) with white noise at a signal-to-noise ratio in dB."""
    if snr is None:
        return samples
    noise = np.random.default_rng(0).standard_normal(len(samples))
    return (samples + noise * samples.std() * 10 ** (-snr / 20)).astype(np.float32)


def words(model: Any, result: Any) -> list[dict[str, Any]]:
    """The words of the best hypothesis with their tokens."""
    best = result.hypotheses[0]
    is_text = [token < model.tokenizer.eot for token in best.tokens]
    logprobs = iter([logprob for logprob, text in zip(best.token_logprobs, is_text, strict=True) if text])
    return [
        {
            "text": word.text,
            "logprob": word.logprob,
            "tokens": [(model.tokenizer.decode([token]), next(logprobs)) for token in word.tokens],
        }
        for word in best.words
    ]


# Finding what is right


def mark(lines: Iterable[dict[str, Any]], references: dict[str, dict[str, str]]) -> Iterator[tuple[Any, Any]]:
    """(words, tokens) of each line, each a list of (log-probability, whether it is right)."""
    from whisper.normalizers import BasicTextNormalizer, EnglishTextNormalizer

    basic, english = BasicTextNormalizer(), EnglishTextNormalizer()
    for line in lines:
        row = references[line["file"]]
        normalise = english if row["language"] == "en" else basic
        said = list(row["text"]) if row["language"] in UNSPACED else row["text"].split()
        right = right_words([word["text"] for word in line["words"]], said, normalise)
        yield (
            [(word["logprob"], ok) for word, (ok, _) in zip(line["words"], right, strict=True)],
            [
                marked
                for word, (ok, said) in zip(line["words"], right, strict=True)
                for marked in right_tokens(word["tokens"], ok, said)
            ],
        )


def right_words(heard: Sequence[str], said: Sequence[str], normalise: Callable[[str], str]) -> list[tuple[bool, str]]:
    """For each word whether it was said, and what was said in its place.

    A run of words that differ counts as right if the normaliser makes the same of both.
    """
    from rapidfuzz.distance import Levenshtein

    marks: list[tuple[bool, str]] = []
    blocks: list[list[int]] = []
    for code in Levenshtein.opcodes([key(word) for word in heard], [key(word) for word in said]):
        is_equal = code.tag == "equal"
        if blocks and not is_equal and not blocks[-1][0]:
            blocks[-1][2], blocks[-1][4] = code.src_end, code.dest_end
        else:
            blocks.append([is_equal, code.src_start, code.src_end, code.dest_start, code.dest_end])
    for is_equal, begin, end, said_begin, said_end in blocks:
        spoken = " ".join(said[said_begin:said_end])
        if not is_equal:
            is_equal = squeeze(normalise("".join(heard[begin:end]))) == squeeze(normalise(spoken))
        marks += [(bool(is_equal), key(spoken))] * (end - begin)
    return marks


def right_tokens(tokens: Sequence[tuple[str, float]], is_right: bool, said: str) -> Iterator[tuple[float, bool]]:
    """Tokens with letters or digits: right in a right word, or where their characters were said."""
    from rapidfuzz.distance import Levenshtein

    heard = "".join(key(text) for text, _ in tokens)
    matched = {
        place
        for code in Levenshtein.opcodes(heard, said)
        if code.tag == "equal"
        for place in range(code.src_start, code.src_end)
    }
    place = 0
    for text, logprob in tokens:
        spelled = key(text)
        if spelled:
            yield logprob, is_right or all(at in matched for at in range(place, place + len(spelled)))
        place += len(spelled)


def key(text: str) -> str:
    """Letters and digits in one case."""
    return "".join(character for character in text.casefold() if character.isalnum())


def squeeze(text: str) -> str:
    """The text without spaces."""
    return "".join(text.split())


# Fitting and reporting


def logit(logprobs: np.ndarray) -> np.ndarray:
    """Log-odds of log-probabilities, kept finite."""
    clipped = np.clip(logprobs, -50, -1e-4)
    return clipped - np.log(-np.expm1(clipped))


Map = Callable[[Samples], np.ndarray]
"""Calibrated probabilities of samples."""


class Logistic:
    """sigmoid(weights · features), with the weights of the greatest likelihood, found by Newton's method."""

    def __init__(self, features: Callable[[Samples], list[np.ndarray]], samples: Samples) -> None:
        self._features = features
        x, y = self._columns(samples), samples.is_right
        self.weights = np.eye(x.shape[1])[0]
        for _ in range(50):
            p = 1 / (1 + np.exp(-x @ self.weights))
            hessian = (x * (p * (1 - p))[:, None]).T @ x + 1e-6 * np.eye(x.shape[1])
            self.weights = self.weights + np.clip(np.linalg.solve(hessian, x.T @ (y - p)), -1, 1)

    def _columns(self, samples: Samples) -> np.ndarray:
        features = self._features(samples)
        return np.stack([np.ones_like(features[0]), *features], axis=1)

    def __call__(self, samples: Samples) -> np.ndarray:
        """Calibrated probabilities."""
        return 1 / (1 + np.exp(-self._columns(samples) @ self.weights))


def isotonic(samples: Samples) -> Map:
    """The rising step map of the least squares, by pooling neighbours that fall."""
    order = np.argsort(samples.logprobs, kind="stable")
    pools: list[list[float]] = []
    for value, right in zip(samples.logprobs[order], samples.is_right[order], strict=True):
        pools.append([value, float(right), 1.0])
        while len(pools) > 1 and pools[-2][1] / pools[-2][2] >= pools[-1][1] / pools[-1][2]:
            _, rights, count = pools.pop()
            pools[-1][1] += rights
            pools[-1][2] += count
    starts = np.array([pool[0] for pool in pools])
    levels = np.clip([pool[1] / pool[2] for pool in pools], 0.001, 0.999)
    return lambda other: levels[np.clip(np.searchsorted(starts, other.logprobs, side="right") - 1, 0, None)]


def own(samples: Samples) -> np.ndarray:
    """The model's own probabilities."""
    return np.exp(samples.logprobs)


def product(calibration: Calibration) -> Map:
    """A map of the product."""

    def apply(samples: Samples) -> np.ndarray:
        return np.array([calibration(*pair) for pair in zip(samples.logprobs, samples.means, strict=True)])

    return apply


def fit_chosen(samples: Samples) -> Logistic:
    """The map of the kind that the product uses."""
    return Logistic(lambda each: [logit(each.logprobs), each.means], samples)


MAPS: dict[str, Callable[[Samples], Map]] = {
    "the model's own": lambda _: own,
    "isotonic": isotonic,
    "logistic on log-probability": lambda samples: Logistic(lambda each: [each.logprobs], samples),
    "logistic on log-odds": lambda samples: Logistic(lambda each: [logit(each.logprobs)], samples),
    "logistic on log-odds and the text's mean": fit_chosen,
}


def scores(p: np.ndarray, y: np.ndarray) -> tuple[float, float, float]:
    """Expected calibration error over ten bins, Brier score, log loss in nats."""
    bins = np.minimum((p * N_BIN).astype(int), N_BIN - 1)
    error = sum(abs((p - y)[bins == b].sum()) for b in range(N_BIN)) / len(p)
    safe = np.clip(p, 1e-6, 1 - 1e-6)
    return error, float(((p - y) ** 2).mean()), float(-np.where(y, np.log(safe), np.log(1 - safe)).mean())


def cross_validate(samples: Samples) -> None:
    """Print each map's scores on recordings that it was not fitted on."""
    fold = np.array([zlib.crc32(b"fold" + file.encode()) % N_FOLD for file in samples.files])
    print("| map | ECE % | Brier | log loss |\n|---|---|---|---|")
    for name, fit in MAPS.items():
        p = np.zeros(len(fold))
        for number in range(N_FOLD):
            train = samples[fold != number]
            p[fold == number] = fit(train)(samples[fold == number])
        error, brier, loss = scores(p, samples.is_right)
        print(f"| {name} | {100 * error:.1f} | {brier:.4f} | {loss:.4f} |")


def report(title: str, samples: Samples, *maps: Map) -> None:
    """One row: expected calibration error and Brier score by each map."""
    found = [scores(each(samples), samples.is_right) for each in maps]
    cells = [f"{100 * error:.1f}" for error, _, _ in found] + [f"{brier:.4f}" for _, brier, _ in found]
    print("|", " | ".join([title, str(len(samples.is_right)), f"{100 * samples.is_right.mean():.1f}", *cells]), "|")


def reliability(samples: Samples, fitted: Map) -> None:
    """Ten bins of the calibrated probability with the share that is right."""
    p = fitted(samples)
    print("| probability | n | mean | right |\n|---|---|---|---|")
    for b in range(N_BIN):
        inside = (p >= b / N_BIN) & (p < (b + 1) / N_BIN)
        if inside.any():
            mean, right = p[inside].mean(), samples.is_right[inside].mean()
            print(f"| {b / N_BIN:.1f} to {(b + 1) / N_BIN:.1f} | {inside.sum()} | {mean:.3f} | {right:.3f} |")


def fit(arguments: argparse.Namespace) -> None:
    """Fit on one half of the recordings and report on the other, for words and for tokens."""
    references = {row["file"]: row for row in labelled(arguments.manifest)}
    lines = read_lines(arguments.fit)
    groups: dict[str, dict[Group, list[Any]]] = {"words": defaultdict(list), "tokens": defaultdict(list)}
    for line, pair in zip(lines, mark(lines, references), strict=True):
        group = Group(line["model"], references[line["file"]]["language"] == "en", line["snr"])
        logprobs = [logprob for word in line["words"] for _, logprob in word["tokens"]]
        for unit, marked in zip(groups, pair, strict=True):
            groups[unit][group] += [
                (logprob, np.mean(logprobs), is_right, line["file"]) for logprob, is_right in marked
            ]
    for (unit, entries), calibration in zip(groups.items(), (WORD_CALIBRATION, TOKEN_CALIBRATION), strict=True):
        shipped = product(calibration)
        halves = {group: half(each) for group, each in entries.items()}
        train = joined([first for group, (first, _) in halves.items() if group.is_english and group.snr in FIT_SNRS])
        print(f"\n## {unit}: cross-validation on the first half\n")
        cross_validate(train)
        fitted = fit_chosen(train)
        offset, slope, context = fitted.weights
        print(f"\n## {unit}: second half, offset={offset:.2f}, slope={slope:.2f}, context={context:.2f}\n")
        print("| | n | right % | ECE %: own | product's | fitted | Brier: own | product's | fitted |")
        print("|---|---|---|---|---|---|---|---|---|")
        for group, (_, second) in halves.items():
            report(str(group), second, own, shipped, fitted)
        test = joined([second for group, (_, second) in halves.items() if group.is_english and group.snr in FIT_SNRS])
        report("English, clean and 10 dB", test, own, shipped, fitted)
        print()
        reliability(test, shipped)


@dataclass(frozen=True)
class Group:
    """What is reported in one row."""

    model: str
    is_english: bool
    snr: float | None

    def __str__(self) -> str:
        language = "English" if self.is_english else "other languages"
        return f"{self.model}, {language}, {'clean' if self.snr is None else f'{self.snr} dB'}"


def half(entries: list[tuple[float, float, bool, str]]) -> tuple[Samples, Samples]:
    """Two halves; a recording is in the same one whatever the model and the noise."""
    logprobs, means, right, files = (np.array(column) for column in zip(*entries, strict=True))
    samples = Samples(np.maximum(logprobs.astype(float), -50), means.astype(float), right.astype(bool), files)
    is_first = np.array([zlib.crc32(file.encode()) % 2 == 0 for file in files])
    return samples[is_first], samples[~is_first]


def joined(parts: Sequence[Samples]) -> Samples:
    """All samples of several sets."""
    names = ("logprobs", "means", "is_right", "files")
    return Samples(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("manifest", type=Path)
    parser.add_argument("--models", nargs="+", default=["base", "tiny.en"])
    parser.add_argument("--precision", default="auto")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--collect", type=Path, metavar="FILE")
    parser.add_argument("--fit", type=Path, metavar="FILE")
    arguments = parser.parse_args()
    if arguments.collect:
        collect(arguments)
    if arguments.fit:
        fit(arguments)


if __name__ == "__main__":
    main()
