"""Engines that sum absolute differences, their interface, and threads that share work."""

from haarbor.engines._cluster import ClusterEngine
from haarbor.engines._cluster_session import ClusterSession
from haarbor.engines._cpu import CpuEngine
from haarbor.engines._device import Device
from haarbor.engines._device_arrays import device_arrays, is_on_device, numbers_in_memory_order
from haarbor.engines._engine import FeatureBlock, L1Engine, checked_sums
from haarbor.engines._engine_choice import engine_named
from haarbor.engines._engine_text import engine_text
from haarbor.engines._gpu_engine import GpuEngine
from haarbor.engines._mirrored_square import mirror
from haarbor.engines._parallel_map import parallel_map
from haarbor.engines._row_parts import RowsEngine, joined_rows, row_parts
from haarbor.engines._row_products import add_row_products, add_sparse_products
from haarbor.engines._sampled_engine import SampledEngine
from haarbor.engines._worker_threads import ordered_results, thread_count, usable_cores
from haarbor.engines._workers import Workers

__all__ = [
    "ClusterEngine",
    "ClusterSession",
    "CpuEngine",
    "Device",
    "FeatureBlock",
    "GpuEngine",
    "L1Engine",
    "RowsEngine",
    "SampledEngine",
    "Workers",
    "add_row_products",
    "add_sparse_products",
    "checked_sums",
    "device_arrays",
    "engine_named",
    "engine_text",
    "is_on_device",
    "joined_rows",
    "mirror",
    "numbers_in_memory_order",
    "ordered_results",
    "parallel_map",
    "row_parts",
    "thread_count",
    "usable_cores",
]
