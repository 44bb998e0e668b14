"""Who sums the absolute differences: one small interface and its engines."""

from haarbor.engines.cpu import CpuEngine
from haarbor.engines.engine import FeatureBlock, L1Engine, engine_named

__all__ = ["CpuEngine", "FeatureBlock", "L1Engine", "engine_named"]
