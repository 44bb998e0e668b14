import errno
import os
import socket
import stat
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import pytest

from haarbor.errors import SettingError, StoreError
from haarbor.whole_file import file_place, whole_file


def write(path, data=b"new"):
    with whole_file(path, "a note") as unfinished:
        unfinished.write_bytes(data)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_file_is_made_or_replaced(tmp_path):
    write(tmp_path / "note")
    write(tmp_path / "note", b"newer")
    assert (tmp_path / "note").read_bytes() == b"newer"
    assert names(tmp_path) == ["note"]


def test_new_files_follow_the_umask_and_replaced_ones_keep_their_permissions(tmp_path):
    before = os.umask(0o027)
    try:
        write(tmp_path / "fresh")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "fresh").stat().st_mode) == 0o640
    (tmp_path / "fresh").chmod(0o604)
    write(tmp_path / "fresh")
    assert stat.S_IMODE((tmp_path / "fresh").stat().st_mode) == 0o604


def test_a_link_is_followed_and_stays(tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "note").write_bytes(b"old")
    (tmp_path / "middle").symlink_to("there/note")
    (tmp_path / "link").symlink_to(tmp_path / "middle")
    (tmp_path / "dangling").symlink_to("there/new")
    write(tmp_path / "link")
    write(tmp_path / "dangling")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "middle").is_symlink()
    assert (tmp_path / "there" / "note").read_bytes() == b"new"
    assert names(tmp_path / "there") == ["new", "note"]
    assert names(tmp_path) == ["dangling", "link", "middle", "there"]


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
def test_what_was_there_stays_when_writing_fails_and_nothing_else(tmp_path, error):
    (tmp_path / "note").write_bytes(b"old")

    def fail():
        with whole_file(tmp_path / "note", "a note") as unfinished:
            unfinished.write_bytes(b"half")
            raise error

    with pytest.raises((StoreError, KeyboardInterrupt)) as caught:
        fail()
    if isinstance(caught.value, StoreError):
        assert str(caught.value) == (
            f"a note must be writable; {tmp_path / 'note'}: No space left on device. Free some space, or "
            "choose another place."
        )
        assert caught.value.errno == errno.ENOSPC
    assert (tmp_path / "note").read_bytes() == b"old"
    assert names(tmp_path) == ["note"]


@pytest.mark.skipif(sys.platform != "linux", reason="limits the size of files")
def test_a_file_that_grows_too_large_half_way_leaves_nothing(tmp_path):
    code = """
    import resource, sys
    from haarbor.errors import StoreError
    from haarbor.whole_file import whole_file
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
    try:
        with whole_file(sys.argv[1], "a note") as unfinished:
            unfinished.write_bytes(bytes(10_000))
    except StoreError as error:
        print(error)
    """
    command = [sys.executable, "-c", textwrap.dedent(code), str(tmp_path / "note")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == f"a note must be writable; {tmp_path / 'note'}: File too large. " + (
        "Choose another place.\n"
    )
    assert names(tmp_path) == []


def test_folders_missing_folders_and_long_names_are_one_line(tmp_path):
    for path, message in (
        (tmp_path, "a note must be written to a file; .* is a folder. Choose another name"),
        (".", "is a folder"),
        ("..", "is a folder"),
        ("/", "is a folder"),
        (tmp_path / "no" / "note", "must be written into a folder; there is no .*no. Make it first"),
        (tmp_path / ("n" * 300), "File name too long. Choose a shorter name"),
    ):
        with pytest.raises(StoreError, match=message) as caught:
            write(path)
        assert "\n" not in str(caught.value)
    # Its own name fits, so the file does, however long the name beside it would be.
    write(tmp_path / ("n" * 255))
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StoreError, match="must be written into a folder"):
        write(tmp_path / "file" / "note")
    assert names(tmp_path) == ["file", "n" * 255]


@pytest.mark.parametrize("path", [None, 3, b"note", "", "a\0b", ["note"]])
def test_what_is_no_path_is_refused(path):
    with pytest.raises(
        SettingError, match=r"the place of a note must be a path; found .*\. Pass its name as a text"
    ):
        file_place(path, "a note")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with names")
def test_devices_pipes_sockets_and_loops_are_refused_and_left_alone(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "to-pipe").symlink_to("pipe")
    (tmp_path / "loop").symlink_to("loop")
    with socket.socket(socket.AF_UNIX) as plug:
        plug.bind(str(tmp_path / "socket"))
    before = {name: (tmp_path / name).lstat().st_mode for name in names(tmp_path)}
    for path in (tmp_path / "pipe", tmp_path / "socket", tmp_path / "to-pipe"):
        with pytest.raises(StoreError, match=r"is a device, a pipe or a socket. Choose another name"):
            write(path)
    with pytest.raises(StoreError, match="symbolic links"):
        write(tmp_path / "loop")
    with pytest.raises(StoreError, match="/dev/null is a device"):
        file_place("/dev/null", "a note")
    assert {name: (tmp_path / name).lstat().st_mode for name in names(tmp_path)} == before


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs /proc")
def test_streams_are_refused_even_where_they_lead_to_a_file(tmp_path):
    (tmp_path / "to-stdout").symlink_to("/dev/stdout")
    with (tmp_path / "out").open("wb") as out:
        for path in (f"/proc/self/fd/{out.fileno()}", f"/dev/fd/{out.fileno()}"):
            with pytest.raises(StoreError, match=r"is an open stream. Choose another name"):
                file_place(path, "a note")
    with pytest.raises(StoreError, match="is an open stream"):
        file_place(tmp_path / "to-stdout", "a note")


@pytest.mark.skipif(not hasattr(os, "seteuid"), reason="needs users")
@pytest.mark.parametrize(("folder_mode", "file_mode"), [(0o555, 0o666), (0o777, 0o444)])
def test_locked_folders_and_files_are_refused_before_the_work(folder_mode, file_mode):
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "note").write_bytes(b"old")
        (folder / "note").chmod(file_mode)
        folder.chmod(folder_mode)
        was = os.geteuid()
        try:
            if was == 0:
                os.seteuid(65534)
            with pytest.raises(StoreError, match=r"Permission denied\. Change its permissions, or choose"):
                file_place(folder / "note", "a note")
        finally:
            os.seteuid(was)
            folder.chmod(0o777)
        assert (folder / "note").read_bytes() == b"old"
        assert names(folder) == ["note"]
