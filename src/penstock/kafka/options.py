"""Options of Kafka clients, translated from those of Spark's connector (Java's) to those of librdkafka."""

import os
import re
import subprocess
from collections.abc import Callable, Mapping

from penstock.core.errors import UserMistake

PREFIX = "kafka."
SAME = ("bootstrap.servers", "client.id", "client.dns.lookup", "security.protocol", "sasl.mechanism", "ssl.key.password", "metadata.max.age.ms")
INLINE_PEM = {"ssl.truststore.certificates": "ssl.ca.pem", "ssl.keystore.certificate.chain": "ssl.certificate.pem", "ssl.keystore.key": "ssl.key.pem"}
WITH_PASSWORD = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
_LOGIN = re.compile(r"""\b(username|password)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|([\w$-]+))""")


def java_options(options: Mapping[str, str]) -> dict[str, str]:
    """Return the options of a source or sink that are for the Kafka client; Spark ignores case in the prefix `kafka.` only.

    >>> java_options({"KAFKA.bootstrap.servers": "a:9092", "subscribe": "clicks"})
    {'bootstrap.servers': 'a:9092'}
    """
    return {name[len(PREFIX) :]: value for name, value in options.items() if name.lower().startswith(PREFIX)}


def certificates(store: str, password: str | None) -> str:
    """Return the certificates of a Java trust store as PEM text, by the JDK's keytool."""
    home = os.environ.get("JAVA_HOME")
    command = [f"{home}/bin/keytool" if home else "keytool", "-list", "-rfc", "-keystore", store]
    secret = {} if password is None else {"PENSTOCK_STORE_PASSWORD": password}
    done = subprocess.run(
        [*command, *(["-storepass:env", "PENSTOCK_STORE_PASSWORD"] if secret else [])], env={**os.environ, **secret}, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    found = re.findall(r"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", done.stdout, re.DOTALL)
    if done.returncode or not found:
        lines = (done.stdout or done.stderr).strip().splitlines()
        raise UserMistake(f"kafka.ssl.truststore.location: {store} cannot be read: {lines[0] if lines else 'it holds no certificate'}")
    return "\n".join(found) + "\n"


def client_options(java: Mapping[str, str], pem_of: Callable[[str, str | None], str] = certificates) -> dict[str, str]:
    """Return the same options for librdkafka, without those that only tune Java's client; raise for those it does not support.

    >>> client_options({"bootstrap.servers": "a:9092", "max.poll.records": "7"})
    {'bootstrap.servers': 'a:9092'}
    """
    options = {name: java[name] for name in SAME if name in java}
    if "ssl.endpoint.identification.algorithm" in java:
        options["ssl.endpoint.identification.algorithm"] = java["ssl.endpoint.identification.algorithm"] or "none"
    options |= {theirs: java[name] for name, theirs in INLINE_PEM.items() if name in java}
    return options | _trust(java, pem_of) | _identity(java) | _login(java)


def _trust(java: Mapping[str, str], pem_of: Callable[[str, str | None], str]) -> dict[str, str]:
    store = java.get("ssl.truststore.location")
    if store is None:
        return {}
    if java.get("ssl.truststore.type", "JKS").upper() == "PEM":
        return {"ssl.ca.location": store}
    return {"ssl.ca.pem": pem_of(store, java.get("ssl.truststore.password"))}


def _identity(java: Mapping[str, str]) -> dict[str, str]:
    store, kind = java.get("ssl.keystore.location"), java.get("ssl.keystore.type", "JKS").upper()
    if store is None:
        return {}
    if kind == "PEM":
        return {"ssl.certificate.location": store, "ssl.key.location": store}
    if kind == "PKCS12":
        return {"ssl.keystore.location": store, "ssl.keystore.password": java.get("ssl.keystore.password", "")}
    raise UserMistake(f"kafka.ssl.keystore.type: found {kind}, PKCS12 or PEM is allowed; `keytool -importkeystore -deststoretype PKCS12` converts {store}")


def _login(java: Mapping[str, str]) -> dict[str, str]:
    if not java.get("security.protocol", "").upper().startswith("SASL"):
        return {}
    mechanism = java.get("sasl.mechanism", "GSSAPI").upper()
    if mechanism not in WITH_PASSWORD:
        raise UserMistake(f"kafka.sasl.mechanism: found {mechanism}, one of {', '.join(WITH_PASSWORD)} is allowed for a feeder and for sampling a topic")
    said = {name: re.sub(r"\\(.)", r"\1", double or single or word) for name, double, single, word in _LOGIN.findall(java.get("sasl.jaas.config", ""))}
    if set(said) != {"username", "password"}:
        raise UserMistake('kafka.sasl.jaas.config: a login module with username="..." and password="..." is needed')
    return {"sasl.username": said["username"], "sasl.password": said["password"]}
