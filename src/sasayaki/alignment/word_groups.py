"""Words with the punctuation that belongs to them, as tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sasayaki.text.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True)
class WordGroup:
    """A word with the punctuation beside it.

    Attributes:
        text: with its leading space.
        tokens: of all of it, at least one.
        n_before: how many of the first tokens are punctuation before the word.
        n_after: how many of the last tokens are punctuation after it.
    """

    text: str
    tokens: tuple[int, ...]
    n_before: int = 0
    n_after: int = 0

    def follow(self, before: WordGroup) -> WordGroup:
        """This word with punctuation in front."""
        return WordGroup(
            before.text + self.text, before.tokens + self.tokens, self.n_before + len(before.tokens), self.n_after
        )

    def lead(self, after: WordGroup) -> WordGroup:
        """This word with punctuation behind."""
        return WordGroup(
            self.text + after.text, self.tokens + after.tokens, self.n_before, self.n_after + len(after.tokens)
        )


def group_words(
    tokens: Sequence[int], tokenizer: Tokenizer, *, prepended: str, appended: str, text: str | None = None
) -> list[WordGroup]:
    """The words of a text in order, each with its punctuation; space that is a token of its own is no word.

    Args:
        tokens: text tokens only.
        tokenizer: of the language that the text is in.
        prepended: punctuation marks that belong to the next word where a space stands before them.
        appended: punctuation marks that belong to the word before where no space stands between.
        text: the decoded text, where it begins with a character that an earlier token began; None decodes.
    """
    words = [WordGroup(word, tuple(ids)) for word, ids in zip(*tokenizer.split_to_word_tokens(tokens), strict=True)]
    if words and text is not None:
        rest = "".join(word.text for word in words[1:])
        words[0] = WordGroup(text.removesuffix(rest), words[0].tokens)
    return _append(_prepend(words, prepended), appended)


def _prepend(words: Sequence[WordGroup], marks: str) -> list[WordGroup]:
    joined: list[WordGroup] = []
    for word in reversed(words):
        is_mark = word.text.startswith(" ") and _is_all(word.text.strip(), marks)
        if joined and (is_mark or word.text.isspace()):
            joined[-1] = joined[-1].follow(word)
        else:
            joined.append(word)
    return joined[::-1]


def _append(words: Sequence[WordGroup], marks: str) -> list[WordGroup]:
    joined: list[WordGroup] = []
    for word in words:
        is_mark = _is_all(word.text, marks) and not (joined and joined[-1].text.endswith(" "))
        if joined and (is_mark or not word.text.strip()):
            joined[-1] = joined[-1].lead(word)
        else:
            joined.append(word)
    return joined


def _is_all(text: str, marks: str) -> bool:
    return bool(text) and all(character in marks for character in text)
