import json
from dataclasses import replace

import pytest
from assessed import NOW_S, under
from hypothesis import given
from hypothesis import strategies as st
from steady_job import TERMS, Analysed, SteadyJob

from penstock.core.analyze.disturbances import (
    MOST_RECOVERIES,
    by_laws,
    failure_in,
    implied_delay_s,
    knowing_failure,
    laws_of,
    outage_of,
    struck_start_s,
    tables_due,
)
from penstock.core.analyze.learn import prepared
from penstock.core.domain.events.autopilot_events import Graded, Recovered
from penstock.core.domain.instruction import Outcome
from penstock.core.domain.reading import BatchParts, ExecutorReading, QueryReading
from penstock.core.domain.trigger import Trigger
from penstock.core.knowledge.assessment import Assessment
from penstock.core.knowledge.fitting import FitAsked, FitDone, fitted
from penstock.core.knowledge.learnt import Learnt
from penstock.core.knowledge.policy import Need
from penstock.core.models.anomaly.keeping_up import FlowSeen
from penstock.core.models.capacity.batch_law import BatchLaw, LikelyLaws
from penstock.core.models.estimate import Estimate
from penstock.core.models.recovery.arrivals import Arrivals
from penstock.core.models.recovery.batch_recovery import cold_batch_s, recovery_by_batches_s
from penstock.core.models.recovery.outage import recovery_s
from penstock.core.models.recovery.recovery_regression import RecoveryRegression, RecoverySeen
from penstock.runtime.fakes import blank_reading
from penstock.stores.codec import decode, encode, encode_knowledge

NEEDS: frozenset[Need] = frozenset({"load", "capacity"})


def with_known_downtime(downtime_s: float) -> Analysed:
    """A job at half of its capacity whose owner knows the downtime, long enough for everything to be learnt."""
    terms = replace(TERMS, autopilot=replace(TERMS.autopilot, downtime_s=downtime_s))
    analysed = Analysed(SteadyJob(downtime_s=downtime_s), terms, NEEDS)
    analysed.turns(40)
    return analysed


def downtime(analysed: Analysed, kind: str) -> float:
    return analysed.seen().downtimes_s[kind]


@pytest.mark.parametrize("downtime_s", [20.0, 60.0])
def test_a_rescale_is_charged_what_it_took(downtime_s: float) -> None:
    analysed = Analysed(SteadyJob(downtime_s=downtime_s), needs=NEEDS)
    analysed.turns(20)
    analysed.rescale(6)
    analysed.turn(outcomes=(Outcome(number=1, done=True, took_s=90.0, down_s=downtime_s),))
    estimate = analysed.knowledge.learnt.downtimes.predict("rescale_up")
    assert isinstance(estimate, Estimate) and min(30.0, downtime_s) < estimate.value < max(30.0, downtime_s)
    assert analysed.seen().stops == {"rescale_up", "rescale_down"}
    assert downtime(analysed, "rescale_down") == pytest.approx(15.0)


def test_a_rescale_that_does_not_stop_the_job_takes_its_time_and_is_live() -> None:
    analysed = Analysed(SteadyJob(), needs=NEEDS)
    analysed.turns(5)
    analysed.rescale(6)
    analysed.turn(outcomes=(Outcome(number=1, done=True, took_s=5.0, down_s=None),))
    assert analysed.seen().stops == {"rescale_down"}
    assert downtime(analysed, "rescale_up") < 30.0


def test_an_outcome_of_something_else_is_charged_to_nothing() -> None:
    analysed = Analysed(SteadyJob(), needs=NEEDS)
    analysed.turns(5)
    analysed.rescale(6, number=3)
    analysed.turn(outcomes=(Outcome(number=2, done=True, took_s=5.0), Outcome(number=3, done=False, took_s=5.0)))
    assert not analysed.knowledge.learnt.downtimes.learnt and not analysed.knowledge.learnt.live


