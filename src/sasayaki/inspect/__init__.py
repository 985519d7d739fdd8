"""The page of `sasayaki inspect`: a recording and every decision of its transcription, in one offline file."""

from sasayaki.inspect.page import build_page, write_page

__all__ = ["build_page", "write_page"]
