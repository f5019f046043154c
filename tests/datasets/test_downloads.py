"""Files from a folder, the cache and a real server on this machine, whole and broken."""

import hashlib
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote

import pytest

from vaecp import datasets
from vaecp.datasets.catalogue import DataFile
from vaecp.datasets.files import locate
from vaecp.errors import DatasetError

pytest.importorskip("pooch", reason="downloads need the extra vaecp[datasets]")

CONTENT = b"1,2,3,0.5\n" * 5_000
FILE = DataFile(
    "some/table.txt", "owner/repo/commit/a folder/table.txt", hashlib.sha256(CONTENT).hexdigest()
)


class Handler(BaseHTTPRequestHandler):
    """Serves what the server's `pages` hold; a page may promise more than it sends."""

    def do_GET(self):
        self.server.requests.append(unquote(self.path))
        body, promised = self.server.pages.get(unquote(self.path), (None, 0))
        if body is None:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(promised))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


@pytest.fixture
def server():
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.pages, server.requests = {}, []
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def cache(monkeypatch, tmp_path):
    """An empty cache, no folder of the user's, and no proxy in the way."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.delenv("VAECP_DATA", raising=False)
    monkeypatch.setenv("VAECP_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def mirror(monkeypatch, cache, server):
    monkeypatch.setenv("VAECP_DATA_URL", f"http://127.0.0.1:{server.server_port}")
    return server


def serve(server, body, promised=None):
    server.pages[f"/{FILE.address}"] = (body, len(body) if promised is None else promised)


def files_in(folder):
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def one_line_about(error):
    text = str(error.value)
    assert "\n" not in text
    assert text.startswith("dataset 'some': http://127.0.0.1:")
    assert text.endswith("try again, or set VAECP_DATA to a folder that has the file.")


def test_a_file_is_downloaded_once_and_then_found_in_the_cache(mirror, cache):
    serve(mirror, CONTENT)
    first, second = locate("some", FILE), locate("some", FILE)
    assert first == second == cache / "some/table.txt"
    assert first.read_bytes() == CONTENT
    assert mirror.requests == [f"/{FILE.address}"]
    assert files_in(cache) == ["table.txt"]


def test_the_cache_serves_without_a_network(mirror, cache, monkeypatch):
    serve(mirror, CONTENT)
    locate("some", FILE)
    monkeypatch.setenv("VAECP_DATA_URL", "http://127.0.0.1:9")
    assert locate("some", FILE).read_bytes() == CONTENT


def test_a_damaged_file_in_the_cache_is_downloaded_again(mirror, cache):
    (cache / "some").mkdir(parents=True)
    (cache / "some/table.txt").write_bytes(CONTENT[:100])
    serve(mirror, CONTENT)
    assert locate("some", FILE).read_bytes() == CONTENT


def test_a_wrong_checksum_is_one_line_and_leaves_no_file(mirror, cache):
    serve(mirror, b"another content")
    with pytest.raises(DatasetError, match=f"does not have the SHA-256 {FILE.sha256}") as error:
        locate("some", FILE)
    one_line_about(error)
    assert files_in(cache) == []


def test_a_dropped_connection_is_one_line_and_leaves_no_file(mirror, cache):
    serve(mirror, CONTENT[:20_000], promised=len(CONTENT))
    with pytest.raises(DatasetError, match="the connection dropped before the whole") as error:
        locate("some", FILE)
    one_line_about(error)
    assert files_in(cache) == []


def test_a_refused_connection_is_one_line_and_leaves_no_file(cache, monkeypatch):
    monkeypatch.setenv("VAECP_DATA_URL", "http://127.0.0.1:9")
    with pytest.raises(DatasetError, match="no connection to the server") as error:
        locate("some", FILE)
    one_line_about(error)
    assert files_in(cache) == []


def test_a_missing_page_is_one_line_and_leaves_no_file(mirror, cache):
    with pytest.raises(DatasetError, match="the server answered 404 Not Found") as error:
        locate("some", FILE)
    one_line_about(error)
    assert files_in(cache) == []


def test_a_mirror_that_is_no_web_address_is_refused(cache, monkeypatch):
    monkeypatch.setenv("VAECP_DATA_URL", "ftp://example.org")
    with pytest.raises(DatasetError, match=r"VAECP_DATA_URL is 'ftp://example\.org': use"):
        locate("some", FILE)


def test_a_cache_that_cannot_be_written_is_named(mirror, cache):
    serve(mirror, CONTENT)
    cache.write_text("a file where the folder should be")
    with pytest.raises(DatasetError, match=r"table.txt cannot be written .* set VAECP_CACHE"):
        locate("some", FILE)


def test_the_users_own_folder_comes_first(mirror, cache, monkeypatch, tmp_path):
    own = tmp_path / "own"
    (own / "some").mkdir(parents=True)
    (own / "some/table.txt").write_bytes(CONTENT)
    monkeypatch.setenv("VAECP_DATA", str(own))
    assert locate("some", FILE) == own / "some/table.txt"
    assert mirror.requests == []


def test_a_folder_without_the_file_leads_on_to_the_download(mirror, cache, monkeypatch, tmp_path):
    serve(mirror, CONTENT)
    monkeypatch.setenv("VAECP_DATA", str(tmp_path))
    assert locate("some", FILE) == cache / "some/table.txt"


def test_a_wrong_file_in_the_users_own_folder_is_named_and_not_replaced(
    mirror, cache, monkeypatch, tmp_path
):
    (tmp_path / "some").mkdir()
    wrong = tmp_path / "some/table.txt"
    wrong.write_bytes(b"mine")
    monkeypatch.setenv("VAECP_DATA", str(tmp_path))
    found = hashlib.sha256(b"mine").hexdigest()
    with pytest.raises(DatasetError, match=f"{wrong} has the SHA-256 {found}, but the published"):
        locate("some", FILE)
    assert wrong.read_bytes() == b"mine"
    assert mirror.requests == []


def test_fetch_names_the_dataset_and_the_address_that_failed(mirror, cache):
    address = datasets.info("amino").files[0].address
    mirror.pages[f"/{address}"] = (b"not the spectra", 15)
    with pytest.raises(DatasetError, match=f"dataset 'amino': http://127.0.0.1:.*/{address}: what"):
        datasets.fetch("amino")


def test_a_folder_that_another_process_has_just_made_is_no_failure(mirror, cache, monkeypatch):
    serve(mirror, CONTENT)

    def taken(path, *rest, **more):
        raise FileExistsError(17, "File exists", str(path))

    monkeypatch.setattr("pooch.core.os.makedirs", taken)
    assert locate("some", FILE).read_bytes() == CONTENT


def test_downloads_at_the_same_time_all_succeed(mirror, cache):
    serve(mirror, CONTENT)
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(locate("some", FILE).read_bytes()))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [CONTENT] * 8
