"""What each benchmark query must have found, computed row by row from the events it read."""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import cos, dist, hypot, radians
from statistics import fmean, pstdev
from typing import Any

from penstock.workloads import knn, ysb
from penstock.workloads.draws import LATE_MS
from penstock.workloads.vehicles import CENTRE, DEGREE_M, RADIUS_M, TYPES

Event = Mapping[str, Any]
"""The columns of a row, with `arrival` and `event` in ms since the epoch, in the order of arrival."""
Found = dict[tuple[Any, ...], dict[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """The key of a result, and what is expected. `lasts_s` is that of its windows; None if it has none, and no row is too late for it."""

    key: tuple[str, ...]
    expected: Callable[[Sequence[Event]], Found]
    lasts_s: float | None = None
    closed: bool = False


def event_of(row: Mapping[str, Any], arrival_ms: int) -> Event:
    columns = {**json.loads(row["value"]), **row} if "value" in row else dict(row)
    return {**columns, "arrival": arrival_ms, "event": arrival_ms - columns["delay_ms"]}


def result_of(value: str) -> dict[str, Any]:
    """Return a result with its times in ms since the epoch."""
    columns = json.loads(value)
    times = ("arrival", "start", "end", "updated")
    return {name: round(datetime.fromisoformat(each).timestamp() * 1000) if name in times else each for name, each in columns.items()}


def newest(results: Iterable[dict[str, Any]], key: Sequence[str]) -> Found:
    """Return the newest result of each key: it counts the newest row."""
    found: Found = {}
    for each in results:
        place = tuple(each[name] for name in key)
        if place not in found or found[place]["arrival"] <= each["arrival"]:
            found[place] = each
    return found


def arrival_of(events: Iterable[Event]) -> int:
    return max(int(each["arrival"]) for each in events)


def windows(events: Iterable[Event], *key: str, lasts_s: int, slides_s: int | None = None) -> dict[tuple[Any, ...], list[Event]]:
    """Return the events by key and start of their windows."""
    slide_ms, lasts_ms = 1000 * (slides_s or lasts_s), 1000 * lasts_s
    found = defaultdict[tuple[Any, ...], list[Event]](list)
    for each in events:
        last = each["event"] // slide_ms * slide_ms
        for start in range(last, each["event"] - lasts_ms, -slide_ms):
            found[*(each[name] for name in key), start].append(each)
    return found


def counted(events: Sequence[Event]) -> Found:
    times, arrival = Counter[str](), dict[str, int]()
    for each in events:
        for word in each["line"].split(" "):
            times[word] += 1
            arrival[word] = each["arrival"]
    return {(word,): {"times": count, "arrival": arrival[word]} for word, count in times.items()}


def viewed(events: Sequence[Event]) -> Found:
    campaign = dict(zip(*ysb.ads().to_pydict().values(), strict=True))
    views = [{**each, "campaign_id": campaign[each["ad_id"]]} for each in events if each["event_type"] == "view"]
    grouped = windows(views, "campaign_id", lasts_s=10)
    return {key: {"views": len(of), "updated": max(each["event"] for each in of), "arrival": arrival_of(of)} for key, of in grouped.items()}


def top_speeds(events: Sequence[Event]) -> Found:
    cars, found = defaultdict[int, list[Event]](list), Found()
    for each in events:
        cars[each["car_id"]].append(each)
    for car, reports in cars.items():
        written_m = reports[0]["distance_m"]
        for place, report in enumerate(reports):
            if report["distance_m"] - written_m > 50.0:
                written_m = report["distance_m"]
                newest_ms = max(each["event"] for each in reports[: place + 1])
                last = [each["speed_kmh"] for each in reports[: place + 1] if each["event"] > newest_ms - 10_000]
                found[car, written_m] = {"top_speed_kmh": max(last), "arrival": report["arrival"]}
    return found


def watched(events: Sequence[Event]) -> list[Event]:
    latitude, longitude = CENTRE

    def distance_m(each: Event) -> float:
        return DEGREE_M * hypot(each["latitude"] - latitude, (each["longitude"] - longitude) * cos(radians(latitude)))

    return [each for each in events if distance_m(each) <= RADIUS_M]


def averages(events: Sequence[Event], lasts_s: int, slides_s: int | None = None) -> Found:
    types, found = {each["vehicle_type"]: each for each in TYPES.to_pylist()}, Found()
    for key, of in windows(watched(events), "vehicle_id", lasts_s=lasts_s, slides_s=slides_s).items():
        known = types[of[0]["vehicle_type"]]
        found[key] = {"type_name": known["type_name"], "speed_kmh": fmean(each["speed_kmh"] for each in of), "arrival": arrival_of(of)}
        if slides_s is not None:
            found[key] |= {"limit_kmh": known["limit_kmh"], "speeding": found[key]["speed_kmh"] > known["limit_kmh"]}
    return found


def earnings(events: Sequence[Event]) -> Found:
    grouped = windows(events, "pickup", lasts_s=10)
    return {key: {"drives": len(of), "fares": sum(each["fare"] for each in of), "arrival": arrival_of(of)} for key, of in grouped.items()}


def routes(events: Sequence[Event]) -> Found:
    return {
        key: {
            "drives": len(of),
            "speed_kmh": fmean(each["distance_km"] * 60 / each["minutes"] for each in of),
            "spread": pstdev(each["fare"] / each["distance_km"] for each in of),
            "arrival": arrival_of(of),
        }
        for key, of in windows(events, "pickup", "dropoff", lasts_s=30, slides_s=2).items()
    }


def classified(events: Sequence[Event]) -> Found:
    known, found = [((each["x"], each["y"], each["z"]), int(each["c"])) for each in knn.known_points()], Found()
    for each in events:
        nearest = sorted((dist(place, (each["x"], each["y"], each["z"])), kind) for place, kind in known)[: knn.NEIGHBOURS]
        votes = Counter(kind for _, kind in nearest)
        kind = min(votes, key=lambda kind: (-votes[kind], kind))
        found[(each["point_id"],)] = {"class": kind, "distance": nearest[-1][0], "arrival": each["arrival"]}
    return found


def bids(events: Iterable[Event]) -> list[Event]:
    return [each for each in events if each["kind"] == "bid"]


def q1(events: Sequence[Event]) -> Found:
    return {(each["auction"], each["person"], each["arrival"]): {"price": each["price"] * 0.908, "arrival": each["arrival"]} for each in bids(events)}


def q2(events: Sequence[Event]) -> Found:
    some = (each for each in bids(events) if each["auction"] % 123 == 0)
    return {(each["auction"], each["arrival"], each["price"]): {"arrival": each["arrival"]} for each in some}


def q5(events: Sequence[Event]) -> Found:
    found, arrival = Found(), dict[int, int]()
    for (auction, start), of in windows(bids(events), "auction", lasts_s=10, slides_s=2).items():
        best = found.get((start,), {"bids": 0, "auction": 0})
        arrival[start] = max(arrival.get(start, 0), arrival_of(of))
        if (len(of), auction) > (best["bids"], best["auction"]):
            found[(start,)] = {"bids": len(of), "auction": auction}
    return {key: {**each, "arrival": arrival[key[0]]} for key, each in found.items()}


def q8(events: Sequence[Event]) -> Found:
    came, sold = (windows((each for each in events if each["kind"] == kind), "person", lasts_s=10) for kind in ("person", "auction"))
    return {key: {"arrival": arrival_of([*came[key], *sold[key]])} for key in came.keys() & sold.keys()}


def q11(events: Sequence[Event]) -> Found:
    bidders, found = defaultdict[int, list[Event]](list), Found()
    for each in sorted(bids(events), key=lambda each: int(each["event"])):
        bidders[each["person"]].append(each)
    for bidder, made in bidders.items():
        first = 0
        for place, each in enumerate(made):
            if place + 1 == len(made) or made[place + 1]["event"] > each["event"] + 10_000:
                of = made[first : place + 1]
                found[bidder, of[0]["event"]] = {"end": each["event"] + 10_000, "bids": len(of), "arrival": arrival_of(of)}
                first = place + 1
    return found


REFERENCES = {
    "counted": Reference(key=("word",), expected=counted),
    "viewed": Reference(key=("campaign_id", "start"), expected=viewed, lasts_s=10),
    "top_speeds": Reference(key=("car_id", "distance_m"), expected=top_speeds),
    "speeds": Reference(key=("vehicle_id", "start"), expected=lambda events: averages(events, 10), lasts_s=10),
    "speeding": Reference(key=("vehicle_id", "start"), expected=lambda events: averages(events, 3, 1), lasts_s=3),
    "earnings": Reference(key=("pickup", "start"), expected=earnings, lasts_s=10),
    "routes": Reference(key=("pickup", "dropoff", "start"), expected=routes, lasts_s=30),
    "classified": Reference(key=("point_id",), expected=classified),
    "q1": Reference(key=("auction", "bidder", "arrival"), expected=q1),
    "q2": Reference(key=("auction", "arrival", "price"), expected=q2),
    "q5": Reference(key=("start",), expected=q5, lasts_s=10, closed=True),
    "q8": Reference(key=("person", "start"), expected=q8, lasts_s=10, closed=True),
    "q11": Reference(key=("bidder", "start"), expected=q11, lasts_s=10, closed=True),
}


def compare(name: str, events: Sequence[Event], results: Iterable[dict[str, Any]], *, late_ms: int = LATE_MS) -> int:
    """Assert that the newest results are those expected, and return how many were compared.

    A row that is later than `late_ms` may be dropped where there are windows: what is found must be as if all or none of them were. Windows that end after
    the newest watermark need not be written yet where they are written once.
    """
    of = REFERENCES[name]
    found = newest(results, of.key)
    every = of.expected(events)
    if of.lasts_s is None:
        assert found.keys() == every.keys()
        assert all(agree(found[key], each, of.key) for key, each in every.items())
        return len(every)
    in_time = of.expected([each for each in events if each["delay_ms"] <= late_ms])
    begun_ms, over_ms = events[0]["arrival"] - late_ms - 1000 * of.lasts_s, arrival_of(events) - 25_000
    due = {key for key, each in in_time.items() if not of.closed or each.get("end", start_of(key) + 1000 * of.lasts_s) < over_ms}
    counted = {key: each for key, each in found.items() if start_of(key) >= begun_ms}
    assert due <= counted.keys() and counted.keys() <= in_time.keys() | every.keys()
    wrong = [key for key, each in counted.items() if not any(key in known and agree(each, known[key], of.key) for known in (in_time, every))]
    assert not wrong, (wrong[0], counted[wrong[0]], in_time.get(wrong[0]), every.get(wrong[0]))
    return len(counted)


def start_of(key: tuple[Any, ...]) -> int:
    return int(key[-1])


def agree(found: Mapping[str, Any], expected: Mapping[str, Any], key: Sequence[str]) -> bool:
    """Return whether two results have the same values; sums of floats may differ in their last digits, and times in a ms."""
    assert found.keys() - set(key) <= expected.keys() | {"arrival"}

    def alike(one: Any, other: Any) -> bool:
        return abs(one - other) <= max(1e-6, 1e-9 * abs(other)) + (1 if one > 1e12 else 0) if isinstance(other, int | float) else one == other

    return all(alike(found[name], each) for name, each in expected.items())
