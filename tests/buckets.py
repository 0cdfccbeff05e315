"""A bucket of an S3-compatible store, in this process: what `obstore` asks of one for files that are put in one piece.

What belongs here: listing, reading, writing, copying, removing, and a key that is refused. What does not: signatures,
which are not looked at, parts of large files, versions.
"""

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import md5
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

_WRITTEN: Final = datetime(2026, 11, 21, tzinfo=UTC)


@dataclass(slots=True)
class Bucket:
    """The files of one bucket, by key, and how a program is told of it."""

    name: str = "packaging"
    address: str = ""
    files: dict[str, bytes] = field(default_factory=dict)
    times: dict[str, datetime] = field(default_factory=dict)
    """When a file was written, where that is not `_WRITTEN`."""
    refused: set[str] = field(default_factory=set)
    """The methods that the credentials have no right to."""

    @property
    def variables(self) -> dict[str, str]:
        """The settings of a service that keeps its files here."""
        return {
            "PCDS_OBJECTS_URL": f"s3://{self.name}/pcds",
            "AWS_ENDPOINT_URL": self.address,
            "AWS_ACCESS_KEY_ID": "any",
            "AWS_SECRET_ACCESS_KEY": "any",
            "AWS_REGION": "eu-central-1",
            "AWS_ALLOW_HTTP": "true",
            "PCDS_OBJECTS_BY_HTTP": "true",
        }

    def time(self, key: str) -> datetime:
        """When a file was written, in UTC."""
        return self.times.get(key, _WRITTEN)

    def listed(self, asked: dict[str, list[str]]) -> bytes:
        """ListObjectsV2 of a prefix, with what lies deeper as common prefixes where a delimiter is given."""
        prefix, delimiter = asked.get("prefix", [""])[0], asked.get("delimiter", [""])[0]
        found, deeper = [], dict[str, None]()
        for key, data in sorted(self.files.items()):
            if key.startswith(prefix) and delimiter and delimiter in key[len(prefix) :]:
                deeper[prefix + key[len(prefix) :].partition(delimiter)[0] + delimiter] = None
            elif key.startswith(prefix):
                found.append(
                    f"<Contents><Key>{escape(key)}</Key><Size>{len(data)}</Size><ETag>{_tag(data)}</ETag>"
                    f"<LastModified>{self.time(key):%Y-%m-%dT%H:%M:%S.000Z}</LastModified></Contents>"
                )
        found += [f"<CommonPrefixes><Prefix>{escape(each)}</Prefix></CommonPrefixes>" for each in deeper]
        return f"<ListBucketResult><IsTruncated>false</IsTruncated>{''.join(found)}</ListBucketResult>".encode()


@contextmanager
def opened() -> Iterator[Bucket]:
    """Serve an empty bucket on a loopback address."""
    bucket = Bucket()

    class Answers(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            parts = urlsplit(self.path)
            key = unquote(parts.path.removeprefix(f"/{bucket.name}").removeprefix("/"))
            asked = parse_qs(parts.query, keep_blank_values=True)
            if (source := self.headers.get("x-amz-copy-source")) is not None:
                body = bucket.files.get(unquote(source).partition("/")[2], b"")
            if self.command in bucket.refused:
                status, answer = 403, b"<Error><Code>AccessDenied</Code></Error>"
            elif self.headers.get("If-None-Match") == "*" and key in bucket.files:
                status, answer = 412, b""
            else:
                status, answer = answered(bucket, self.command, key, asked, body)
            piece = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
            if status == 200 and piece is not None:
                status, whole, answer = 206, len(answer), answer[int(piece[1]) : int(piece[2]) + 1]
            self.send_response(status)
            if status == 206 and piece is not None:
                self.send_header("Content-Range", f"bytes {piece[1]}-{int(piece[1]) + len(answer) - 1}/{whole}")
            self.send_header("ETag", _tag(bucket.files.get(key, b"")))
            self.send_header("Last-Modified", f"{bucket.time(key):%a, %d %b %Y %H:%M:%S GMT}")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(answer)

        do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _answer  # noqa: N815  (the library's names)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        bucket.address = f"http://127.0.0.1:{server.server_address[1]}"
        yield bucket
        server.shutdown()


def answered(bucket: Bucket, method: str, key: str, asked: dict[str, list[str]], body: bytes) -> tuple[int, bytes]:
    """Carry out a request; its status and the answer's body."""
    match method:
        case "GET" if not key:
            return 200, bucket.listed(asked)
        case "POST" if "delete" in asked:
            gone = [unquote(each) for each in re.findall(r"<Key>(.*?)</Key>", body.decode())]
            for each in gone:
                bucket.files.pop(each, None)
            names = "".join(f"<Deleted><Key>{escape(each)}</Key></Deleted>" for each in gone)
            return 200, f"<DeleteResult>{names}</DeleteResult>".encode()
        case "PUT":
            bucket.files[key] = body
            return 200, f"<CopyObjectResult><ETag>{_tag(body)}</ETag></CopyObjectResult>".encode()
        case "DELETE":
            bucket.files.pop(key, None)
            return 204, b""
        case "GET" | "HEAD" if key in bucket.files:
            return 200, bucket.files[key]
    return 404, b"<Error><Code>NoSuchKey</Code></Error>"


def _tag(data: bytes) -> str:
    return f'"{md5(data, usedforsecurity=False).hexdigest()}"'
