"""Capacity by the utilisation law: utilisation regressed on the load, instead of the load on utilisation."""

from __future__ import annotations

from penstock.core.models.capacity.line import CapacityLine, square_around, summed
from penstock.core.models.moments import PairedMoments

IDLE_SPREAD = 0.05
"""How far from zero the utilisation of a worker without any load may be, one standard deviation, before anything was seen."""

AVERAGING_S = 60.0
"""Utilisation is an average over this long (Daedalus sec. 3.1): readings closer together than that share most of what they tell."""

OVERLAP = 4.0
"""How many readings make one independent one, where nothing tells when they were taken: averages of a minute, read every 15 s."""

MIN_LOAD_SPREAD = 0.01
"""Loads that scatter by less than this share of their mean tell nothing about a worker without load."""


def idle_utilization(load: PairedMoments, *, idle_spread: float = IDLE_SPREAD, overlap: float = OVERLAP) -> tuple[float, float]:
    """Utilisation at no load, and its variance, from moments of x = load z and y = mean utilisation u.

    Least squares of u on z gives a = mean(u) - k * mean(z), unless the load is noisy too; that of z on u gives another a, and the truth lies between
    the two, so how far they are apart is doubt as well as the scatter is. The belief that a is near zero (`idle_spread`) is weighed against it by
    variance: readings over a range of loads decide alone, readings at one level leave the ratio u/z.

    >>> idle, variance = idle_utilization(PairedMoments.of([100.0, 200.0, 300.0], [0.15, 0.25, 0.35]))
    >>> round(idle, 9), round(variance, 9)
    (0.05, 0.0)
    >>> idle_utilization(PairedMoments.of([100.0, 100.0, 100.0], [0.2, 0.2, 0.2]), idle_spread=0.5)
    (0.0, 0.25)
    """
    prior = idle_spread * idle_spread
    if not tells_idle(load):
        return 0.0, prior
    idle, other = load.mean_y - load.c_xy / load.m2_x * load.mean_x, load.mean_y - load.m2_y / load.c_xy * load.mean_x
    scatter = overlap * load.unexplained_y() * (1.0 / load.count + load.mean_x * load.mean_x / load.m2_x)
    variance = scatter + (idle - other) ** 2
    weight = prior / (prior + variance)
    return idle * weight, variance * weight


def tells_idle(load: PairedMoments) -> bool:
    """Whether the loads that were seen differ enough to tell anything about a worker without load."""
    return load.count > 2.0 and load.c_xy > 0.0 and load.spread_x >= MIN_LOAD_SPREAD * load.mean_x


def utilization_line(
    load: PairedMoments, busiest: float, busiest_variance: float, *, idle_spread: float = IDLE_SPREAD, overlap: float = OVERLAP
) -> CapacityLine | None:
    """Total throughput over the utilisation of the busiest worker, z(u) = mean(z) * (u - a) / (b - a); None without load or utilisation.

    The utilisation law (service demand x throughput) with an idle share: every worker's utilisation is a + k_w * z, the load z decides and the
    utilisation answers. `load` has moments of x = z and y = mean utilisation of all workers, a is `idle_utilization`, b is the mean utilisation of the
    busiest worker (`busiest`, known with `busiest_variance`). Noise of utilisation, which is most of the noise, flattens the paper's regression of
    throughput on utilisation (errors in x) and leaves this one as it is. Three errors make the variance: that of a, that of b, and the scatter of the
    load at the same utilisation, as rows do not always cost the same.

    >>> line = utilization_line(PairedMoments.of([100.0, 200.0, 300.0], [0.15, 0.25, 0.35]), 0.45, 0.0)
    >>> round(line.value_at(1.0), 6)
    475.0
    """
    idle, idle_variance = idle_utilization(load, idle_spread=idle_spread, overlap=overlap)
    if load.mean_x <= 0.0 or busiest <= idle:
        return None
    return line_above_idle(load, busiest, busiest_variance, idle, idle_variance, overlap=overlap)


def line_above_idle(
    load: PairedMoments, busiest: float, busiest_variance: float, idle: float, idle_variance: float, *, overlap: float = OVERLAP
) -> CapacityLine:
    """The same where the utilisation of the busiest worker without load is known, with a variance of its own."""
    slope = load.mean_x / (busiest - idle)
    unit = (slope / (busiest - idle)) ** 2
    load_scatter = overlap * load.swapped.unexplained_y() / load.count
    return CapacityLine(
        intercept=-slope * idle,
        slope=slope,
        variance=summed(
            square_around(busiest, unit * idle_variance),
            square_around(idle, unit * busiest_variance),
            square_around(idle, load_scatter / (busiest - idle) ** 2),
        ),
        freedom=load.count / overlap - 2.0,
    )
