import pytest

from penstock.cli import simulate_options
from penstock.core.policies.registry import POLICIES


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave only two policies, to save time."""
    monkeypatch.setattr(simulate_options, "POLICIES", {name: POLICIES[name] for name in ("static", "hpa")})