def test_a_failure_is_noticed_by_its_count_and_its_recovery_measured() -> None:
    analysed = with_known_downtime(30.0)
    failed_s = analysed.job.at_s
    analysed.job.fail()
    analysed.turns(25)
    truth_s = recovery_s(Arrivals.constant(2000.0), failed_s, 4000.0, 10.0, 30.0)
    recovered, graded = analysed.said(Recovered), analysed.said(Graded)
    assert [(each.kind, each.started_s, each.alone) for each in recovered] == [("query_restart", failed_s, True)]
    assert truth_s <= recovered[0].took_s <= truth_s + 30.0
    recoveries = [each for each in graded if each.kind == "recovery"]
    assert len(recoveries) == 1 and recoveries[0].predicted == pytest.approx(truth_s, rel=0.05)
    assert recoveries[0].about == "query_restart" and recoveries[0].low <= truth_s <= recoveries[0].high


def test_failures_have_numbers_of_their_own_over_all_runs_of_a_job() -> None:
    learnt, causes = Learnt(), []
    for at_s, failures in enumerate((0, 1, 2, 0, 1)):  # a new driver counts from 0
        reading = blank_reading(float(at_s), failures=failures)
        failure = failure_in(learnt, reading)
        causes += [failure.cause] if failure else []
        learnt = knowing_failure(learnt, reading, failure, 0.0)
    assert causes == ["failure 1", "failure 2", "failure 3"]
    assert prepared(learnt, reading, TERMS, NEEDS).failure_number == 3, "models that begin anew do not count anew"


def test_downtimes_follow_the_recoveries_that_were_measured() -> None:
    terms = replace(TERMS, autopilot=replace(TERMS.autopilot, downtime_s=30.0))
    analysed = Analysed(SteadyJob(downtime_s=90.0), terms, NEEDS)
    analysed.turns(40)
    assert downtime(analysed, "query_restart") == pytest.approx(30.0)
    for _ in range(4):
        analysed.job.fail()
        analysed.turns(40)
    assert downtime(analysed, "query_restart") == pytest.approx(90.0, rel=0.2)
    assert downtime(analysed, "rescale_up") == pytest.approx(30.0)


def test_a_recovery_that_another_failure_interrupts_teaches_and_grades_nothing() -> None:
    analysed = with_known_downtime(60.0)
    analysed.job.fail()
    analysed.turns(2)
    analysed.job.fail()
    analysed.turns(30)
    assert [each.alone for each in analysed.said(Recovered)] == [False, False]
    assert not any(isinstance(each, Graded) and each.kind == "recovery" for each in analysed.events)
    assert downtime(analysed, "query_restart") == pytest.approx(60.0)
    assert not any(each.kind == "recovery" for each in analysed.knowledge.predictions)


def test_the_lag_before_a_failure_is_part_of_what_is_predicted() -> None:
    predicted = []
    for lag in (0.0, 60_000.0):
        analysed = with_known_downtime(30.0)
        analysed.job.lag = lag
        analysed.turn()
        analysed.job.fail()
        analysed.turn()
        predicted.append(next(each.value for each in analysed.knowledge.predictions if each.kind == "recovery"))
    assert predicted[1] > predicted[0] + 1.0


def test_the_loss_of_an_executor_differs_from_the_failure_of_a_query() -> None:
    job = SteadyJob()
    job.fail()
    query_failed = job.reading()
    lost = replace(query_failed, queries=tuple(replace(query, failures=0) for query in query_failed.queries))
    known = [failure_in(Learnt(), reading) for reading in (query_failed, lost, blank_reading(15.0))]
    assert [each and (each.kind, each.at_s) for each in known] == [("query_restart", 0.0), ("executor_loss", 0.0), None]


@pytest.mark.parametrize(("running", "came_ago_s", "lost_ago_s"), [(4, 500.0, 3.0), (3, 500.0, 3.0), (4, 3.0, 5.5), (4, 8.0, 10.5)])
def test_an_executor_was_lost_before_its_replacement_came(running: int, came_ago_s: float, lost_ago_s: float) -> None:
    known = replace(Learnt(), health=Learnt().health.read(FlowSeen(at_s=85.0, workload_rows_per_s=1.0, throughput_rows_per_s=1.0))[0])
    executors = tuple(ExecutorReading(executor_id=f"{up_s}", host="a", slots=1, uptime_s=up_s) for up_s in (900.0, came_ago_s))
    reading = blank_reading(100.0, failures=1, since_disturbance_s=3.0, executors_running=running, executors_requested=4, executors=executors)
    failure = failure_in(known, reading)
    assert failure and failure.at_s == pytest.approx(100.0 - lost_ago_s)


