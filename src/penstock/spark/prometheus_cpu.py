"""CPU cores of executors from a Prometheus query of the user's, for clusters on which Prometheus watches them anyway."""

from __future__ import annotations

import base64
import json
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.client import HTTPException
from threading import Lock, Thread
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote, unquote, urlencode, urlsplit
from urllib.request import Request, urlopen

from penstock.core.domain.job_spec import CpuQuery
from penstock.core.redaction import Redactor

CACHED_S = 2.0
LONGEST_ANSWER_BYTES = 4_000_000
LONGEST_PROBLEM = 300
NO_ANSWER = "no answer in time"
NO_PROMETHEUS = "that is no answer of Prometheus's; look at the URL"


class Unusable(Exception):
    """Why there is no number; the message follows the server's address in a line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Cores by executor, or the problem."""

    cores: Mapping[str, float] = field(default_factory=dict)
    problem: str | None = None


class PrometheusCpu:
    """Runs one query at most every two seconds; the caller waits `timeout_s` at most, and never gets an exception."""

    def __init__(self, query: CpuQuery, timeout_s: float = 2.0, *, now: Callable[[], float] = time.monotonic) -> None:
        self._query = query
        self._timeout_s = timeout_s
        self._now = now
        self._lock = Lock()
        self._asked_s: float | None = None
        self._asking: Thread | None = None
        self._answer = Answer()
        self._server: Server | None = None
        try:
            self._server = Server.of(query.url)
        except Unusable as reason:
            self._answer = Answer(problem=f"Prometheus: {reason}")

    @property
    def problem(self) -> str | None:
        """One line on why the last query failed; None if it did not, or none has run yet."""
        return self._answer.problem

    def cores(self) -> dict[str, float]:
        """Return the cores each executor uses, by the value of the query's label; empty if unknown."""
        with self._lock:
            now_s = self._now()
            if self._server and (self._asked_s is None or now_s - self._asked_s >= CACHED_S):
                self._ask(self._server)
                self._asked_s = self._now()
            return dict(self._answer.cores)

    def _ask(self, server: Server) -> None:
        """Run the query in a thread, one at a time: a socket's time-out bounds neither a slow name server nor an answer that comes in drops."""
        if self._asking is None or not self._asking.is_alive():
            self._asking = Thread(target=self._take, args=(server,), name="penstock-prometheus", daemon=True)
            self._asking.start()
        self._asking.join(self._timeout_s)
        if self._asking.is_alive():
            self._answer = Answer(problem=server.problem(NO_ANSWER))

    def _take(self, server: Server) -> None:
        self._answer = ask(server, self._query, self._timeout_s)


@dataclass(frozen=True, slots=True)
class Server:
    """A server's URL in parts: `place` can be shown; user and password go into a header, and the redactor masks them."""

    place: str
    path: str
    authorization: str | None
    redactor: Redactor

    @classmethod
    def of(cls, url: str) -> Server:
        """Parse a URL; refuse one in which a password could be taken for another part, without showing it.

        >>> Server.of("http://me:s%40fe@metrics:9090/prometheus/").place
        'http://metrics:9090'
        """
        try:
            parts = urlsplit(url)
            readable = parts.scheme in {"http", "https"} and parts.hostname and (parts.port is None or parts.port >= 0)
        except ValueError:
            readable = False
        if not readable or "@" in f"{parts.path}{parts.query}{parts.fragment}":
            raise Unusable("the URL cannot be read; write http://host:port, and / @ : # ? in a user name or password as %2F %40 %3A %23 %3F")
        userinfo, _, host = parts.netloc.rpartition("@")
        plain = ":".join(unquote(each) for each in userinfo.split(":", 1))
        token = base64.b64encode(plain.encode()).decode()
        secrets = frozenset({userinfo, plain, *userinfo.split(":", 1), *plain.split(":", 1), token} - {""}) if userinfo else frozenset[str]()
        path = quote(parts.path.rstrip("/"), safe="/%")
        return cls(place=f"{parts.scheme}://{host}", path=path, authorization=f"Basic {token}" if userinfo else None, redactor=Redactor(secrets))

    def request(self, query: str) -> Request:
        """Return the request; its header is not sent on to where the server redirects."""
        request = Request(f"{self.place}{self.path}/api/v1/query?{urlencode({'query': query})}", headers={"Accept": "application/json"})
        if self.authorization:
            request.add_unredirected_header("Authorization", self.authorization)
        return request

    def problem(self, reason: str) -> str:
        """Return one line on what went wrong, without user and password."""
        line = " ".join(f"Prometheus at {self.place}: {reason}".split())
        return self.redactor.text(line)[:LONGEST_PROBLEM]


def ask(server: Server, query: CpuQuery, timeout_s: float) -> Answer:
    """Run the query once; never raise."""
    try:
        return Answer(cores=cores_of(_document(server.request(query.query), timeout_s), query.label))
    except Exception as error:
        return Answer(problem=server.problem(_reason(error)))


def cores_of(document: Any, label: str) -> dict[str, float]:
    """Return cores by the label's value, from the answer of `/api/v1/query` with an instant vector.

    >>> series = {"metric": {"executor_id": "3"}, "value": [1700000000, "1.5"]}
    >>> cores_of({"status": "success", "data": {"resultType": "vector", "result": [series]}}, "executor_id")
    {'3': 1.5}
    """
    if not isinstance(document, dict) or document.get("status") != "success":
        said = document.get("error") if isinstance(document, dict) else None
        raise Unusable(said if isinstance(said, str) and said.strip() else NO_PROMETHEUS)
    data = document["data"]
    if data["resultType"] != "vector":
        raise Unusable(f"the query gives a {data['resultType']}, an instant vector is needed; look at the query")
    named = [(series["metric"][label], float(series["value"][1])) for series in data["result"] if label in series["metric"]]
    if not named:
        raise Unusable(
            f'no series has the label "{label}"; look at the query and the label' if data["result"] else "the query finds no series; look at the query"
        )
    if len(dict(named)) < len(named):
        raise Unusable(f'several series have the same "{label}"; write "sum by ({label}) (...)" around the query')
    return {name: cores for name, cores in named if math.isfinite(cores) and cores >= 0}


def _document(request: Request, timeout_s: float) -> Any:
    """Return the server's JSON answer, also if it explains an error."""
    try:
        with urlopen(request, timeout=timeout_s) as response:
            body = response.read(LONGEST_ANSWER_BYTES + 1)
    except HTTPError as error:
        with error:
            explained = _json_or_none(error.read(LONGEST_ANSWER_BYTES))
        if isinstance(explained, dict) and explained.get("error"):
            return explained
        raise
    if len(body) > LONGEST_ANSWER_BYTES:
        raise Unusable(f"the answer is longer than {LONGEST_ANSWER_BYTES} bytes; look at the query")
    return _json_or_none(body)


def _json_or_none(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _reason(error: Exception) -> str:
    """Return what went wrong, in words a user can act on."""
    if isinstance(error, Unusable):
        return str(error)
    if isinstance(error, HTTPError):
        return f"it refuses with HTTP {error.code} {error.reason}" + ("; look at the user name and password in the URL" if error.code in {401, 403} else "")
    cause = error.reason if isinstance(error, URLError) else error
    if isinstance(cause, TimeoutError):
        return NO_ANSWER
    if isinstance(cause, OSError):
        return f"it cannot be reached ({cause.strerror or cause})"
    return f"it broke off ({type(error).__name__})" if isinstance(error, HTTPException) else NO_PROMETHEUS
