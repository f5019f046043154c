"""Files within which others are packed or named: sheets, HDF5, archives and dictionaries.

Each is refused in one line, within seconds and with little memory, and shows nothing of other files.
"""

import io
import time
import zipfile

import numpy as np
import pandas as pd
import pytest
from scipy.io import savemat

from vaecp.errors import FormatError, VaecpError
from vaecp.formats import matlab_variables, read, write_frame
from vaecp.runtime import memory

pytestmark = pytest.mark.filterwarnings("ignore:The 'phony_dims'")  # of HDF5 without dimensions
MEGABYTES = 2**20
SECONDS = 30


def refused(path, match, error=FormatError, **asked):
    """Reading must fail soon, in one line that names the file."""
    start = time.monotonic()
    with pytest.raises(error, match=match) as caught:
        read(path, **asked)
    assert time.monotonic() - start < SECONDS
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)
    assert not isinstance(caught.value.__cause__, MemoryError)


# ---- text ------------------------------------------------------------------------------


def test_a_header_of_far_more_columns_than_the_lines_have_is_refused(tmp_path):
    n = 30_000
    names = ",".join(f"c{column}" for column in range(n))
    (tmp_path / "x.csv").write_text(f"{names}\n" + "1\n" * n)
    refused(tmp_path / "x.csv", "lines hold far less than")


def test_a_tns_file_of_many_columns_is_refused_before_it_is_read(tmp_path):
    n = 30_000
    (tmp_path / "x.tns").write_text(" ".join(["1"] * n) + "\n" + "1\n" * n)
    refused(tmp_path / "x.tns", "have 30000 column")


def test_a_short_line_of_a_wide_table_is_no_attack(tmp_path):
    (tmp_path / "x.csv").write_text("a,b,c,y\n1,1,1,2\n1,1,2,3\n1,2\n")
    refused(tmp_path / "x.csv", "c", VaecpError)


UTF_16 = "a,b,y\n1,2,3\n1,3,4\n"
DAMAGED_TEXT = {
    "half a character": (UTF_16.encode("utf-16") + b"x", "truncated data"),
    "half a pair": (b"\xff\xfe" + b"\0\xd8" * 9 + UTF_16.encode("utf-16-le"), "surrogate"),
    "beyond Unicode": (UTF_16.encode("utf-32") + b"\xff\xff\xff\x7f", "code point"),
    "a byte that Windows-1252 has not": (b"a\xe9,b,y\n\x81,2,3\n", "decode byte 0x81"),
    "zeros": (b"a,b,y\n1,2,3\n" + bytes(99), "no text"),
}


@pytest.mark.parametrize(("content", "match"), DAMAGED_TEXT.values(), ids=DAMAGED_TEXT)
def test_text_in_a_damaged_encoding_is_refused(tmp_path, content, match):
    (tmp_path / "x.csv").write_bytes(content)
    refused(tmp_path / "x.csv", match)


# ---- Excel -----------------------------------------------------------------------------

SHEET = "xl/worksheets/sheet1.xml"


@pytest.fixture
def workbook(tmp_path):
    """Return a workbook whose sheet has been changed."""
    openpyxl = pytest.importorskip("openpyxl")

    def changed(*changes, rows=(("a", "b", "y"), (1, 1, 2.5), (1, 2, 3), (2, 1, 4)), head=b""):
        book = openpyxl.Workbook()
        for row in rows:
            book.active.append(row)
        content = io.BytesIO()
        book.save(content)
        path = tmp_path / "x.xlsx"
        with (
            zipfile.ZipFile(content) as given,
            zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made,
        ):
            for name in given.namelist():
                part = given.read(name)
                if name == SHEET:
                    part = head + part[part.index(b"<worksheet") :]
                    for before, after in changes:
                        assert before in part
                        part = part.replace(before, after)
                made.writestr(name, part)
        return path

    return changed


def entities(first, levels):
    """A document type whose last entity stands for ten of the one before, and so on."""
    names = [f'<!ENTITY e0 "{first}">']
    names += [f'<!ENTITY e{n + 1} "{f"&e{n};" * 10}">' for n in range(levels)]
    return f"<!DOCTYPE worksheet [{''.join(names)}]>".encode()


def test_a_sheet_of_entities_within_entities_is_refused(workbook):
    path = workbook((b"<v>2.5</v>", b"<v>&e8;</v>"), head=entities("x" * 100, 8))
    refused(path, "amplification")


def test_a_sheet_that_repeats_a_long_entity_is_refused(workbook):
    path = workbook(
        (b"<v>2.5</v>", b"<v>" + b"&e0;" * 3000 + b"</v>"), head=entities("x" * 10**6, 0)
    )
    refused(path, "amplification")


