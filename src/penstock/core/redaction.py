"""Keep secrets out of everything that is written or shown."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, quote_plus

MASK = "***"


@dataclass(frozen=True, slots=True)
class Redactor:
    """Masks every secret in a text: as it is, as JSON writes it and as a URL quotes it; overlapping ones as one.

    >>> Redactor(frozenset({"p@ss", "p@ss/word"})).text("jdbc://me:p%40ss%2Fword@db?old=p@ss")
    'jdbc://me:***@db?old=***'
    """

    secrets: frozenset[str] = frozenset()
    _forms: tuple[str, ...] = field(init=False, repr=False, compare=False)
    _at_each_start: re.Pattern[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        forms = {form for secret in self.secrets if secret for form in _forms(secret)}
        longest_first = tuple(sorted(forms, key=lambda form: (-len(form), form)))
        object.__setattr__(self, "_forms", longest_first)
        object.__setattr__(self, "_at_each_start", re.compile(f"(?=({'|'.join(map(re.escape, longest_first))}))"))

    def __repr__(self) -> str:
        return f"Redactor({len(self.secrets)} secrets)"

    def text(self, text: str) -> str:
        """Return the text without the secrets."""
        if not any(form in text for form in self._forms):
            return text
        clear, end = [], 0
        for found in self._at_each_start.finditer(text):
            if found.start(1) >= end:
                clear += [text[end : found.start(1)], MASK]
            end = max(end, found.end(1))
        return "".join([*clear, text[end:]])

    def tree(self, value: Any) -> Any:
        """Nested lists and mappings with every text in them redacted; numbers stay numbers.

        >>> Redactor(frozenset({"42"})).tree({"port": 42, "words": ["42 rows"]})
        {'port': 42, 'words': ['*** rows']}
        """
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {key: self.tree(each) for key, each in value.items()}
        return [self.tree(each) for each in value] if isinstance(value, (list, tuple)) else value


def _forms(secret: str) -> set[str]:
    """Return every spelling of a secret that may turn up in an error, a URL or a JSON document."""
    plain = secret.encode("utf-8", "replace").decode()
    quoted = {quote(plain), quote(plain, safe=""), quote_plus(plain)}
    lower_hex = {re.sub("%[0-9A-F]{2}", lambda code: code[0].lower(), each) for each in quoted}
    escaped = {json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]}
    return {secret} | escaped | quoted | lower_hex
