"""Prints evaluations of retrievers as tables."""

from __future__ import annotations

from rich.table import Table

from common.output.terminal import Console
from node.retrieval.evaluation import Evaluation


def table(evaluation: Evaluation) -> None:
    """Prints an evaluation: percentages with 95% intervals over theorems."""
    shown = Table(
        title=f"{evaluation.dense.queries:,} states of {evaluation.theorems:,} held-out theorems; "
        f"{evaluation.accessible:,.0f} accessible premises in the mean"
    )
    for name in ("retriever", "R@1", "R@10", "MRR"):
        shown.add_column(name)
    for name, each in (("dense", evaluation.dense), ("BM25", evaluation.bm25)):
        shown.add_row(name, str(each.recall_1), str(each.recall_10), str(each.mrr))
    console = Console()
    console.print(shown)
    console.print(f"R@10, dense minus BM25: {evaluation.advantage}", highlight=False)