def test_a_rescale_is_followed_from_when_it_was_asked_for() -> None:
    analysed = with_known_downtime(60.0)
    asked_s = analysed.job.at_s
    analysed.rescale(5)
    analysed.turns(30)
    rescales = analysed.said(Recovered)
    assert [(each.kind, each.started_s, each.alone) for each in rescales] == [("rescale_up", asked_s, True)]
    truth_s = recovery_s(Arrivals.constant(2000.0), asked_s, 5000.0, 10.0, 60.0)
    assert truth_s <= rescales[0].took_s <= truth_s + 30.0


def test_a_failure_that_no_reading_shows_stops_the_job_for_less_than_a_window() -> None:
    terms = replace(TERMS, autopilot=replace(TERMS.autopilot, downtime_s=30.0))
    analysed = Analysed(SteadyJob(downtime_s=0.0, interval_s=0.01), terms, NEEDS)
    analysed.turns(40)
    for _ in range(3):
        analysed.job.fail()
        analysed.turns(20)
    recovered = analysed.said(Recovered)
    assert len(recovered) == 3 and all(each.took_s == 7.5 for each in recovered)
    assert 7.5 < downtime(analysed, "query_restart") < 15.0


EXECUTORS = 6
LAW = BatchLaw(overhead_s=1.0, row_s=0.001 * EXECUTORS, partitions=5 * EXECUTORS)
LAWS = LikelyLaws(best=LAW, drawn=(LAW,))
RATE = 500.0


def batched(since_commit_s: float | None, batch_s: float = 6.0) -> Assessment:
    """Every 10 s a batch of 6 s, the last of which committed this many seconds ago."""
    seen = under(RATE, plant="micro_batch", batch_s=batch_s, batch_laws=LAWS)
    parts = BatchParts(total_s=batch_s)
    query = QueryReading(name="q", state="running", trigger=Trigger(interval_s=10.0), rate_limit_rows_per_s=None, since_commit_s=since_commit_s, batch=parts)
    return replace(seen, reading=replace(seen.reading, queries=(query,)))


@pytest.mark.parametrize(("ago_s", "started_ago_s"), [(1.0, 5.0), (4.5, 5.0), (5.5, 5.0), (8.5, 5.0), (9.5, 15.0), (14.0, 15.0), (17.0, 15.0)])
def test_the_batch_that_a_failure_strikes_is_found_by_the_last_commit(ago_s: float, started_ago_s: float) -> None:
    """Batches started 15 s and 5 s ago; that of 15 s ago committed 9 s ago. Between two batches it is the next."""
    assert struck_start_s(batched(since_commit_s=9.0), NOW_S - ago_s) == pytest.approx(NOW_S - started_ago_s)


@pytest.mark.parametrize("ago_s", [5.5, 7.0, 8.5])
def test_a_failure_that_hits_no_batch_is_over_with_the_next_on_a_cold_replacement(ago_s: float) -> None:
    """The batch of 15 s ago ended 9 s ago, and is not longer for what came then; the next began 5 s ago and takes 6 s on warm executors."""
    seen, second = batched(since_commit_s=9.0), Estimate(value=1.0, low=1.0, high=1.0)
    cold_s = cold_batch_s(6.0, 1.0, 5, [max(0.0, ago_s - 5.0 - 2.5)], EXECUTORS)
    assert recovery(seen, NOW_S - ago_s, second).value == pytest.approx(ago_s - 5.0 + 6.0 + cold_s)


