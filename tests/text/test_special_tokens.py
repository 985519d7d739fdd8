"""Special tokens: ids of the three vocabularies, and vocabularies of one's own."""

import dataclasses

import pytest

from sasayaki.errors import CheckpointError
from sasayaki.text.special_tokens import SpecialTokens


@pytest.mark.parametrize(
    ("n_vocab", "n_languages", "ids"),
    [
        (51864, 99, (50256, 50257, 50357, 50358, 50359, 50360, 50361, 50362, 50363)),
        (51865, 99, (50257, 50258, 50358, 50359, 50360, 50361, 50362, 50363, 50364)),
        (51866, 100, (50257, 50258, 50359, 50360, 50361, 50362, 50363, 50364, 50365)),
    ],
)
def test_ids_of_the_published_vocabularies(n_vocab: int, n_languages: int, ids: tuple[int, ...]) -> None:
    """B115: the marker before a prompt is one id and depends on the vocabulary."""
    special = SpecialTokens.for_vocab(n_vocab)
    assert ids == (
        *(special.eot, special.sot, special.translate, special.transcribe, special.sot_lm),
        *(special.sot_prev, special.no_speech, special.no_timestamps, special.timestamp_begin),
    )
    assert special.timestamp_begin + special.n_timestamps == special.n_vocab == n_vocab
    assert special.language_ids == tuple(range(special.sot + 1, special.translate))
    assert len(special.languages) == n_languages
    assert ("yue" in special.languages) == (n_vocab == 51866)
    assert special.is_multilingual == (n_vocab != 51864)


@pytest.mark.parametrize("n_vocab", [51864, 51865, 51866])
def test_spellings_cover_each_special_id_once(n_vocab: int) -> None:
    special = SpecialTokens.for_vocab(n_vocab)
    spellings = special.spellings()
    assert list(spellings.values()) == list(range(special.eot, n_vocab))
    assert spellings["<|en|>"] == special.languages["en"]
    assert spellings["<|1.08|>"] == special.timestamp_begin + 54
    assert spellings["<|30.00|>"] == n_vocab - 1


def test_control_ids_are_neither_text_nor_end_nor_timestamps() -> None:
    special = SpecialTokens.for_vocab(51865)
    assert set(special.control_ids) == {50258, 50358, 50359, 50360, 50361, 50362}
    assert not set(special.control_ids) & set(special.language_ids)


@pytest.mark.parametrize("n_vocab", [0, -1, 50257, 51863, 51867, 51872])
def test_another_size_is_refused(n_vocab: int) -> None:
    with pytest.raises(CheckpointError, match=rf"51864, 51865, 51866.*{n_vocab}"):
        SpecialTokens.for_vocab(n_vocab)


def test_published_ids_cannot_be_changed() -> None:
    special = SpecialTokens.for_vocab(51865)
    with pytest.raises(dataclasses.FrozenInstanceError):
        special.eot = 0  # type: ignore[misc]
    with pytest.raises(TypeError):
        special.languages["en"] = 0  # type: ignore[index]
    assert hash(special) == hash(SpecialTokens.for_vocab(51865))
