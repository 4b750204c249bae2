"""An embedded Kafka broker: one KRaft process on free ports of this machine, which dies with the process that started it."""

import base64
import fcntl
import os
import re
import subprocess
import time
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path

from penstock.core.errors import UserMistake
from penstock.localhost import HOST, free_ports, listens_at
from penstock.processes import die_with_parent, end_process

START_S = 90.0
STOP_S = 20.0
PLAIN = "PLAINTEXT"
# Java's second compiler would double the start time, and take half a core for the first minutes.
_JAVA_OPTIONS = ("-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
_CAUSE = re.compile(r"^(?:Caused by: |Exception in thread \S+ )?(?:[\w$]+\.)+[\w$]*(?:Exception|Error): (.+)$", re.MULTILINE)
DATA = "data"


class EmbeddedBroker:
    """A broker over a folder, in which its topics stay for the next start.

    `jars` are Kafka's own; `properties` override or extend its settings; `listeners` are added to the plain one, as security protocols by name.
    Start it from a thread that outlives it: the kernel ends it with that thread.
    """

    def __init__(self, folder: Path, jars: Sequence[str], properties: Mapping[str, str] | None = None, listeners: Mapping[str, str] | None = None) -> None:
        self.folder = folder
        self._jars = tuple(jars)
        protocols = {PLAIN: PLAIN, **(listeners or {})}
        controller, *ports = free_ports(1 + len(protocols))
        self._ports = dict(zip(protocols, ports, strict=True))
        self._settings = {**broker_settings(controller, {name: (protocols[name], self._ports[name]) for name in protocols}), **(properties or {})}
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def bootstrap(self) -> str:
        return self.address(PLAIN)

    def address(self, listener: str) -> str:
        return f"{HOST}:{self._ports[listener]}"

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    def listens(self) -> bool:
        return listens_at(self._ports[PLAIN])

    def start(self) -> None:
        """Start it, on the same ports each time, and wait until it listens."""
        if self._process is not None and self._process.poll() is None:
            return
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        settings = self.folder / "server.properties"
        lock = self._take_folder()
        try:
            taken = [port for port in self._ports.values() if listens_at(port)]
            if taken:
                raise UserMistake(f"kafka: port {taken[0]} of the embedded broker in {self.folder} is taken by another process now; start the job again")
            write_private(settings, as_properties(self._settings))
            write_private(self._log, "")
            if not (self.folder / DATA / "meta.properties").exists():
                self._format(settings, lock)
            self._process = self._run(lock, "kafka.Kafka", str(settings))
        finally:
            os.close(lock)
        self._wait_listening(time.monotonic() + START_S)

    def stop(self) -> None:
        if self._process is not None:
            end_process(self._process, grace_s=STOP_S)
            self._process = None

    def _take_folder(self) -> int:
        """Lock the folder; the broker's process inherits the lock, as two brokers would ruin the data. One whose owner has died may still be ending."""
        lock = os.open(self.folder / "broker.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        deadline = time.monotonic() + STOP_S
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return lock
            except BlockingIOError:
                if time.monotonic() > deadline:
                    os.close(lock)
                    raise UserMistake(f"kafka: another embedded broker runs in {self.folder}; stop it, or use another folder") from None
            time.sleep(0.1)

    def _format(self, settings: Path, lock: int) -> None:
        formatting = self._run(lock, "kafka.tools.StorageTool", "format", "-t", new_identity(), "-c", str(settings))
        try:
            if formatting.wait(START_S) == 0:
                return
        except subprocess.TimeoutExpired:
            end_process(formatting)
        raise UserMistake(f"kafka: the embedded broker's folder {self.folder} could not be prepared; {self._reason()}")

    def _wait_listening(self, deadline_s: float) -> None:
        assert self._process is not None
        while not self.listens():
            if self._process.poll() is not None or time.monotonic() > deadline_s:
                self.stop()
                raise UserMistake(f"kafka: the embedded broker in {self.folder} did not start; {self._reason()}")
            time.sleep(0.1)

    def _run(self, lock: int, class_name: str, *arguments: str) -> subprocess.Popen[bytes]:
        home = os.environ.get("JAVA_HOME")
        java = f"{home}/bin/java" if home else "java"
        try:
            with open(self._log, "ab") as log:
                return subprocess.Popen(
                    [java, *_JAVA_OPTIONS, f"-Djava.io.tmpdir={self.folder.resolve()}", "-cp", ":".join(self._jars), class_name, *arguments],
                    cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log, pass_fds=(lock,), preexec_fn=die_with_parent,
                )  # fmt: skip
        except FileNotFoundError:
            raise UserMistake(f"kafka: there is no {java} for an embedded broker; install Java 17 or newer, or set JAVA_HOME") from None

    @property
    def _log(self) -> Path:
        return self.folder / "broker.log"

    def _reason(self) -> str:
        """Return the innermost cause in the log of this start."""
        causes = _CAUSE.findall(self._log.read_text(errors="replace"))
        return f"it said: {causes[-1][:300]}" if causes else f"see {self._log}, and that Java 17 or newer works (`java -version`)"


def new_identity() -> str:
    """Return a cluster id as Kafka makes them; one that begins with a dash would be taken for an option."""
    while (identity := base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")).startswith("-"):
        pass
    return identity


def broker_settings(controller_port: int, listeners: Mapping[str, tuple[str, int]]) -> dict[str, str]:
    """Return the settings of a single node, broker and controller; `listeners` are (security protocol, port) by name."""
    addresses = [f"{name}://{HOST}:{port}" for name, (_, port) in listeners.items()]
    protocols = [f"{name}:{protocol}" for name, (protocol, _) in listeners.items()]
    return {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.voters": f"1@{HOST}:{controller_port}",
        "controller.listener.names": "CONTROLLER",
        "listeners": ",".join([*addresses, f"CONTROLLER://{HOST}:{controller_port}"]),
        "advertised.listeners": ",".join(addresses),
        "listener.security.protocol.map": ",".join([*protocols, "CONTROLLER:PLAINTEXT"]),
        "inter.broker.listener.name": next(iter(listeners)),
        "log.dirs": DATA,
        "auto.create.topics.enable": "false",
        "default.replication.factor": "1",
        "offsets.topic.num.partitions": "1",
        "offsets.topic.replication.factor": "1",
        "transaction.state.log.num.partitions": "1",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        "group.initial.rebalance.delay.ms": "0",
        "broker.session.timeout.ms": "6000",  # how long a restart waits after a kill
        "broker.heartbeat.interval.ms": "1000",
        "num.network.threads": "2",
        "num.io.threads": "2",
    }


def as_properties(settings: Mapping[str, str]) -> str:
    r"""Return settings in the format of a Java properties file.

    >>> print(as_properties({"login": 'a="b\\c"', "name": " ü"}), end="")
    login=a="b\\c"
    name=\ \u00fc
    """
    return "".join(f"{name}={_escaped(value)}\n" for name, value in settings.items())


def write_private(path: Path, text: str) -> None:
    """Write a file that is never readable by others, not even for a moment."""
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
        file.write(text)


def _escaped(value: str) -> str:
    plain = value.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
    units = plain.encode("utf-16-be")
    ascii_text = "".join(chr(unit) if unit < 128 else f"\\u{unit:04x}" for unit in (int.from_bytes(units[i : i + 2], "big") for i in range(0, len(units), 2)))
    return f"\\{ascii_text}" if ascii_text.startswith(" ") else ascii_text
