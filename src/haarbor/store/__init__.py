"""The run on disk: attention of a model batch by batch, crash-safe, with the results beside it.

This package is the only one that knows the layout. Importing it does not import zarr; opening or
creating a run does.
"""

from haarbor.store.batch_marker import Labels
from haarbor.store.batch_writer import BatchWriter
from haarbor.store.create_run import create_run
from haarbor.store.damage import Damage
from haarbor.store.head_tensor import HeadTensor
from haarbor.store.import_arrays import import_arrays
from haarbor.store.kept_result import KeptResult
from haarbor.store.result_store import ResultName
from haarbor.store.result_types import register_result_type
from haarbor.store.results_file import load_results_file, save_results_file
from haarbor.store.run import Run, open_run
from haarbor.store.run_plan import RunPlan, StreamPlan
from haarbor.store.run_writer import RunWriter
from haarbor.store.saved_results import (
    load_consensus,
    load_head_entropy,
    load_network_entropy,
    load_organization,
    load_ranking_stability,
    save_consensus,
    save_head_entropy,
    save_network_entropy,
    save_organization,
    save_ranking_stability,
)
from haarbor.store.stored_numbers import ErrorBound, error_bound

__all__ = [
    "BatchWriter",
    "Damage",
    "ErrorBound",
    "HeadTensor",
    "KeptResult",
    "Labels",
    "ResultName",
    "Run",
    "RunPlan",
    "RunWriter",
    "StreamPlan",
    "create_run",
    "error_bound",
    "import_arrays",
    "load_consensus",
    "load_head_entropy",
    "load_network_entropy",
    "load_organization",
    "load_ranking_stability",
    "load_results_file",
    "open_run",
    "register_result_type",
    "save_consensus",
    "save_head_entropy",
    "save_network_entropy",
    "save_organization",
    "save_ranking_stability",
    "save_results_file",
]