def test_a_failure_that_hits_no_batch_shows_no_delay() -> None:
    seen = batched(since_commit_s=9.0)
    hit, unhit = (outage_of(seen, EXECUTORS, NOW_S - ago_s, "executor_loss") for ago_s in (2.0, 7.0))
    assert [implied_delay_s(LAW, Arrivals.constant(RATE), each, NOW_S + 5.0) is None for each in (hit, unhit)] == [False, True]


def test_a_batch_that_hung_until_its_failure_was_noticed_is_so_much_longer() -> None:
    """Nothing has committed for 29 s: the batch that hangs began 25 s ago, and 20 s later its executor counted as lost."""
    seen, failed_s = batched(since_commit_s=29.0), NOW_S - 5.0
    assert struck_start_s(seen, failed_s) == pytest.approx(NOW_S - 25.0)
    outage = outage_of(seen, EXECUTORS, failed_s, "executor_loss", lag_rows=20 * RATE)
    assert outage.hits(outage.at_s) and (outage.at_s, outage.lost_s, outage.downtime_s) == (pytest.approx(NOW_S - 25.0), failed_s, 0.0)
    assert outage.uncommitted_s == pytest.approx(10.0) and outage.lag_rows == pytest.approx(0.0, abs=1e-6)


def test_a_batch_that_hung_and_has_committed_since_is_no_usual_one() -> None:
    """It took 26 s and committed 1 s ago; usual ones are a trigger interval apart."""
    outage = outage_of(batched(since_commit_s=1.0, batch_s=26.0), EXECUTORS, NOW_S - 7.0, "executor_loss", lag_rows=20 * RATE)
    assert (outage.at_s, outage.uncommitted_s, outage.lag_rows) == (pytest.approx(NOW_S - 27.0), pytest.approx(10.0), pytest.approx(0.0, abs=1e-6))


def test_without_a_commit_the_failure_itself_is_taken() -> None:
    assert struck_start_s(batched(since_commit_s=None), NOW_S - 3.0) == NOW_S - 3.0
    assert struck_start_s(under(RATE), NOW_S - 3.0) == NOW_S - 3.0


def recovery(seen: Assessment, failed_s: float, downtime: Estimate) -> Estimate:
    found = by_laws(LAWS, outage_of(seen, EXECUTORS, failed_s, "executor_loss"), failed_s, downtime)(Arrivals.constant(RATE), failed_s)
    assert isinstance(found, Estimate)
    return found


def test_a_retried_task_lengthens_one_batch() -> None:
    """It began 5 s ago and was hit 2 s ago; it takes 10 s of arrivals in 6 s, 2 s late.

    The five executors that are left repeat five tasks of 1 s each at once, and the batch ends 6 + 2 + 1 - 3 s after it was hit.
    """
    found = recovery(batched(since_commit_s=9.0), NOW_S - 2.0, Estimate(value=2.0, low=1.0, high=3.0))
    assert (found.value, found.low, found.high) == (pytest.approx(6.0), pytest.approx(5.0), pytest.approx(7.0))


def test_a_long_delay_takes_more_than_one_batch() -> None:
    """20 s late: 5,000 rows in 27 s, then 13,500 in 14.6 s, 7,300 in 8.3 s and 4,200 in 5.2 s, which did not wait for long. The new executor is warm."""
    exactly = Estimate(value=20.0, low=20.0, high=20.0)
    assert recovery(batched(since_commit_s=9.0), NOW_S - 5.0, exactly).value == pytest.approx(27.0 + 14.6 + 8.3 + 5.2, abs=0.3)


def test_while_batches_were_of_one_size_half_of_one_is_taken_for_overhead() -> None:
    seen = batched(since_commit_s=9.0)
    (query,) = seen.reading.queries
    unknown = replace(seen, batch_laws=None, reading=replace(seen.reading, queries=(replace(query, throughput_rows_per_s=RATE),)))
    guessed = laws_of(unknown)
    assert guessed and guessed.best.duration_s(5000.0, 4) == pytest.approx(6.0) and guessed.best.overhead_s == pytest.approx(3.0)
    assert all(law.duration_s(5000.0, 4) == pytest.approx(6.0) for law in guessed.drawn)
    assert laws_of(seen) is LAWS and laws_of(replace(unknown, plant="continuous")) is None and laws_of(replace(seen, batch_laws=None)) is None


