"""Reads the rows and the revision of a data set on the Hugging Face hub."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from node.bank.problems import SourceProblem
from node.bank.texts import Row

SECONDS = 10.0
"""Time limit of a request for a revision. Without this request, `datasets` would retry for half a minute and print
warnings when there is no network."""


@cache
def revision_of(name: str, revision: str = "") -> str:
    """The current commit of a data set on the hub; empty if the hub cannot be reached. Raises SourceProblem if the hub
    does not have the data set or the revision."""
    import huggingface_hub
    from huggingface_hub.errors import HfHubHTTPError

    try:
        info = huggingface_hub.HfApi().dataset_info(name, revision=revision or None, timeout=SECONDS)
    except HfHubHTTPError as error:
        message = (str(error).strip().splitlines() or [type(error).__name__])[-1]
        raise SourceProblem(
            f"{name}: the Hugging Face hub refuses it ({message}); check the id, log in with `hf auth login`, or name "
            "a local copy with --data FOLDER"
        ) from error
    except Exception:  # no network (each library has its own exceptions), or offline mode
        return ""
    return info.sha or ""


def rows(name: str, config: str = "", revision: str = "", files: str = "") -> Iterator[Row]:
    """The rows of all splits, each with its `split`. A downloaded data set is read without a network.

    `files`: a pattern of the files to read, if a repository has files of several forms. Raises SourceProblem.
    """
    commit = revision_of(name, revision)
    import datasets
    import huggingface_hub

    if not commit:
        # Without a network both libraries retry many times. In offline mode they use their cache at once.
        datasets.config.HF_HUB_OFFLINE = huggingface_hub.constants.HF_HUB_OFFLINE = True
    datasets.disable_progress_bars()
    options = {"revision": commit or revision or None, "data_files": files or None}
    try:
        loaded = datasets.load_dataset(name, config or None, **options)
    except Exception as error:  # the library raises exceptions of many other libraries
        message = str(error).split("\n")[0]
        folder = f"FOLDER/{name.rpartition('/')[2]}"
        raise SourceProblem(
            f"{name}: cannot be loaded from the Hugging Face hub ({type(error).__name__}: {message}); on a machine "
            f"with a network run `hf download --repo-type dataset {name} --local-dir {folder}`, then name the folder "
            "with --data FOLDER"
        ) from error
    for split, part in loaded.items():
        for row in part:
            yield {"split": split, **row}
