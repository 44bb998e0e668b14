"""Engines that sum absolute differences, their interface, and threads that share work."""

from haarbor.engines._cluster import ClusterEngine
from haarbor.engines._cluster_session import ClusterSession
from haarbor.engines._cpu import CpuEngine
from haarbor.engines._engine import FeatureBlock, L1Engine, checked_sums, engine_named
from haarbor.engines._engine_text import engine_text
from haarbor.engines._parallel_map import parallel_map
from haarbor.engines._row_parts import RowsEngine, joined_rows, row_parts
from haarbor.engines._row_products import add_row_products, add_sparse_products
from haarbor.engines._worker_threads import ordered_results, thread_count, usable_cores

__all__ = [
    "ClusterEngine",
    "ClusterSession",
    "CpuEngine",
    "FeatureBlock",
    "L1Engine",
    "RowsEngine",
    "add_row_products",
    "add_sparse_products",
    "checked_sums",
    "engine_named",
    "engine_text",
    "joined_rows",
    "ordered_results",
    "parallel_map",
    "row_parts",
    "thread_count",
    "usable_cores",
]
