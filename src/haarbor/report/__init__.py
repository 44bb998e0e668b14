"""The report: one HTML page in which a person sees the heads of a network."""

from haarbor.report.organised import chosen_parts, is_organised, options_before
from haarbor.report.write_report import report_html, write_report

__all__ = ["chosen_parts", "is_organised", "options_before", "report_html", "write_report"]
