"""`penstock fit profile`: Phoebe's latency model over scale-out and rate."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.report import JsonOption, PlotOption, Report, present
from penstock.core.errors import UserMistake
from penstock.core.models.estimate import Estimate, NotReady
from penstock.core.models.latency.phoebe import ProfileReading, ScaleoutLatency
from penstock.tables.measurements import read_profile


def profile(
    profile: Annotated[Path, typer.Argument(help="CSV with the columns scaleout, rate, latency_ms, and valid (1: kept up) if known.", metavar="PROFILE.CSV")],
    limit_ms: Annotated[float | None, typer.Option(help="The latency up to which a run is healthy; without it, clusters decide.", min=0)] = None,
    as_json: JsonOption = False,
    plot: PlotOption = None,
) -> None:
    """Latency and validity over scale-out and rate (Phoebe's M_L), and the rate at which each scale-out stops keeping up."""
    seen = read_profile(profile)
    model = ScaleoutLatency(reading=ProfileReading(threshold_s=None if limit_ms is None else limit_ms / 1000)).learn(seen)
    forms = model.forms()
    if isinstance(forms, NotReady):
        raise UserMistake(f"{profile}: {forms.why}")
    score, accuracy, constant_accuracy = model.score(), model.validity_accuracy(), model.constant_validity_accuracy()
    assert not (isinstance(score, NotReady) or isinstance(accuracy, NotReady) or isinstance(constant_accuracy, NotReady))
    knees = {knee.scaleout: model.t_max(knee.scaleout) for knee in model.knees()}

    def draw(path: Path) -> None:
        from penstock.dashboard.fits import draw_profile

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
        ("validity foretold", f"{accuracy:.0%}; a constant {constant_accuracy:.0%}"),
        *((f"t_max at {s}", f"{each.value:,.0f} rows/s" if isinstance(each, Estimate) else each.why) for s, each in knees.items()),
    ]
    present(Report(title="latency over scale-out and rate", found=found, rows=rows, draw=draw), as_json, plot)
