import os

import pytest

from kinhash.cli.outputs import check_output, new_folder
from kinhash.errors import InvalidInputError


@pytest.mark.parametrize(
    ("path", "force", "message"),
    [
        ("nowhere/out", False, "there is no folder nowhere. Create it."),
        ("file/out", False, "file is a file, not a folder."),
        ("folder", True, "it is a folder. Name a file in it."),
        ("file", False, "file exists already. Pass --force to replace it."),
        ("link", False, "link exists already. Pass --force to replace it."),
        ("pipe", True, "it is not a regular file."),
        ("astray", True, "there is no folder "),
    ],
)
def test_what_cannot_be_written_is_said_before_any_work(
    tmp_path, monkeypatch, path, force, message
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("precious")
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("missing")
    (tmp_path / "astray").symlink_to("nowhere/file")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InvalidInputError) as caught:
        check_output(type(tmp_path)(path), force=force)
    assert message in str(caught.value)
    assert (tmp_path / "file").read_text() == "precious"


def test_a_new_file_and_a_forced_one_are_fine(tmp_path):
    (tmp_path / "old").write_text("")
    check_output(tmp_path / "new", force=False, inputs=("digits", None, tmp_path / "old"))
    check_output(tmp_path / "old", force=True, inputs=("digits", None, tmp_path / "missing"))


def test_a_read_only_folder_is_not_writable(tmp_path, monkeypatch):
    if os.geteuid() == 0:  # root may write anywhere, so answer as for somebody else
        monkeypatch.setattr(os, "access", lambda _path, _mode: False)
    tmp_path.chmod(0o555)
    try:
        with pytest.raises(InvalidInputError, match="is not writable"):
            check_output(tmp_path / "new", force=False)
    finally:
        tmp_path.chmod(0o755)


def test_a_folder_made_in_vain_is_removed(tmp_path):
    made, kept = tmp_path / "made", tmp_path / "kept"
    kept.mkdir()
    for path in (made, kept):

        def work(path=path):
            with new_folder(path):
                path.mkdir(exist_ok=True)
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            work()
    assert not made.exists()
    assert kept.exists()
