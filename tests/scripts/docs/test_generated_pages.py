import pytest

from common.protocol import attempts, subjects
from scripts.docs import configuration
from scripts.docs.__main__ import COMMAND, PAGES, stale


@pytest.mark.parametrize("page", PAGES)
def test_generated_pages_are_up_to_date(page: str) -> None:
    assert not stale(page), f"docs/{page}.md is not what the code says now; run `{COMMAND}` and commit the page"


def test_every_subject_has_a_channel() -> None:
    upper = {name: value for name, value in vars(subjects).items() if name.isupper() and isinstance(value, str)}
    constants = {value for name, value in upper.items() if name not in vars(attempts)}  # those are names of clients
    functions = {
        subjects.todo("<purpose>", "<durable client>"),
        subjects.todo("<purpose>", "<owner>.<client>"),
        subjects.result("<durable client>"),
        subjects.result("<owner>.<client>.<attempt>.<piece>"),
        subjects.samples_at_work("<node>"),
        subjects.samples("m").rpartition(".")[0] + ".<model>",
    }
    others = {subjects.EVERY_NODE, subjects.NO_CHANNEL, subjects.OWNER, subjects.ASKED}
    assert (constants - others) | functions <= {channel.name for channel in subjects.CHANNELS}


def test_every_section_of_a_mesh_file_is_described() -> None:
    assert configuration.unknown_sections() == set()
