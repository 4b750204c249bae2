import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.kafka.broker import EmbeddedBroker

PASSWORD = 'ö\\pen "Sesame"'
STORE_PASSWORD = "keep-it-shut"
MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"


def quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def keytool(*arguments: str) -> None:
    command = [f"{os.environ['JAVA_HOME']}/bin/keytool", *arguments, "-storepass:env", "STORE_PASSWORD"]
    subprocess.run(command, env={**os.environ, "STORE_PASSWORD": STORE_PASSWORD}, check=True, capture_output=True)


@pytest.fixture(scope="session")
def stores(short_folder: Path) -> Path:
    """The broker's key store, and trust stores of both kinds that hold its certificate; one that holds another."""
    folder = short_folder / "stores"
    folder.mkdir(mode=0o700)
    for name in ("key", "other"):
        keytool(
            "-genkeypair", "-keystore", str(folder / f"{name}.p12"), "-storetype", "PKCS12", "-alias", "broker", "-keyalg", "EC", "-validity", "2",
            "-dname", "CN=broker", "-ext", "SAN=ip:127.0.0.1",
        )  # fmt: skip
    keytool("-exportcert", "-keystore", str(folder / "key.p12"), "-alias", "broker", "-file", str(folder / "cert"))
    keytool("-importcert", "-noprompt", "-keystore", str(folder / "trust.jks"), "-storetype", "JKS", "-alias", "broker", "-file", str(folder / "cert"))
    return folder


@pytest.fixture(scope="session")
def secure_broker(short_folder: Path, jars: tuple[str, ...], stores: Path) -> Iterator[EmbeddedBroker]:
    properties = {
        "listener.name.secure.sasl.enabled.mechanisms": "PLAIN",
        "listener.name.secure.plain.sasl.jaas.config": f"{MODULE} required user_alice={quoted(PASSWORD)};",
        "listener.name.secure.ssl.keystore.location": str(stores / "key.p12"),
        "listener.name.secure.ssl.keystore.type": "PKCS12",
        "listener.name.secure.ssl.keystore.password": STORE_PASSWORD,
    }
    broker = EmbeddedBroker(short_folder / "secure", jars, properties, listeners={"SECURE": "SASL_SSL"})
    broker.start()
    yield broker
    broker.stop()


@pytest.fixture
def java(secure_broker: EmbeddedBroker, stores: Path) -> dict[str, str]:
    return {
        "bootstrap.servers": secure_broker.address("SECURE"), "security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": f'{MODULE} required username="alice" password={quoted(PASSWORD)};', "ssl.truststore.location": str(stores / "trust.jks"),
        "ssl.truststore.password": STORE_PASSWORD,
    }  # fmt: skip
