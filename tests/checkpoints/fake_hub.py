"""A local HTTP server that imitates the Hugging Face hub as far as downloads need it, with faults on order."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

COMMIT = "0123456789abcdef0123456789abcdef01234567"


class FakeHub:
    """One repository, its files, and what goes wrong.

    Attributes:
        files: file name to contents; weights are known to the hub by sha256, the others by git's sha1.
        cut: file name to the number of its downloads that are to break off in the middle.
        garbled: file name to the number of its downloads that are to arrive with one wrong byte.
        requests: "METHOD path" of everything asked so far.
    """

    def __init__(self, repo: str, files: Mapping[str, bytes]) -> None:
        self.repo = repo
        self.files = dict(files)
        self.cut: dict[str, int] = {}
        self.garbled: dict[str, int] = {}
        self.requests: list[str] = []
        self.lock = threading.Lock()
        self.url = ""

    def take(self, faults: dict[str, int], name: str) -> bool:
        """Whether this download is to fail; counts down."""
        with self.lock:
            left = faults.get(name, 0)
            faults[name] = left - 1
            return left > 0

    def entry(self, name: str) -> dict[str, Any]:
        """One line of the tree listing."""
        data = self.files[name]
        entry: dict[str, Any] = {"type": "file", "path": name, "size": len(data), "oid": git_sha1(data)}
        if is_large(name):
            entry["lfs"] = {"oid": digest(name, data), "size": len(data), "pointerSize": 130}
        return entry

    @contextmanager
    def serving(self) -> Iterator[FakeHub]:
        """Serve on a free port of this machine, whose address is then `url`."""
        server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"hub": self}))
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        self.url = f"http://127.0.0.1:{server.server_port}"
        try:
            yield self
        finally:
            server.shutdown()
            thread.join()
            server.server_close()


def is_large(name: str) -> bool:
    return name.endswith((".bin", ".safetensors"))


def git_sha1(data: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


def digest(name: str, data: bytes) -> str:
    """Digest under which the hub knows a file."""
    return hashlib.sha256(data).hexdigest() if is_large(name) else git_sha1(data)


class _Handler(BaseHTTPRequestHandler):
    hub: FakeHub
    protocol_version = "HTTP/1.1"

    def do_HEAD(self) -> None:
        self.answer(with_body=False)

    def do_GET(self) -> None:
        self.answer(with_body=True)

    def answer(self, *, with_body: bool) -> None:
        self.hub.requests.append(f"{self.command} {self.path}")
        path = self.path.partition("?")[0]
        if path == f"/api/models/{self.hub.repo}" or path.startswith(f"/api/models/{self.hub.repo}/revision/"):
            siblings = [{"rfilename": name} for name in self.hub.files]
            self.send_json({"id": self.hub.repo, "modelId": self.hub.repo, "sha": COMMIT, "siblings": siblings})
        elif path in (f"/api/models/{self.hub.repo}/tree/{revision}" for revision in ("main", COMMIT)):
            self.send_json([self.hub.entry(name) for name in self.hub.files])
        elif path.startswith(f"/{self.hub.repo}/resolve/") and path.rpartition("/")[2] in self.hub.files:
            self.send_file(path.rpartition("/")[2], with_body=with_body)
        else:
            self.send_response(404)
            self.send_header("X-Error-Code", "RepoNotFound")
            self.send_header("Content-Length", "0")
            self.end_headers()

    def send_json(self, value: object) -> None:
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def send_file(self, name: str, *, with_body: bool) -> None:
        data = self.hub.files[name]
        start = int(self.headers.get("Range", "bytes=0-").removeprefix("bytes=").partition("-")[0])
        self.send_response(206 if start else 200)
        self.send_header("X-Repo-Commit", COMMIT)
        self.send_header("ETag", f'"{digest(name, data)}"')
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
        self.send_header("Content-Length", str(len(data) - start))
        self.end_headers()
        if not with_body:
            return
        body = data[start:]
        if self.hub.take(self.hub.garbled, name):
            body = body[:-1] + bytes([body[-1] ^ 1])
        if self.hub.take(self.hub.cut, name):
            self.wfile.write(body[: len(body) // 2])
            self.close_connection = True
        else:
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Keep the test output clean."""