def test_a_query_that_died_begins_its_batch_anew() -> None:
    outage = outage_of(batched(since_commit_s=9.0), EXECUTORS, NOW_S - 2.0, "query_restart")
    assert outage.at_s == NOW_S - 2.0 and outage.uncommitted_s == pytest.approx(13.0)


@given(delay_s=st.floats(0.0, 60.0), rate=st.floats(0.0, 700.0))
def test_a_recovery_gives_a_delay_that_explains_it_within_a_trigger_interval(delay_s: float, rate: float) -> None:
    arrivals, outage = Arrivals.constant(rate), outage_of(batched(since_commit_s=9.0), EXECUTORS, NOW_S - 2.0, "executor_loss")
    recovered_s = outage.at_s + recovery_by_batches_s(LAW, arrivals, replace(outage, downtime_s=delay_s))
    implied_s = implied_delay_s(LAW, arrivals, outage, recovered_s)
    assert implied_s is not None and implied_s >= delay_s - 10.0, "a batch that ends before its trigger waits for it, however late it began"
    assert outage.at_s + recovery_by_batches_s(LAW, arrivals, replace(outage, downtime_s=implied_s)) <= recovered_s + 0.02


def test_a_recovery_that_no_delay_explains_is_ignored() -> None:
    """Near the saturated throughput, a moment more takes minutes; a measured recovery between the two was measured otherwise."""
    arrivals, outage = Arrivals.constant(900.0), outage_of(batched(since_commit_s=9.0), EXECUTORS, NOW_S - 2.0, "executor_loss")
    ends_s = [outage.at_s + recovery_by_batches_s(LAW, arrivals, outage.longer(delay_s)) for delay_s in (0.0, 3.0)]
    assert ends_s[1] > ends_s[0] + 60.0
    assert implied_delay_s(LAW, arrivals, outage, (ends_s[0] + ends_s[1]) / 2) is None


def test_a_recovery_that_came_too_soon_is_ignored() -> None:
    outage = outage_of(batched(since_commit_s=9.0), EXECUTORS, NOW_S - 2.0, "executor_loss")
    assert implied_delay_s(LAW, Arrivals.constant(RATE), outage, NOW_S - 1.0) is None


FAR_APART_TURNS = 60


class Fitting:
    """A job whose fits are done between two turns, as in a simulation."""

    def __init__(self, job: SteadyJob) -> None:
        terms = replace(TERMS, autopilot=replace(TERMS.autopilot, downtime_s=30.0))
        self.analysed, self.asked, self._done = Analysed(job, terms, NEEDS), list[FitAsked](), tuple[FitDone, ...]()

    def turns(self, number: int) -> None:
        for _ in range(number):
            asked = self.analysed.turn(fits=self._done)
            self._done = () if asked is None else (fitted(asked),)
            self.asked += [] if asked is None else [asked]

    def fail(self) -> None:
        self.analysed.job.fail()
        self.turns(FAR_APART_TURNS)

    @property
    def learnt(self) -> Learnt:
        return self.analysed.knowledge.learnt


