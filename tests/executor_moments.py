from dataclasses import replace

from penstock.core.models.capacity.executor_use import ExecutorUse, ExecutorUses


def moment(at_s: float, *seen: tuple[float, float], prefix: str = "") -> ExecutorUses:
    """One executor for each utilisation and throughput."""
    uses = (ExecutorUse(executor=f"{prefix}{number}", utilization=busy, throughput_rows_per_s=rate) for number, (busy, rate) in enumerate(seen))
    return ExecutorUses(at_s=at_s, executors=len(seen), since_change_s=None, uses=tuple(uses))


def moved(readings: list[ExecutorUses], *, later_s: float, prefix: str) -> list[ExecutorUses]:
    """The same at a later time, by other executors."""
    named = [tuple(replace(use, executor=prefix + use.executor) for use in reading.uses) for reading in readings]
    return [replace(reading, at_s=reading.at_s + later_s, uses=uses) for reading, uses in zip(readings, named, strict=True)]