def test_a_sheet_cannot_read_another_file(workbook, tmp_path):
    (tmp_path / "secret").write_text("17")
    head = f'<!DOCTYPE worksheet [<!ENTITY e SYSTEM "file://{tmp_path}/secret">]>'.encode()
    refused(workbook((b"<v>2.5</v>", b"<v>&e;</v>"), head=head), "undefined entity")


def test_a_workbook_that_unpacks_beyond_a_limit_is_refused(workbook, monkeypatch):
    path = workbook((b"</sheetData>", b" " * MEGABYTES + b"</sheetData>"))
    assert path.stat().st_size < MEGABYTES / 16
    monkeypatch.setattr(memory, "available_memory", lambda: MEGABYTES)
    refused(path, "needs about .* of memory")
    monkeypatch.setattr("vaecp.formats.spreadsheets.MOST_BYTES", MEGABYTES)
    refused(path, "unpacks to")


def test_a_row_without_end_is_refused(workbook):
    refused(workbook((b'<row r="4">', b'<row r="99999999999999">')), "its sheets span more than")


def test_a_declared_size_of_a_sheet_means_nothing(workbook):
    path = workbook((b'ref="A1:C4"', b'ref="A1:XFD1048576"'))
    assert read(path).shape == (2, 2)


def test_cells_far_from_each_other_are_refused(workbook):
    last = b"".join(
        b'<row r="%d"><c r="XFD%d" t="n"><v>1</v></c></row>' % (row, row) for row in range(5, 5000)
    )
    path = workbook((b"</sheetData>", last + b"</sheetData>"))
    assert path.stat().st_size < MEGABYTES / 8
    refused(path, "its sheets span more than")


def test_a_sheet_of_many_names_above_short_rows_is_refused(workbook):
    names = tuple(f"c{column}" for column in range(16_000))
    refused(workbook(rows=(names, *((f"r{row}",) for row in range(4_000)))), "its sheets span more")


@pytest.mark.parametrize(("text", "match"), [(b"9" * 5000, "4300 digits"), (b"1e999", "inf")])
def test_a_number_of_a_sheet_that_is_none_is_refused(workbook, text, match):
    refused(workbook((b"<v>2.5</v>", b"<v>%s</v>" % text)), match, VaecpError)


