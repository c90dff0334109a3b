"""Parsing `URL@COMMIT`, and cloning it with real git from local repositories."""

import pytest

from node.lean.trace.sources import NoSource, Remote, changed, clone, remote_of
from tests.repositories import commit, repository

COMMIT = "0123456789" * 4


@pytest.fixture
def origin(tmp_path):
    return repository(tmp_path / "origin", {"A.lean": "-- one\n"})


@pytest.mark.parametrize(
    ("text", "url", "name"),
    [
        (f"https://host.org/a/b.git@{COMMIT}", "https://host.org/a/b.git", COMMIT),
        ("https://me:secret@host.org/a/b@v4.20.0", "https://me:secret@host.org/a/b", "v4.20.0"),
        (f"git@host.org:a/b.git@{COMMIT}", "git@host.org:a/b.git", COMMIT),
        ("file:///a/b@feature/x", "file:///a/b", "feature/x"),
    ],
)
def test_an_address_is_parted_at_its_last_at_sign(text, url, name):
    assert remote_of(text) == Remote(url, name)


@pytest.mark.process
def test_a_commit_is_cloned_alone_and_once_and_a_dirty_origin_does_not_matter(origin, tmp_path):
    first, second = commit(origin), commit(origin, {"A.lean": "-- two\n"})
    (origin / "A.lean").write_text("-- dirty\n")
    assert changed(origin) == ["A.lean"]
    for name, text in ((first, "-- one\n"), (second, "-- two\n"), ("main", "-- two\n")):
        folder = clone(Remote(f"file://{origin}", name), tmp_path / "clones")
        assert (folder / "A.lean").read_text() == text
        assert folder.name == (first if name == first else second)
    assert sorted(each.name for each in folder.parent.iterdir() if each.is_dir()) == sorted([first, second])


@pytest.mark.process
def test_a_clone_that_was_cut_off_begins_again_and_one_that_was_changed_is_refused(origin, tmp_path):
    remote = Remote(str(origin), commit(origin))
    folder = clone(remote, tmp_path / "clones")
    part = folder.with_name(f".{remote.commit}.part")
    folder.rename(part)
    (part / "A.lean").unlink()
    assert (clone(remote, tmp_path / "clones") / "A.lean").read_text() == "-- one\n"
    assert not part.exists()
    (folder / "A.lean").write_text("-- other\n")
    with pytest.raises(NoSource, match=r"was changed \(A.lean\): remove the folder"):
        clone(remote, tmp_path / "clones")


@pytest.mark.process
def test_what_cannot_be_cloned_is_told_in_one_line_and_leaves_nothing(origin, tmp_path):
    clones, nowhere = tmp_path / "clones", f"file://{tmp_path}/nowhere"
    refused = {
        **{Remote(nowhere, name): "cannot be reached" for name in (COMMIT, "main")},
        Remote(str(origin), COMMIT): f"has no commit {COMMIT}",
        Remote(str(origin), "v9"): "no branch or tag `v9`",
        Remote(str(origin), commit(origin)[:10]): "all 40 characters",
    }
    for remote, reason in refused.items():
        with pytest.raises(NoSource, match=reason) as error:
            clone(remote, clones)
        assert "\n" not in str(error.value)
    assert not [each for each in clones.rglob("*") if each.is_dir() and each.parent != clones]
