"""Recordings behind URLs, read piece by piece with fsspec; needs the extra `url`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sasayaki.errors import AudioError, OptionError

_EXTRA = (
    "URLs are read with an extra: pip install 'sasayaki[url]' (other kinds than http and https need more, see fsspec)"
)


@contextmanager
def open_url(url: str) -> Iterator[Any]:
    """A binary file object of what a URL names.

    Raises:
        OptionError: the library for this kind of URL is not installed.
        AudioError: there is no such kind, or it cannot be read.
    """
    try:
        import fsspec

        opened = fsspec.open(url, "rb")
    except ImportError as error:
        raise OptionError(f"{url}: {_EXTRA}") from error
    except ValueError as error:
        raise AudioError(f"{url} cannot be read: {error}") from error
    try:
        with opened as file:
            yield file
    except OSError as error:
        raise AudioError(f"{url} cannot be read: {error}") from error