def test_a_label_that_looks_like_a_formula_is_written_as_text(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    labels = ["=1+1", "#N/A", '=HYPERLINK("file:///etc/passwd")', "+1"]
    frame = pd.DataFrame({"a": np.repeat(labels, 2), "b": [1, 2] * 4, "y": np.arange(8.0)})
    write_frame(frame, tmp_path / "x.xlsx")
    sheet = openpyxl.load_workbook(tmp_path / "x.xlsx").active
    assert [cell.data_type for cell in sheet["A"]] == ["s"] * 9
    assert [cell.value for cell in sheet["A"]][1::2] == labels


# ---- HDF5: MATLAB 7.3 and NetCDF -------------------------------------------------------

h5py = pytest.importorskip("h5py")
of_hdf5 = pytest.mark.parametrize("suffix", [".mat", ".nc"])


@pytest.fixture
def secret(tmp_path):
    with h5py.File(tmp_path / "secret.h5", "w") as file:
        file["numbers"] = np.arange(12.0).reshape(3, 4)
    (tmp_path / "secret.bin").write_bytes(np.arange(12.0).tobytes())
    return tmp_path


def linked(file, folder):
    file["x"] = h5py.ExternalLink(str(folder / "secret.h5"), "/numbers")


def linked_by_a_detour(file, folder):
    file.create_group("inner")["x"] = h5py.ExternalLink(str(folder / "secret.h5"), "/numbers")
    file["x"] = h5py.SoftLink("/inner/x")


def linked_to_nothing(file, folder):
    file["x"] = h5py.ExternalLink("/none", "/numbers")
    file["y"] = np.ones((3, 4))


def stored_elsewhere(file, folder):
    file.create_dataset("x", (3, 4), "f8", external=[(str(folder / "secret.bin"), 0, 96)])


def composed(file, folder):
    layout = h5py.VirtualLayout((3, 4), "f8")
    layout[:] = h5py.VirtualSource(str(folder / "secret.h5"), "numbers", (3, 4))
    file.create_virtual_dataset("x", layout)


@of_hdf5
@pytest.mark.parametrize(
    "lead", [linked, linked_by_a_detour, linked_to_nothing, stored_elsewhere, composed]
)
def test_a_file_that_leads_to_another_is_refused(secret, suffix, lead):
    with h5py.File(secret / f"x{suffix}", "w") as file:
        lead(file, secret)
    refused(secret / f"x{suffix}", "lies in another file")


def test_a_cell_that_refers_to_numbers_of_another_file_is_refused(secret):
    with h5py.File(secret / "x.mat", "w") as file:
        parts = file.create_group("#refs#")
        stored_elsewhere(parts, secret)
        file["cell"] = np.array([[parts["x"].ref]], dtype=h5py.ref_dtype)
        file["y"] = np.ones((3, 4))
    refused(secret / "x.mat", "lies in another file")


@of_hdf5
def test_a_vast_dataset_is_refused(tmp_path, suffix):
    with h5py.File(tmp_path / f"x{suffix}", "w") as file:
        file.create_dataset("x", (10**6, 10**6), "f8", chunks=(100, 100))
    refused(tmp_path / f"x{suffix}", "needs about .* of memory")


@of_hdf5
def test_a_dataset_of_millions_of_chunks_is_refused(tmp_path, suffix):
    with h5py.File(tmp_path / f"x{suffix}", "w") as file:
        file.create_dataset("x", (4000, 4000), "f8", chunks=(2, 2))
    refused(tmp_path / f"x{suffix}", "consists of 4,000,000 chunks")


@of_hdf5
def test_many_variables_are_refused(tmp_path, suffix):
    with h5py.File(tmp_path / f"x{suffix}", "w") as file:
        for number in range(1500):
            file.create_dataset(f"x{number}", data=np.ones((2, 3)))
    refused(tmp_path / f"x{suffix}", "holds 1,500 variables")


def test_long_texts_of_a_mat_file_count_as_memory(tmp_path):
    with h5py.File(tmp_path / "x.mat", "w") as file:
        file.create_dataset("x", (1000, 1000), np.dtype("S100000000"), chunks=(1, 1000))
    refused(tmp_path / "x.mat", "needs about .* of memory")


def test_a_cell_of_many_references_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(matlab_variables, "MOST_OBJECTS", 50)
    with h5py.File(tmp_path / "x.mat", "w") as file:
        parts = file.create_group("#refs#")
        made = [parts.create_dataset(str(n), data=float(n)).ref for n in range(100)]
        file.create_dataset("cell", data=np.array(made, dtype=h5py.ref_dtype))
    refused(tmp_path / "x.mat", "holds more than .* objects")


def test_a_struct_that_holds_itself_is_read_once(tmp_path):
    with h5py.File(tmp_path / "x.mat", "w") as file:
        group = file.create_group("s")
        group["itself"] = group
        group["x"] = np.arange(12.0).reshape(3, 4)
    assert read(tmp_path / "x.mat").shape == (4, 3)


STRANGE = {
    "endless link": lambda file: file.__setitem__("x", h5py.SoftLink("/x")),
    "lists": lambda file: file.create_dataset("x", (3, 4), h5py.vlen_dtype("f8")),
    "dead references": lambda file: file.create_dataset("x", (3, 4), h5py.ref_dtype),
    "characters beyond Unicode": lambda file: file.create_dataset(
        "x", data=np.full((3, 4), 2**32 - 1, dtype="u4")
    ).attrs.__setitem__("MATLAB_class", b"char"),
}


@pytest.mark.parametrize("make", STRANGE.values(), ids=STRANGE)
def test_what_no_program_writes_into_a_mat_file_is_refused(tmp_path, make):
    with h5py.File(tmp_path / "x.mat", "w") as file:
        make(file)
    refused(tmp_path / "x.mat", "is truncated or is not a MATLAB")


# ---- archives and dictionaries ---------------------------------------------------------


@pytest.mark.parametrize("name", ["labels_0", "mode_names"])
def test_what_stands_beside_a_tensor_counts_as_memory(tmp_path, monkeypatch, name):
    beside = {name: np.zeros(MEGABYTES)}
    np.savez_compressed(tmp_path / "x.npz", a=np.ones((2, 3)), **beside)
    monkeypatch.setattr(memory, "available_memory", lambda: 8 * MEGABYTES)
    refused(tmp_path / "x.npz", "needs about .* of memory")


def test_a_cell_of_a_mat_file_that_swells_beyond_memory_is_refused(tmp_path, monkeypatch):
    cell = np.empty((1, 1), dtype=object)
    cell[0, 0] = np.zeros((1024, 1024))
    savemat(tmp_path / "x.mat", {"c": cell, "X": np.ones((3, 4))}, do_compression=True)
    assert (tmp_path / "x.mat").stat().st_size < MEGABYTES / 16
    monkeypatch.setattr(memory, "available_memory", lambda: 8 * MEGABYTES)
    refused(tmp_path / "x.mat", "needs about .* of memory")


def test_a_long_text_that_a_parquet_file_repeats_is_refused(tmp_path, monkeypatch):
    frame = pd.DataFrame({"a": ["x" * 1_000_000] * 200, "b": np.arange(200), "y": 1.0})
    frame.to_parquet(tmp_path / "x.parquet", compression="gzip")
    assert (tmp_path / "x.parquet").stat().st_size < MEGABYTES / 16
    monkeypatch.setattr(memory, "available_memory", lambda: 300 * MEGABYTES)
    refused(tmp_path / "x.parquet", "needs about .* of memory")
