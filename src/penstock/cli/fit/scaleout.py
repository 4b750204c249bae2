"""`penstock fit scaleout` and `penstock fit profile`: Phoebe's models of capacity and latency over the number of executors."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.report import JsonOption, PlotOption, Report, present
from penstock.core.errors import UserMistake
from penstock.core.models.capacity.capacity_by_executors import CapacityByExecutors, CapacityMeasured
from penstock.core.models.estimate import Estimate, NotReady
from penstock.core.models.latency.latency_by_executors import LatencyByExecutors
from penstock.core.models.latency.profile_fit import ProfileReading
from penstock.tables.csv import Column, read_csv
from penstock.tables.measurements import read_profile

MOST = 10_000
"""The maximum number of executors."""
FAR = 2
"""A prediction beyond this factor of the measured numbers of executors is marked as far."""
COLUMNS = (Column(name="scaleout", lowest=1, highest=MOST, whole=True), Column(name="throughput", above=0))


def scaleout(
    profiles: Annotated[Path, typer.Argument(help="CSV with the columns scaleout, throughput (rows/s).", metavar="PROFILES.CSV")],
    at: Annotated[str, typer.Option(help="The numbers of executors to predict, such as 12,24.", metavar="N,N...")] = "",
    as_json: JsonOption = False,
    plot: PlotOption = None,
) -> None:
    """Fit the capacity over executors (Phoebe's T_max). The form is a line or a power law, chosen by leave-one-out."""
    columns = read_csv(profiles, COLUMNS)
    measured = [CapacityMeasured(executors=int(s), throughput_rows_per_s=float(t)) for s, t in zip(columns["scaleout"], columns["throughput"], strict=True)]
    model = CapacityByExecutors().learn(measured)
    predictions = {wanted: answer for wanted in executor_counts_in(at) if isinstance(answer := model.predict(wanted), Estimate)}
    executor_counts = [each.executors for each in model.seen]
    score = model.score()
    ties, plateau = [group for group in model.ties() if len(group) > 1], model.plateau

    def draw(path: Path) -> None:
        from penstock.dashboard.fit_charts import draw_capacity_by_executors

        draw_capacity_by_executors(path, profiles.name, measured, model, sorted(predictions))

    found = {
        "form": model.form,
        "parameters": model.parameters,
        **{name: getattr(score, name, None) for name in ("mape", "constant_mape", "paper_mape")},
        "predictions": {str(wanted): each.value for wanted, each in predictions.items()},
        "bounds": {str(wanted): [each.low, each.high] for wanted, each in predictions.items()},
        "ties": [list(group) for group in ties],
        "plateau": plateau and {"from": plateau.first, "throughput": plateau.rows_per_s},
    }
    error = score.why if isinstance(score, NotReady) else f"{score.mape:.1%}; a constant {score.constant_mape:.1%}, the paper's line {score.paper_mape:.1%}"
    rows = [
        (f"form up to {plateau.first}" if plateau else "form", f"{model.form}, {', '.join(f'{name} {value:.6g}' for name, value in model.parameters.items())}"),
        ("error, leaving one out", error),
        *((f"at {wanted}", in_words(wanted, each, executor_counts)) for wanted, each in predictions.items()),
        *(((f"from {plateau.first} on", f"{plateau.rows_per_s:,.0f} rows/s, capacity grows no more"),) if plateau else ()),
        *((("no difference between", "; ".join(", ".join(map(str, group)) for group in ties)),) if ties else ()),
    ]
    present(Report(title="capacity over executors", found=found, rows=rows, draw=draw), as_json, plot)


def executor_counts_in(text: str) -> list[int]:
    """Parse a list of numbers of executors.

    >>> executor_counts_in("12, 24")
    [12, 24]
    """
    try:
        wanted = [int(each) for each in text.split(",") if each.strip()]
    except ValueError:
        wanted = [0]
    if any(not 1 <= each <= MOST for each in wanted):
        raise UserMistake(f"--at: found {text}, whole numbers from 1 to {MOST} with commas between them are allowed, such as 12,24")
    return wanted


def in_words(wanted: int, answer: Estimate, measured: Sequence[int]) -> str:
    """Format a prediction, with a warning if it is far from everything measured.

    >>> in_words(96, Estimate(value=1000.0, low=800.0, high=1250.0), (2, 24))
    '1,000 rows/s, between 800 and 1,250 in 4 of 5 cases; far from the 2 to 24 measured'
    """
    far = not min(measured) / FAR <= wanted <= max(measured) * FAR
    beyond = f"; far from the {min(measured)} to {max(measured)} measured" if far else ""
    return f"{answer.value:,.0f} rows/s, between {answer.low:,.0f} and {answer.high:,.0f} in 4 of 5 cases{beyond}"


def profile(
    profile: Annotated[Path, typer.Argument(help="CSV with the columns scaleout, rate, latency_ms, and valid (1: kept up) if known.", metavar="PROFILE.CSV")],
    limit_ms: Annotated[float | None, typer.Option(help="The latency up to which a run kept up (default: found by clustering).", min=0)] = None,
    as_json: JsonOption = False,
    plot: PlotOption = None,
) -> None:
    """Fit the latency over executors and rate (Phoebe's M_L). Also predicts whether they keep up, and the rate at which they no longer do."""
    seen = read_profile(profile)
    model = LatencyByExecutors(reading=ProfileReading(threshold_s=None if limit_ms is None else limit_ms / 1000)).learn(seen)
    forms = model.forms()
    if isinstance(forms, NotReady):
        raise UserMistake(f"{profile}: {forms.why}")
    score, accuracy, constant_accuracy = model.score(), model.validity_accuracy(), model.constant_validity_accuracy()
    assert not (isinstance(score, NotReady) or isinstance(accuracy, NotReady) or isinstance(constant_accuracy, NotReady))
    knees = {knee.executors: model.t_max(knee.executors) for knee in model.knees()}

    def draw(path: Path) -> None:
        from penstock.dashboard.fit_charts import draw_profile

        draw_profile(path, profile.name, seen, model)

    found = {
        "mape": score.mape,
        "constant_mape": score.constant_mape,
        "paper_mape": score.paper_mape,
        "validity_accuracy": accuracy,
        "constant_validity_accuracy": constant_accuracy,
        "t_max": {str(s): each.value if isinstance(each, Estimate) else None for s, each in knees.items()},
        "form": forms[0],
        "validity_form": forms[1],
    }
    rows = [
        ("form", f"{forms[0]}; validity by {forms[1]}"),
        ("error of the latency, left out", f"{score.mape:.1%}; a constant {score.constant_mape:.1%}, the paper's boosting {score.paper_mape or 0:.1%}"),
        ("validity predicted", f"{accuracy:.0%}; a constant {constant_accuracy:.0%}"),
        *((f"t_max at {s}", f"{each.value:,.0f} rows/s" if isinstance(each, Estimate) else each.why) for s, each in knees.items()),
    ]
    present(Report(title="latency over executors and rate", found=found, rows=rows, draw=draw), as_json, plot)
