"""What a policy is."""

from typing import Literal, Protocol

from penstock.core.domain.configuration import Configuration
from penstock.core.domain.decision import Decision
from penstock.core.domain.prediction import Prediction
from penstock.core.knowledge.assessment import Assessment

Need = Literal["load", "capacity", "regression", "forecast", "arima", "latency", "profile", "boosting", "stages"]
"""What is learnt for a policy. "regression" and "arima" ask for Daedalus's own sum of regressions and forecast, "boosting" for Phoebe's own M_L, in place of
the models with smaller errors."""


class Policy(Protocol):
    """Decides every `period_s`, from what it `needs`; for one that is `faithful` to a paper the shared guards are off unless its owner turns them on."""

    @property
    def name(self) -> str: ...

    @property
    def period_s(self) -> float: ...

    @property
    def needs(self) -> frozenset[Need]: ...

    @property
    def faithful(self) -> bool: ...

    def decide(self, seen: Assessment) -> Decision: ...


def decided_knobs(policy: Policy | None) -> frozenset[str]:
    """Return the knobs that a policy decides about: its `knobs` where it has some, else the executors."""
    return getattr(policy, "knobs", frozenset({"executors"}))


def predicted_by(policy: Policy, seen: Assessment, configuration: Configuration, decider: str) -> tuple[Prediction, ...]:
    """Return what the models of a policy predict of a configuration: that is what its decisions are graded by.

    A policy with models has `predict(seen, configuration, decider)`, where `decider` is the whole name of who decided; one without predicts nothing.
    """
    predict = getattr(policy, "predict", None)
    return () if predict is None else tuple(predict(seen, configuration, decider))
