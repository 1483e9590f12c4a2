import io
import subprocess
import sys
import tarfile

import numpy as np
import pytest
from PIL import Image

from kinhash.datasets.photos import read_photos, read_rows, whole_numbers
from kinhash.errors import InvalidInputError


def csv(tmp_path, text):
    path = tmp_path / "table.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_columns_are_found_by_their_names(tmp_path):
    path = csv(tmp_path, '\ufefftitle,id,more\r\n"a, b",7,x\r\né,8,y\r\n\r\n')
    assert read_rows(path, ("id", "title")) == {"id": ["7", "8"], "title": ["a, b", "é"]}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id,name\n1,a\n", r"names the columns id, title, but title is not among id, name\."),
        ("", "but id, title is not among nothing"),
        ("id,title\n1,a\n2\n", "must have 2 values in each line, but has 1 in line 3"),
        ("id,title\n1,a,b\n", "must have 2 values in each line, but has 3 in line 2"),
        ("id,title\n", "must have at least one row, but has none"),
        (b"id,title\n1,\xff\n", r"table\.csv cannot be read: .*utf-8"),
        ('id,title\n1,"a\n', r"table\.csv cannot be read: .*end of data"),
    ],
)
def test_a_table_that_does_not_fit_is_named(tmp_path, text, message):
    with pytest.raises(InvalidInputError, match=message):
        read_rows(csv(tmp_path, text), ("id", "title"))


def test_a_missing_table_is_named(tmp_path):
    with pytest.raises(InvalidInputError, match=r"none\.csv cannot be read: .*No such file"):
        read_rows(tmp_path / "none.csv", ("id",))


@pytest.mark.parametrize("value", ["1.5", "", "x", "9" * 30])
def test_other_than_whole_numbers_are_refused(value):
    with pytest.raises(InvalidInputError, match=r"`id` in mine must hold whole numbers: "):
        whole_numbers(["1", value], "`id` in mine")


def jpeg(photo):
    content = io.BytesIO()
    photo.save(content, "JPEG", quality=95)
    return content.getvalue()


def tar(tmp_path, members):
    path = tmp_path / "images.tar"
    with tarfile.open(path, "w") as archive:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path


def plain(colour, size=(20, 30), mode="RGB"):
    return jpeg(Image.new(mode, size, colour))


def test_photographs_come_in_the_order_of_the_table_whatever_that_of_the_archive(tmp_path):
    path = tar(
        tmp_path,
        {
            "8.jpg": plain((250, 0, 0)),
            "./7.jpg": plain((0, 0, 250)),
            "notes.txt": b"",
            "9.jpg": b"",
        },
    )
    images = read_photos(path, ["7", "8"], (20, 30))
    assert images.shape == (2, 30, 20, 3)
    assert images.dtype == np.uint8
    np.testing.assert_allclose(images.mean(axis=(1, 2)), [[0, 0, 250], [250, 0, 0]], atol=4)


def test_a_photograph_as_it_should_be_is_decoded_and_nothing_else(tmp_path):
    coarse = np.random.default_rng(0).integers(0, 256, (3, 2, 3), dtype=np.uint8)
    content = jpeg(Image.fromarray(coarse).resize((20, 30)))
    expected = np.asarray(Image.open(io.BytesIO(content)))
    path = tar(tmp_path, {"1.jpg": content})
    np.testing.assert_array_equal(read_photos(path, ["1"], (20, 30))[0], expected)


def test_other_sizes_and_grey_photographs_are_fitted(tmp_path):
    path = tar(tmp_path, {"1.jpg": plain((10, 200, 30), (40, 11)), "2.jpg": plain(90, mode="L")})
    images = read_photos(path, ["1", "2"], (20, 30))
    np.testing.assert_allclose(images.mean(axis=(1, 2)), [[10, 200, 30], [90] * 3], atol=4)


def test_a_row_without_a_photograph_is_named(tmp_path):
    path = tar(tmp_path, {"1.jpg": plain(0, mode="L")})
    with pytest.raises(InvalidInputError, match=r"a row for 2, but .*images\.tar has no 2\.jpg"):
        read_photos(path, ["1", "2"], (20, 30))


def test_a_folder_or_link_is_no_photograph(tmp_path):
    path = tmp_path / "images.tar"
    with tarfile.open(path, "w") as archive:
        for name, kind in (("1.jpg", tarfile.DIRTYPE), ("2.jpg", tarfile.SYMTYPE)):
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, "/etc/hostname"
            archive.addfile(member)
    for name in ("1", "2"):
        with pytest.raises(InvalidInputError, match=rf"has no {name}\.jpg"):
            read_photos(path, [name], (20, 30))


def test_two_rows_for_one_photograph_are_refused(tmp_path):
    path = tar(tmp_path, {"1.jpg": plain(0, mode="L")})
    with pytest.raises(InvalidInputError, match="must have one row, but 1 has several"):
        read_photos(path, ["1", "1"], (20, 30))


@pytest.mark.parametrize("kept", [0, 0.2, 0.5, 0.7])
def test_an_archive_cut_short_is_named(tmp_path, kept):
    rng = np.random.default_rng(0)
    photos = [Image.fromarray(rng.integers(0, 256, (30, 20, 3), np.uint8)) for _ in range(9)]
    path = tar(tmp_path, {f"{i}.jpg": jpeg(photo) for i, photo in enumerate(photos)})
    content = path.read_bytes()
    path.write_bytes(content[: int(kept * len(content))])
    with pytest.raises(InvalidInputError, match=r"images\.tar (cannot be read: .*|has no \d\.jpg)"):
        read_photos(path, [str(i) for i in range(9)], (20, 30))


@pytest.mark.parametrize(
    "damage", [lambda c: c[:0], lambda c: c[: len(c) // 2], lambda c: b"x" + c]
)
def test_a_damaged_photograph_is_named(tmp_path, damage):
    path = tar(tmp_path, {"1.jpg": damage(plain((1, 2, 3)))})
    with pytest.raises(InvalidInputError, match=r"1\.jpg in .*images\.tar is no readable picture"):
        read_photos(path, ["1"], (20, 30))


def test_without_pillow_the_extra_is_named(tmp_path):
    program = (
        "import sys; sys.modules['PIL'] = None\n"
        "from pathlib import Path\n"
        "from kinhash.datasets.photos import read_photos\n"
        "from kinhash.errors import MissingExtraError\n"
        "try: read_photos(Path('images.tar'), ['1'], (20, 30))\n"
        "except MissingExtraError as error: sys.stdout.write(str(error))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == (
        "Reading photographs needs Pillow. Install it with: pip install 'kinhash[images]'"
    )
