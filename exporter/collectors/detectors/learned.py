"""The file with the learned state of the detectors, valid for one boot."""

from collections.abc import Iterable, Mapping
from typing import Any

from exporter.collectors.detectors.mixture import Component, Mixture
from exporter.collectors.detectors.past import MAX_MODELS, WINDOW, Learned
from exporter.collectors.detectors.siblings import MAX_USUAL, UsualPlace
from exporter.record import dataclass
from exporter.state import dump

VERSION = 1
DIGITS = 5


@dataclass(frozen=True, slots=True)
class SavedDetectors:
    """The usual places of GPUs among their siblings, and what was learned of each model."""

    usual: Mapping[tuple[str, str], UsualPlace]
    learned: Mapping[str, Learned]


def to_text(kept: SavedDetectors, boot_id: str) -> str:
    """Write all of it as the text of the file."""
    content = {
        "usual": [
            [*key, round(usual.place, DIGITS), round(usual.secs, 1)]
            for key, usual in kept.usual.items()
        ],
        "models": {name: _row(learned) for name, learned in kept.learned.items()},
    }
    return dump(content, boot_id, VERSION)


def decode(document: Mapping[str, Any]) -> SavedDetectors:
    """Take apart what the file holds; raises one of MISFITS."""
    usual = {
        (str(uuid), str(signal)): UsualPlace(float(place), float(secs))
        for uuid, signal, place, secs in document["usual"][:MAX_USUAL]
    }
    models = [*document["models"].items()][:MAX_MODELS]
    return SavedDetectors(usual, {str(name): _learned(row) for name, row in models})


def _row(learned: Learned) -> dict[str, Any]:
    mixture = learned.mixture
    return {
        "window": [[round(value, DIGITS) for value in point] for point in learned.window],
        "gpu_secs": learned.gpu_secs,
        "began_at": learned.began_at,
        "fitted_at": learned.fitted_at if mixture else None,
        "quantile": learned.quantile,
        "mixture": [[c.weight, c.mean, c.factor] for c in mixture.components] if mixture else None,
    }


def _learned(row: Mapping[str, Any]) -> Learned:
    learned = Learned(
        window=[_point(point) for point in row["window"][:WINDOW]],
        gpu_secs=float(row["gpu_secs"]),
        quantile=float(row["quantile"]),
        fitted_at=_secs(row["fitted_at"]),
        began_at=_secs(row["began_at"]),
    )
    if row["mixture"] is not None:
        learned.mixture = Mixture(tuple(map(_component, row["mixture"])))
        learned.mixture.log_likelihood((0.5, 0.5, 0.5))  # one that cannot be used is refused here
    return learned


def _point(found: Iterable[Any]) -> tuple[float, float, float]:
    memory, power, heat = map(float, found)
    return memory, power, heat


def _secs(found: Any) -> float | None:
    return None if found is None else float(found)


def _component(found: Iterable[Any]) -> Component:
    weight, mean, factor = found
    columns = tuple(tuple(map(float, column)) for column in factor)
    if [*map(len, columns)] != [1, 2, 3]:
        raise ValueError("a Gaussian has another size")
    return Component(float(weight), _point(mean), columns)
