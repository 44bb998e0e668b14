"""The run on disk: attention of a model batch by batch, crash-safe, with the results beside it.

This package is the only one that knows the layout. Importing it does not import zarr; opening or
creating a run does.
"""

from haarbor.store._batch_marker import Labels
from haarbor.store._batch_writer import BatchWriter
from haarbor.store._create_run import create_run
from haarbor.store._damage import Damage
from haarbor.store._head_tensor import HeadTensor
from haarbor.store._import_arrays import import_arrays
from haarbor.store._kept_result import KeptResult
from haarbor.store._pictures import MOST_PIXELS
from haarbor.store._result_name import ResultName
from haarbor.store._result_types import register_result_type
from haarbor.store._results_file import load_results_file, save_results_file
from haarbor.store._run import Run, open_run
from haarbor.store._run_part import RunPart
from haarbor.store._run_plan import RunPlan, StreamPlan
from haarbor.store._run_writer import RunWriter
from haarbor.store._saved_results import (
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
from haarbor.store._stored_numbers import ErrorBound, error_bound

__all__ = [
    "MOST_PIXELS",
    "BatchWriter",
    "Damage",
    "ErrorBound",
    "HeadTensor",
    "KeptResult",
    "Labels",
    "ResultName",
    "Run",
    "RunPart",
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
