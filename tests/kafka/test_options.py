import pytest
from confluent_kafka import KafkaException, Producer
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.errors import UserMistake
from penstock.kafka.options import client_options, java_options

SASL = {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN"}


def login(text: str) -> dict[str, str]:
    return client_options({**SASL, "sasl.jaas.config": f"org.apache.kafka.common.security.plain.PlainLoginModule required {text};"})


def test_only_the_clients_own_options_are_taken_from_a_source() -> None:
    assert java_options({"kafka.security.protocol": "SSL", "subscribe": "a", "startingOffsets": "earliest"}) == {"security.protocol": "SSL"}


@given(st.text(min_size=1), st.text(min_size=1))
def test_any_name_and_password_are_read_from_the_login(name: str, password: str) -> None:
    def quoted(text: str) -> str:
        return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'

    found = login(f"username={quoted(name)} password={quoted(password)}")
    assert (found["sasl.username"], found["sasl.password"]) == (name, password)


@pytest.mark.parametrize(("text", "password"), [("username=alice password='it is \"open\"'", 'it is "open"'), ('username="alice" password=""', "")])
def test_a_login_is_read_as_java_reads_it(text: str, password: str) -> None:
    found = login(text)
    assert (found["sasl.username"], found["sasl.password"]) == ("alice", password)


@pytest.mark.parametrize("text", ['username="alice"', "", 'user_name="a" pass_word="b"'])
def test_a_login_without_name_and_password_is_refused_without_saying_it(text: str) -> None:
    with pytest.raises(UserMistake, match=r"^kafka\.sasl\.jaas\.config: a login module with username") as said:
        login(text)
    assert "alice" not in str(said.value)


def test_a_mechanism_that_needs_more_than_a_password_is_refused() -> None:
    with pytest.raises(UserMistake, match=r"kafka\.sasl\.mechanism: found GSSAPI, one of PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 is allowed"):
        client_options({"security.protocol": "SASL_PLAINTEXT"})


def test_a_trust_store_becomes_its_certificates_and_one_in_pem_is_given_as_it_is() -> None:
    java = {"security.protocol": "SSL", "ssl.truststore.location": "/trust.jks", "ssl.truststore.password": "secret"}
    assert client_options(java, lambda store, password: f"{store} by {password}") == {"security.protocol": "SSL", "ssl.ca.pem": "/trust.jks by secret"}
    assert client_options({"ssl.truststore.location": "/trust.pem", "ssl.truststore.type": "PEM"}) == {"ssl.ca.location": "/trust.pem"}


def test_a_trust_store_that_is_not_there_is_named() -> None:
    with pytest.raises(UserMistake, match=r"kafka\.ssl\.truststore\.location: /nowhere\.jks cannot be read") as said:
        client_options({"ssl.truststore.location": "/nowhere.jks", "ssl.truststore.password": "secret"})
    assert "secret" not in str(said.value)


def test_an_identity_is_given_as_pkcs12_or_pem_and_java_key_stores_are_refused() -> None:
    store = {"ssl.keystore.location": "/id", "ssl.keystore.password": "p", "ssl.key.password": "q"}
    assert client_options({**store, "ssl.keystore.type": "PKCS12"}) == {"ssl.key.password": "q", "ssl.keystore.location": "/id", "ssl.keystore.password": "p"}
    assert client_options({**store, "ssl.keystore.type": "PEM"})["ssl.certificate.location"] == "/id"
    with pytest.raises(UserMistake, match="PKCS12 or PEM is allowed"):
        client_options(store)


def test_host_names_go_unchecked_only_if_java_says_so() -> None:
    assert "ssl.endpoint.identification.algorithm" not in client_options({})
    assert client_options({"ssl.endpoint.identification.algorithm": ""})["ssl.endpoint.identification.algorithm"] == "none"


def test_librdkafka_takes_what_comes_out() -> None:
    java = {
        **SASL, "bootstrap.servers": "127.0.0.1:1", "client.id": "me", "client.dns.lookup": "use_all_dns_ips", "metadata.max.age.ms": "60000",
        "ssl.endpoint.identification.algorithm": "", "sasl.jaas.config": 'X required username="a" password="b";', "max.poll.records": "9",
    }  # fmt: skip
    options = {**client_options(java), "log_level": 0}
    assert Producer(options) is not None
    with pytest.raises(KafkaException, match="No such configuration property"):
        Producer({**options, "no.such.option": "9"})
