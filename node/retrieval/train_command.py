"""`proofmesh train retriever`: a dense retriever of premises, from traced theorems.

    proofmesh trace PROJECT --format leandojo --out traced
    proofmesh train retriever --data traced/leandojo --from-scratch
    proofmesh train retriever --data leandojo_benchmark_4 --base sentence-transformers/all-MiniLM-L6-v2

The same command resumes an interrupted training. At the end it measures the retriever and BM25 on held-out theorems.

Exit code: 0 trained, 1 training could not go on, 2 wrong arguments or data, 130 interrupted.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from common.output.visible import say
from node.retrieval.settings import RetrieverSettings
from node.tuning import commands


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    return commands.main("proofmesh train retriever", __doc__, RetrieverSettings, arguments, _run)


def _run(settings: RetrieverSettings) -> None:
    """Raises TrainingError."""
    import msgspec

    from node.data.errors import InputError
    from node.retrieval.errors import RetrievalError
    from node.retrieval.evaluation import Evaluation
    from node.retrieval.printing import table
    from node.retrieval.training import EVALUATION, run

    try:
        summary = run(settings)
    except RetrievalError as error:
        raise InputError(str(error)) from error
    file = settings.out / EVALUATION
    if file.is_file():
        table(msgspec.convert(msgspec.json.decode(file.read_bytes())["after"], Evaluation))
    say("{examples:,} examples, {steps:,} steps in {seconds:.0f} s, loss {loss:.3f}".format(**summary), file=sys.stderr)
    say(summary["use"])


if __name__ == "__main__":
    raise SystemExit(main())
