"""The report: one HTML page about the heads of a network, to be opened in a browser."""

from haarbor.report._organized import is_organized
from haarbor.report._write_report import report_html, write_report

__all__ = [
    "is_organized",
    "report_html",
    "write_report",
]
