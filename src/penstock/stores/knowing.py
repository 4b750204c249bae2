"""Knowledge in a history: written every turn but for what was learnt, which is large and written less often, and the last reading, which is there already."""

from __future__ import annotations

import sqlite3
from dataclasses import replace

from penstock.core.domain.reading import Reading
from penstock.core.knowledge import Knowledge
from penstock.core.learnt import Learnt
from penstock.core.redaction import Redactor
from penstock.stores.codec import decode, encode, encode_knowledge


def write_knowledge(connection: sqlite3.Connection, knowledge: Knowledge, last_id: int | None, redactor: Redactor) -> None:
    """Replace what is known; `last_id` is the row of its last reading, if that has one."""
    text = encode_knowledge(knowledge, redactor, without=("learnt",) if last_id is None else ("learnt", "last"))
    connection.execute("INSERT OR REPLACE INTO knowledge (id, json, reading_id) VALUES (1, ?, ?)", (text, last_id))


def write_learnt(connection: sqlite3.Connection, learnt: Learnt, redactor: Redactor) -> None:
    connection.execute("INSERT OR REPLACE INTO learnt (id, json) VALUES (1, ?)", (encode(learnt, redactor),))


def read_knowledge(connection: sqlite3.Connection) -> Knowledge | None:
    """All parts together; a history of an older Penstock has them in one."""
    query = """SELECT knowledge.json, learnt.json, readings.json FROM knowledge
        LEFT JOIN learnt ON learnt.id = knowledge.id LEFT JOIN readings ON readings.id = knowledge.reading_id"""
    row = connection.execute(query).fetchone()
    if row is None:
        return None
    knowledge = decode(Knowledge, row[0])
    if row[1] is not None:
        knowledge = replace(knowledge, learnt=decode(Learnt, row[1]))
    return knowledge if row[2] is None else replace(knowledge, last=decode(Reading, row[2]))
