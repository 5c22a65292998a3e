import fsspec
import pandas as pd
import pyarrow.parquet as pq
import pytest

from quayside._names import assert_local_names

TABLE = pd.DataFrame({"a": range(100_000), "b": [str(n) for n in range(100_000)]})


@pytest.fixture(scope="module")
def fs():
    return fsspec.filesystem("quayside")


@pytest.fixture(autouse=True)
def empty(fs):
    yield
    for each in fs.ls("data/Spectra", detail=False):
        fs.rm(each, recursive=True)


def test_pandas_and_pyarrow_read_and_write_datasets(fs):
    TABLE.to_parquet("quayside://data/Spectra/x.parquet", row_group_size=10_000)
    assert pd.read_parquet("quayside://data/Spectra/x.parquet").equals(TABLE)
    assert pq.read_table("data/Spectra/x.parquet", filesystem=fs, columns=["a"]).num_columns == 1
    TABLE.head().to_csv("quayside://data/Spectra/ä b#%41?.csv", index=False)
    assert len(pd.read_csv("quayside://data/Spectra/ä b#%41?.csv")) == 5
    assert fs.ls("data/Spectra", detail=False) == [
        "data/Spectra/x.parquet",
        "data/Spectra/ä b#%41?.csv",
    ]


def test_files_are_read_by_ranges_through_a_cache(fs, monkeypatch):
    fs.pipe("data/Spectra/f", bytes(range(256)) * 100)
    ranges = []
    read = fs._files.read
    monkeypatch.setattr(
        fs._files, "read", lambda path, *span: ranges.append(span[:2]) or read(path, *span)
    )
    with fs.open("data/Spectra/f", block_size=1_000) as file:
        file.seek(5_005)
        assert file.read(2) == bytes([5_005 % 256, 5_006 % 256])
        file.seek(5_100)
        file.read(10)
    assert ranges == [(5_000, 6_000)]
    assert fs.cat_file("data/Spectra/f", -2) == bytes([254, 255])


def test_a_file_that_is_replaced_while_it_is_read_is_an_error(fs):
    fs.pipe("data/Spectra/f", b"a" * 3_000)
    with fs.open("data/Spectra/f", block_size=1_000) as file:
        assert file.read(1) == b"a"
        fs.pipe("data/Spectra/f", b"b" * 3_000)
        file.seek(2_000)
        with pytest.raises(OSError, match="replaced while it was read"):
            file.read(1)


def test_exclusive_creation_refuses_to_replace(fs):
    with fs.open("data/Spectra/n", "xb") as file:
        file.write(b"first")
    with pytest.raises(FileExistsError), fs.open("data/Spectra/n", "xb") as file:
        file.write(b"second")
    assert fs.cat("data/Spectra/n") == b"first"
    with fs.open("data/Spectra/n", "ab") as file:
        file.write(b" and more")
    assert fs.cat("data/Spectra/n") == b"first and more"


def test_an_error_while_writing_uploads_nothing(fs):
    with pytest.raises(KeyError), fs.open("data/Spectra/half", "wb") as file:
        file.write(b"half")
        raise KeyError
    assert not fs.exists("data/Spectra/half")


def test_directories_are_made_copied_moved_and_deleted(fs):
    fs.makedirs("home/p/q")
    fs.pipe("home/p/q/a", b"1")
    fs.cp("home/p/q/a", "data/Spectra/a")
    fs.cp("home/p", "home/r", recursive=True)
    assert fs.find("home/r") == ["home/r/q/a"]
    fs.mv("home/r", "home/p")
    assert fs.find("home/p") == ["home/p/q/a", "home/p/r/q/a"]
    with pytest.raises(OSError, match="not empty"):
        fs.rmdir("home/p")
    with pytest.raises(IsADirectoryError):
        fs.rm("home/p/q")
    fs.rm("home/p", recursive=True)
    assert not fs.exists("home/p")
    assert fs.cat("data/Spectra/a") == b"1"


def test_whole_datasets_and_homes_are_not_deleted_as_files(fs):
    for path in ("data/Spectra", "home", "users/ann", "data"):
        with pytest.raises(PermissionError, match="whole dataset or home"):
            fs.rm(path, recursive=True)


def test_a_name_that_windows_takes_for_a_path_is_not_downloaded(fs, monkeypatch, tmp_path):
    fs.pipe("data/Spectra/..\\..\\evil", b"1")
    fs.get("data/Spectra/", str(tmp_path / "there"), recursive=True)
    assert [each.name for each in (tmp_path / "there").iterdir()] == ["..\\..\\evil"]
    monkeypatch.setattr(assert_local_names, "__defaults__", ("nt",))
    with pytest.raises(ValueError, match="Windows cannot have a file"):
        fs.get("data/Spectra/", str(tmp_path / "here"), recursive=True)
    assert not [each for each in (tmp_path / "here").rglob("*") if each.is_file()]


@pytest.mark.parametrize(
    ("act", "error"),
    [
        (lambda fs: fs.open("data/Spectra/none"), FileNotFoundError),
        (lambda fs: fs.open("data/Nope/x"), FileNotFoundError),
        (lambda fs: fs.open("elsewhere/x"), FileNotFoundError),
        (lambda fs: fs.open("users/bob/x"), FileNotFoundError),
        (lambda fs: fs.pipe("data/Spectra/none/x", b"1"), FileNotFoundError),
        (lambda fs: fs.open("data/Spectra/../x"), ValueError),
        (lambda fs: fs.open("data/Spectra/x", "r+b"), ValueError),
        (lambda fs: fs.mkdir("data/Spectra"), FileExistsError),
        (lambda fs: fs.open("data/Spectra"), IsADirectoryError),
    ],
)
def test_wrong_paths_raise_what_python_raises(fs, act, error):
    with pytest.raises(error):
        act(fs)
