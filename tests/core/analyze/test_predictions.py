from dataclasses import replace

from assessed import NOW_S, under
from changes import rescaled, scaled_to

from penstock.core.analyze import predictions
from penstock.core.analyze.disturbances import Failure
from penstock.core.knowledge.predicting import identified
from penstock.core.knowledge.steering import Applied
from penstock.core.policies.daedalus import Daedalus


def test_a_bound_waits_for_the_first_failure_of_its_kind_while_its_configuration_runs() -> None:
    bound = next(each for each in Daedalus().predict(under(350.0), scaled_to(4), "") if each.kind == "recovery_bound")
    lost = Failure(kind="query_restart", at_s=NOW_S + 60.0, number=2)
    assert [each.cause for each in predictions.tested_by((bound,), lost, scaled_to(4))] == ["failure 2"]
    for failure, configuration in ((lost, scaled_to(5)), (replace(lost, kind="executor_loss"), scaled_to(4))):
        assert predictions.tested_by((bound,), failure, configuration) == (bound,)
    tested = predictions.tested_by((bound,), lost, scaled_to(4))
    assert predictions.tested_by(tested, replace(lost, number=3), scaled_to(4)) == tested


def test_a_recovery_from_a_change_waits_for_the_instruction_of_its_own_decision() -> None:
    made = identified(Daedalus().predict(under(350.0), scaled_to(6), ""), "decision 7", decision=7)
    applied = Applied(number=9, decision_id=7, change=rescaled(4, 6), at_s=NOW_S + 1.0)
    assert {each.kind: each.cause for each in predictions.caused_by(made, applied)} == {"capacity": "", "recovery": "instruction 9"}
    for other in (replace(applied, decision_id=8), replace(applied, decision_id=None), replace(applied, change=rescaled(6, 4))):
        assert predictions.caused_by(made, other) == made
