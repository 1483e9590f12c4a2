"""How sure a distance makes us that two items are similar."""

from kinhash.calibration.calibration import Calibration, Cut
from kinhash.calibration.observation import Observation

__all__ = ["Calibration", "Cut", "Observation"]