def stepping(at_s: float) -> float:
    return 1500.0 + 250.0 * ((at_s + 300.0) // (FAR_APART_TURNS * 15.0) % 4)


@pytest.fixture(scope="module")
def failed_often() -> Fitting:
    fitting = Fitting(SteadyJob(downtime_s=45.0, load=stepping))
    fitting.turns(FAR_APART_TURNS)
    for _ in range(7):
        fitting.fail()
    return fitting


def test_every_recovery_that_was_measured_alone_is_learnt_with_its_interval_rate_and_executors(failed_often: Fitting) -> None:
    recovered, model = failed_often.analysed.said(Recovered), failed_often.learnt.recoveries["query_restart"]
    assert len(recovered) == len(model.seen) == model.rows == 7 and set(failed_often.learnt.recoveries) == {"query_restart"}
    assert [each.recovery_s for each in model.seen] == [each.took_s for each in recovered]
    assert {(each.interval_s, each.executors) for each in model.seen} == {(10.0, 4)}
    assert {round(each.rate_rows_per_s, -1) for each in model.seen} == {1500.0, 1750.0, 2000.0, 2250.0}


def test_it_is_fitted_elsewhere_once_for_each_that_is_new(failed_often: Fitting) -> None:
    of_recoveries = [asked.recoveries["query_restart"].rows for asked in failed_often.asked if asked.recoveries]
    assert of_recoveries == [4, 5, 6, 7]
    assert failed_often.learnt.recovery_tables["query_restart"].rows == 7 and not tables_due(failed_often.learnt, 10.0)
    assert tables_due(failed_often.learnt, 30.0), "the trigger has changed"


def test_what_it_says_of_the_next_one_is_graded_beside_the_formula_and_nothing_rests_on_it(failed_often: Fitting) -> None:
    graded = failed_often.analysed.said(Graded)
    learnt = [each for each in graded if each.kind == "learnt_recovery"]
    assert len(learnt) >= 2 and {each.about for each in learnt} == {"query_restart"}
    assert all(each.error < 0.25 for each in learnt)
    formula = [each for each in graded if each.kind == "recovery"]
    assert len(formula) == 7 and len(failed_often.analysed.knowledge.trust.errors) == 5


def test_it_goes_through_json_with_the_rest_and_older_knowledge_has_none(failed_often: Fitting) -> None:
    learnt = failed_often.learnt
    assert decode(Learnt, encode(learnt)) == learnt
    older = {name: value for name, value in json.loads(encode(learnt)).items() if name not in ("recoveries", "recovery_tables")}
    again = decode(Learnt, json.dumps(older))
    assert again.recoveries == again.recovery_tables == {} and again.downtimes == learnt.downtimes


def test_the_same_failures_teach_the_same_to_the_last_byte() -> None:
    stories = []
    for _ in range(2):
        fitting = Fitting(SteadyJob(load=stepping))
        fitting.turns(FAR_APART_TURNS)
        for _ in range(5):
            fitting.fail()
        stories.append((encode_knowledge(fitting.analysed.knowledge), [encode(event) for event in fitting.analysed.events]))
    assert stories[0] == stories[1]


def test_recoveries_of_several_failures_and_those_that_no_reading_shows_teach_nothing() -> None:
    several = Fitting(SteadyJob(downtime_s=60.0))
    several.turns(40)
    several.analysed.job.fail()
    several.turns(2)
    several.fail()
    assert [each.alone for each in several.analysed.said(Recovered)] == [False, False] and not several.learnt.recoveries
    hidden = Fitting(SteadyJob(downtime_s=0.0, interval_s=0.1))
    hidden.turns(40)
    hidden.fail()
    assert [each.took_s for each in hidden.analysed.said(Recovered)] == [7.5] and not hidden.learnt.recoveries


def test_a_failure_that_is_counted_after_readings_have_shown_it_is_learnt_as_that_failure() -> None:
    """The count comes three readings late; the failure is dated as it struck."""
    fitting = Fitting(SteadyJob(downtime_s=90.0))
    fitting.turns(40)
    job, struck_s = fitting.analysed.job, fitting.analysed.job.at_s
    job.stop()
    uncounted, job.disturbed_s = job.disturbed_s, None
    fitting.turns(3)
    assert [each.kind for each in fitting.learnt.health.open] == ["unannounced"]
    job.failures, job.disturbed_s = 1, uncounted
    fitting.turns(FAR_APART_TURNS)
    assert [(each.kind, each.started_s, each.alone) for each in fitting.analysed.said(Recovered)] == [("query_restart", struck_s, True)]
    assert fitting.learnt.recoveries["query_restart"].rows == 1


def test_what_is_kept_is_bounded_and_the_count_goes_on() -> None:
    seen = RecoverySeen(interval_s=10.0, rate_rows_per_s=100.0, recovery_s=50.0, executors=4)
    model = RecoveryRegression(most_seen=MOST_RECOVERIES).learn([seen] * 300)
    assert len(model.seen) == MOST_RECOVERIES and model.rows == 300
