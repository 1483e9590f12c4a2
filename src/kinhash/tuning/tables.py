"""What was found by tuning as lines of tables."""

from typing import Any

from kinhash.tuning.growth import Growth
from kinhash.tuning.search import Point, Tuned
from kinhash.tuning.space import name_of

Row = dict[str, Any]

MOST_SHOWN = 12


def row(point: Point) -> Row:
    """Return a point as a line: the settings, the radius and what is reached."""
    more = {k: v for k, v in point.settings.items() if k not in ("method", "n_bits")}
    measures = point.measures
    return {
        "method": name_of(point.settings),
        "n_bits": point.settings["n_bits"],
        "settings": ", ".join(f"{name} {value}" for name, value in more.items()),
        "radius": point.radius,
        "precision": measures["precision"],
        "recall": measures["recall"],
        "f1": measures["f1"],
        "empty": measures["empty"],
        "mean_matches": measures["answers"],
        "n_bytes": int(measures["bytes"]),
    }


def shown_front(found: Tuned, most: int = MOST_SHOWN) -> list[Row]:
    """Return at most so many lines of the front, evenly spread, and the chosen one marked."""
    front = found.front
    is_chosen = [_same(point, found.chosen) for point in front]
    step = max(1, -(-len(front) // most))
    kept = [p for i, p in enumerate(front) if i % step == 0 or is_chosen[i]]
    if not any(is_chosen):  # another one is better, and does not meet the wishes
        kept = sorted([*kept, found.chosen], key=lambda point: -point.measure("recall"))
    rows = [row(point) | {"chosen": "*" if _same(point, found.chosen) else ""} for point in kept]
    if not any(line["settings"] for line in rows):
        rows = [{k: v for k, v in line.items() if k != "settings"} for line in rows]
    return rows


def growth_rows(growth: Growth) -> list[Row]:
    """Return what is measured at each size, expected of the last one, and extrapolated."""
    lines: list[tuple[int, str, dict[str, float]]] = [
        (size, "measured", {name: values[i] for name, values in growth.measured.items()})
        for i, size in enumerate(growth.sizes)
    ]
    lines.insert(-1, (growth.sizes[-1], "expected", growth.expected))
    lines += [(size, "extrapolated", found) for size, found in growth.extrapolated.items()]
    return [
        {
            "how": how,
            "items": size,
            "precision": measures["precision"],
            "recall": measures["recall"],
            "empty": measures["empty"],
            "mean_matches": measures["answers"],
        }
        for size, how, measures in lines
    ]


def _same(point: Point, other: Point) -> bool:
    return (point.settings, point.radius) == (other.settings, other.radius)
