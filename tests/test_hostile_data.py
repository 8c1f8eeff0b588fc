"""Data files that are foreign, damaged or hostile: refused before they are parsed, quickly, and with little memory."""

import functools
import gzip
import inspect
import io
import lzma
import os
import pickle
import shutil
import tarfile
import time
import tracemalloc
import zipfile

import numpy as np
import pytest
import test_datasets as kit
from numpy.testing import assert_allclose, assert_array_equal
from scipy.io import savemat
from sklearn.datasets import fetch_olivetti_faces
from test_datasets import mat, npz, sha256, tar_gz, write_files

from gplvm_edu import datasets
from gplvm_edu.datasets import DataCorruptError, DataUnavailableError, contents, digits, fetch, loaders

no_outer_world, server = kit.no_outer_world, kit.server  # their fixtures are ours
oil_files, usps_expected = kit.oil_files, kit.usps_expected
bad_input = pytest.mark.bad_input
as_root = hasattr(os, "geteuid") and os.geteuid() == 0
SECONDS, MEMORY = 5.0, 70e6  # on a busy machine, and the largest of the limits and a little more

LOADERS = {
    "oil_flow/DataTrn.txt": datasets.load_oil_flow,
    "oil_flow/DataTrnFrctns.txt": datasets.load_oil_flow,
    "oil_flow/DataTrnLbls.txt": datasets.load_oil_flow,
    "usps/usps.npz": datasets.load_usps,
    "mnist/mnist.npz": datasets.load_mnist,
    "olivetti/olivettifaces.mat": datasets.load_olivetti,
    "newsgroups/20news_w100.mat": datasets.load_newsgroups,
    "frey_faces/frey_rawface.mat": datasets.load_frey_faces,
}
VOUCHED = {place: load for place, load in LOADERS.items() if not place.startswith(("oil_flow", "usps"))}
by_url = pytest.mark.parametrize(
    "load", [datasets.load_oil_flow, datasets.load_frey_faces, datasets.load_newsgroups], ids=lambda load: load.__name__
)


class Payload:
    """What leaves a trace when it is unpickled."""

    def __init__(self, trace):
        self.trace = str(trace)

    def __reduce__(self):
        return os.mkdir, (self.trace,)


def zipped(**members):
    with zipfile.ZipFile(stream := io.BytesIO(), "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)
    return stream.getvalue()


def bomb_mat(**variables):
    savemat(stream := io.BytesIO(), variables, do_compression=True)
    return stream.getvalue()


def npy_header(shape):
    np.lib.format.write_array_header_1_0(
        stream := io.BytesIO(), {"shape": shape, "fortran_order": False, "descr": "<f8"}
    )
    return stream.getvalue()


def hostile(kind, trace):
    """Bytes of one kind; `trace` is the folder that a pickle would make."""
    if kind == "a pickle":
        return pickle.dumps(Payload(trace))
    if kind == "pickled arrays":
        return npz(**dict.fromkeys(digits.USPS_KEYS + digits.MNIST_KEYS, np.array([Payload(trace)], dtype=object)))
    return made(kind)


@functools.cache
def made(kind):
    rng = np.random.default_rng(0)
    return {
        "empty": lambda: b"",
        "random bytes": lambda: rng.bytes(200_000),
        "zero bytes": lambda: bytes(200_000),
        "a page of HTML": lambda: b"<!DOCTYPE html><html><body>404</body></html>" * 20,
        "truncated gzip": lambda: gzip.compress(rng.bytes(100_000))[:50_000],
        "a gzip bomb": lambda: gzip.compress(bytes(200_000_000), 1),
        "a zip bomb": lambda: zipped(**dict.fromkeys(digits.USPS_KEYS + digits.MNIST_KEYS, bytes(8_000_000))),
        "a MATLAB bomb": lambda: bomb_mat(ff=np.zeros((560, 1965, 3)), faces=np.zeros((4096, 400, 2))),
        "a huge array that is not there": lambda: zipped(
            **dict.fromkeys(digits.USPS_KEYS + digits.MNIST_KEYS, npy_header((10**7, 10**4)))
        ),
        "one number very often": lambda: b"1 " * 400_000,
    }[kind]()


KINDS = [
    "empty",
    "random bytes",
    "zero bytes",
    "a page of HTML",
    "a pickle",
    "pickled arrays",
    "truncated gzip",
    "a gzip bomb",
    "a zip bomb",
    "a MATLAB bomb",
    "a huge array that is not there",
    "one number very often",
]


def refusal(load, error=DataCorruptError, **options):
    """The words with which a loader refuses, which it does soon and with little memory."""
    tracemalloc.start()
    began = time.perf_counter()
    try:
        with pytest.raises(error) as caught:
            load(**options)
        assert time.perf_counter() - began < SECONDS
        assert tracemalloc.get_traced_memory()[1] < MEMORY
    finally:
        tracemalloc.stop()
    return str(caught.value)


def put(folder, place, content):
    path = folder / place
    write_files(path.parent, {path.name: content})
    return path


@pytest.fixture
def folder(tmp_path, monkeypatch, oil_files):
    """The local data folder, with the oil flow in it."""
    write_files(tmp_path / "data" / "oil_flow", oil_files[1])
    monkeypatch.setenv("GPLVM_EDU_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


# -------------------------------------------------------------------------------- what is known
def test_every_file_has_its_limits_and_all_but_two_have_a_hash():
    names = {place.split("/")[1] for place in LOADERS} | {"3PhData.tar.gz"}
    assert names == set(contents.FILES)
    assert all(1 < file.limit <= 60e6 and file.limit <= file.unpacked <= 60e6 for file in contents.FILES.values())
    assert {name for name, file in contents.FILES.items() if not file.hashes} == {"3PhData.tar.gz", "20news_w100.mat"}
    for kind, number in (known.split(":") for file in contents.FILES.values() for known in file.hashes):
        assert len(number) == {"sha256": 64, "sha1": 40}[kind] and int(number, 16) > 0


@pytest.mark.oracle
def test_the_hash_of_the_olivetti_faces_is_that_of_scikit_learn():
    theirs = inspect.getsource(inspect.getmodule(fetch_olivetti_faces))
    (known,) = contents.FILES["olivettifaces.mat"].hashes
    assert f'checksum="{known.removeprefix("sha256:")}"' in theirs


@pytest.mark.real
@pytest.mark.parametrize("place", [place for place in LOADERS if place not in VOUCHED])
def test_real_files_are_recognised_by_their_bytes(place):
    path = os.path.join(os.environ["GPLVM_EDU_DATA"], place)
    file = contents.FILES[os.path.basename(path)]
    assert contents.recognised(contents.read_bytes(path, file.limit), file.hashes)


# -------------------------------------------------------------------------------- the local folder
@bad_input
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("place", list(LOADERS))
def test_a_hostile_file_is_refused_by_name_soon_and_unread(folder, tmp_path, place, kind):
    path = put(folder, place, content := hostile(kind, tmp_path / "trace"))
    words = refusal(LOADERS[place])
    assert str(path) in words and "Replace it by a good copy" in words and "Appendix B" in words
    assert not (tmp_path / "trace").exists() and path.read_bytes() == content


@bad_input
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("place", list(VOUCHED))
def test_a_hostile_file_is_refused_even_if_somebody_vouches_for_it(folder, tmp_path, place, kind):
    path = put(folder, place, content := hostile(kind, tmp_path / "trace"))
    words = refusal(LOADERS[place], sha256=sha256(content))
    assert f"{path} is damaged or not what it should be" in words
    assert not (tmp_path / "trace").exists()


@bad_input
@pytest.mark.parametrize("place", list(LOADERS))
def test_a_file_that_is_too_large_is_not_read(folder, monkeypatch, place):
    path = put(folder, place, b"1")
    with open(path, "r+b") as file:
        file.truncate(10**10)  # takes no room on the disk
    words = refusal(LOADERS[place])
    assert (
        f"it has 10,000,000,000 bytes, and the file that it should be at most {contents.FILES[path.name].limit:,}"
        in words
    )


@bad_input
@pytest.mark.parametrize("place", list(LOADERS))
def test_a_folder_or_a_broken_link_in_the_place_of_a_file_is_named(folder, place):
    path = put(folder, place, b"1")
    path.unlink()
    path.mkdir()
    assert f"{path} is not a plain file" in refusal(LOADERS[place], DataUnavailableError)
    path.rmdir()
    try:
        path.symlink_to(folder / "nowhere")
    except OSError:  # Windows asks for a privilege
        return
    assert f"{path} is not a plain file" in refusal(LOADERS[place], DataUnavailableError)


@bad_input
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
@pytest.mark.parametrize("place", list(LOADERS))
def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(folder, place):
    path = put(folder, place, b"1")
    path.unlink()
    os.mkfifo(path)
    assert f"{path} is not a plain file" in refusal(LOADERS[place], DataUnavailableError)
    with pytest.raises(DataUnavailableError, match="is not a plain file"):
        contents.read_bytes(path, 10)


@bad_input
@pytest.mark.parametrize(
    "really", [pytest.param(True, marks=pytest.mark.skipif(as_root, reason="root may all")), False]
)
@pytest.mark.parametrize("place", list(LOADERS))
def test_a_file_that_we_may_not_read_is_named(folder, monkeypatch, place, really):
    path = put(folder, place, b"1")
    if really:
        path.chmod(0)
    else:

        def refuse(name, *options):
            raise PermissionError(13, "Permission denied", str(name))

        monkeypatch.setattr(contents, "open", refuse, raising=False)
    words = refusal(LOADERS[place], DataUnavailableError)
    assert "can't be read (PermissionError: Permission denied)" in words and str(path.parent) in words
    assert path.exists()


# -------------------------------------------------------------------------------- right shape, random numbers
def random_numbers(place):
    """A file whose form is right in all, and whose numbers are drawn at random."""
    rng = np.random.default_rng(1)
    name = place.split("/")[1]
    if name.endswith(".txt"):
        n_columns, low, high = loaders.OIL_FLOW_FILES[name]
        np.savetxt(stream := io.StringIO(), rng.uniform(low, high, size=(1000, n_columns)), fmt="%16.7e")
        return stream.getvalue().encode()
    if name == "mnist.npz":
        arrays = kit.mnist_arrays()
        arrays["x_test"] = rng.integers(256, size=arrays["x_test"].shape, dtype=np.uint8)
        return npz(**arrays)
    return {
        "usps.npz": lambda: npz(**kit.usps_arrays()),
        "olivettifaces.mat": lambda: mat(faces=rng.integers(256, size=(4096, 400), dtype=np.uint8)),
        "20news_w100.mat": kit.newsgroups_mat,
        "frey_rawface.mat": lambda: mat(ff=rng.integers(256, size=(560, 1965), dtype=np.uint8)),
    }[name]()


@bad_input
@pytest.mark.parametrize("place", [place for place in LOADERS if place not in VOUCHED])
def test_random_numbers_of_the_right_form_do_not_have_the_fingerprint(folder, place):
    path = put(folder, place, random_numbers(place))
    words = refusal(LOADERS[place])
    assert str(path) in words and "not the published ones: fingerprint" in words


long_mnist = [pytest.param(place, marks=[pytest.mark.long] * ("mnist" in place)) for place in VOUCHED]


@bad_input
@pytest.mark.parametrize("place", long_mnist)
def test_random_numbers_of_the_right_form_are_accepted_on_purpose_only(folder, monkeypatch, place):
    path, load = put(folder, place, content := random_numbers(place)), LOADERS[place]
    with monkeypatch.context() as patched:  # an unknown file reaches no parser
        patched.setattr(contents, "read_mat", None)
        patched.setattr(contents.scipy_io, "loadmat", None)
        patched.setattr(contents.zipfile, "ZipFile", None)
        words = refusal(load)
    expected = contents.FILES[path.name].hashes
    for part in (
        f"{path} was not parsed: its SHA-256 is {sha256(content)}",
        f"expected {expected[0]}" if expected else "no hash of the published file is known",
        f'accept it on purpose: {load.__name__}(sha256="{sha256(content)}")',
        f"GPLVM_EDU_SHA256={sha256(content)}",
    ):
        assert part in words
    assert "was not parsed" in refusal(load, sha256=sha256(content + b"0"))
    part = {"split": "test"} if "mnist" in place else {}
    accepted = load(sha256=sha256(content).upper(), **part)
    monkeypatch.setenv("GPLVM_EDU_SHA256", f"{'0' * 64}, {sha256(content)}")
    assert_array_equal(load(**part).data, accepted.data)
    monkeypatch.setenv("GPLVM_EDU_SHA256", f"{'0' * 64} nonsense")
    refusal(load)


@pytest.mark.parametrize("kind", ["sha256", "sha1"])
def test_a_file_whose_hash_is_known_needs_nobody_to_vouch_for_it(folder, monkeypatch, kind):
    path = put(folder, "frey_faces/frey_rawface.mat", content := kit.frey_mat())
    known = f"{kind}:{contents.hashlib.new(kind, content).hexdigest()}"
    monkeypatch.setitem(contents.FILES, path.name, contents.FILES[path.name]._replace(hashes=("sha256:0", known)))
    assert datasets.load_frey_faces().data.shape == (1965, 560)
    put(folder, "frey_faces/frey_rawface.mat", content[:-1])
    assert f"expected sha256:0 or {known}" in refusal(datasets.load_frey_faces)


@bad_input
@pytest.mark.parametrize("wrong", ["", "abc", "g" * 64, "0" * 63, 64 * "0" + "\n", 7, True, ["0" * 64], b"0" * 64])
@pytest.mark.parametrize("load", list(VOUCHED.values()), ids=lambda load: load.__name__)
def test_what_is_no_sha256_is_refused_before_anything_is_looked_for(load, wrong):
    with pytest.raises(ValueError, match="sha256 must be None, or the 64 hexadecimal digits"):
        load(sha256=wrong)


@bad_input
@pytest.mark.parametrize("form", ["(4096, 399)", "transposed", "a cube", "one number"])
def test_another_shape_is_refused_even_if_somebody_vouches_for_it(folder, form):
    faces = np.random.default_rng(0).integers(256, size=(4096, 400), dtype=np.uint8)
    changed = {"(4096, 399)": faces[:, 1:], "transposed": faces.T, "a cube": faces.reshape(64, 64, 400)}.get(form, 3)
    put(folder, "olivetti/olivettifaces.mat", content := mat(faces=changed))
    assert "has shape" in refusal(datasets.load_olivetti, sha256=sha256(content))


# -------------------------------------------------------------------------------- the same numbers, written otherwise
def test_the_same_numbers_written_or_packed_in_another_way_are_known_by_their_fingerprint(
    folder, oil_files, usps_expected
):
    for name, text in oil_files[1].items():
        put(folder, f"oil_flow/{name}", text.replace(b"\n", b"\r\n").replace(b"   ", b"\t"))
    assert_allclose(datasets.load_oil_flow().data, oil_files[0].data, atol=5.1e-5)
    wide = {key: A.astype(float if "images" in key else int) for key, A in usps_expected.items()}
    np.savez_compressed(stream := io.BytesIO(), **wide)
    for content in (stream.getvalue(), npz(**wide)):
        put(folder, "usps/usps.npz", content)
        assert_array_equal(datasets.load_usps("test").data, usps_expected["test_images"])


# -------------------------------------------------------------------------------- archives
def tar(*members):
    """A gzipped tar archive of (name, bytes, changes of its header)."""
    with tarfile.open(fileobj=(stream := io.BytesIO()), mode="w:gz") as archive:
        for name, content, changes in members:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            for key, value in changes.items():
                setattr(info, key, value)
            archive.addfile(info, io.BytesIO(content))
    return stream.getvalue()


def test_names_that_climb_out_of_an_archive_lead_nowhere(oil_files, server, tmp_path):
    texts = oil_files[1]
    names = ("../../DataTrn.txt", "/DataTrnFrctns.txt", "a/../../../DataTrnLbls.txt")
    climbing = [(name, text, {}) for name, text in zip(names, texts.values(), strict=True)]
    server.files["3PhData.tar.gz"] = tar(("../outside.txt", b"0", {}), *climbing)
    before = {path for path in tmp_path.rglob("*") if "cache" not in path.parts}
    assert datasets.load_oil_flow(base_url=server.url).data.shape == (1000, 12)
    assert {path for path in tmp_path.rglob("*") if "cache" not in path.parts} == before
    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["3PhData.tar.gz"]
    assert not os.path.exists("/DataTrnFrctns.txt") and not (tmp_path.parent / "DataTrn.txt").exists()


def bad_archive(kind):
    texts = kit.oil_tables()[2]
    good = [(name, text, {}) for name, text in texts.items()]
    link = {"type": tarfile.SYMTYPE, "linkname": "/etc/passwd"}
    plain = gzip.decompress(tar_gz(texts))
    return {
        "a gzip bomb": lambda: (gzip.compress(b"1 " * 100_000_000, 1), "unpacks to more than 8,000,000 bytes"),
        "a member that is too large": lambda: (
            tar(("DataTrn.txt", b"1 " * 600_000, {}), *good[1:]),
            "unpacks to more than 1,000,000 bytes",
        ),
        "a link in the place of a file": lambda: (tar(("DataTrn.txt", b"", link), *good[1:]), "lacks DataTrn.txt"),
        "a file full of holes": lambda: (
            tar(("DataTrn.txt", b"", {"type": tarfile.GNUTYPE_SPARSE}), *good[1:]),
            "lacks DataTrn.txt|ReadError|InvalidHeader",
        ),
        "too many files": lambda: (tar(*[(f"{k}.txt", b"", {}) for k in range(300)], *good), "lacks DataTrn.txt"),
        "packed by another program": lambda: (lzma.compress(plain), "ReadError"),
        "truncated": lambda: (tar_gz(texts)[:-5000], "EOFError"),
        "random bytes": lambda: (np.random.default_rng(0).bytes(10_000), "ReadError"),
        "larger than the limit": lambda: (
            tar(*good, ("x", np.random.default_rng(0).bytes(2_100_000), {})),
            "sends more",
        ),
    }[kind]()


@bad_input
@pytest.mark.parametrize(
    "kind",
    [
        "a gzip bomb",
        "a member that is too large",
        "a link in the place of a file",
        "a file full of holes",
        "too many files",
        "packed by another program",
        "truncated",
        "random bytes",
        "larger than the limit",
    ],
)
def test_a_hostile_archive_is_refused_soon_and_leaves_the_cache(oil_files, server, tmp_path, kind):
    server.files["3PhData.tar.gz"], words = bad_archive(kind)
    found = refusal(datasets.load_oil_flow, (DataCorruptError, DataUnavailableError), base_url=server.url)
    assert "3PhData.tar.gz" in found and any(word in found for word in words.split("|"))
    assert list((tmp_path / "cache").iterdir()) == []


def test_an_archive_that_the_server_has_unpacked_is_read_too(oil_files, server):
    server.files["3PhData.tar.gz"] = gzip.decompress(tar_gz(oil_files[1]))
    assert datasets.load_oil_flow(base_url=server.url).data.shape == (1000, 12)


# -------------------------------------------------------------------------------- addresses
@by_url
def test_our_own_addresses_are_https(load):
    assert load.__defaults__[load.__code__.co_varnames.index("base_url") - load.__code__.co_argcount].startswith(
        "https://"
    )


@bad_input
@by_url
@pytest.mark.parametrize("scheme", ["http://", "HTTP://", "ftp://", "file:///", "//", "", "httpsx://"])
def test_an_address_that_is_not_https_is_never_asked(load, scheme, monkeypatch, tmp_path):
    import requests

    monkeypatch.setattr(requests, "get", lambda *args, **options: pytest.fail("the address was asked"))
    words = refusal(load, DataUnavailableError, base_url=f"{scheme}example.org/data")
    for part in (f"{scheme}example.org/data is not an https address", "by hand", "FOLDER/", "GPLVM_EDU_DATA"):
        assert part in words
    assert not (tmp_path / "cache").exists()


@bad_input
@pytest.mark.parametrize("target", ["http://localhost:9/3PhData.tar.gz", "ftp://127.0.0.1/x", "//localhost:9/x"])
def test_a_server_that_leads_away_from_https_is_not_followed(server, tmp_path, target):
    server.files["3PhData.tar.gz"] = target
    words = refusal(datasets.load_oil_flow, DataUnavailableError, base_url=server.url)
    assert "is not an https address" in words and target.rsplit("/", 1)[0] in words
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_server_that_leads_to_a_safe_address_is_followed(oil_files, server):
    server.files.update({"3PhData.tar.gz": "/elsewhere/moved.tar.gz", "moved.tar.gz": tar_gz(oil_files[1])})
    assert datasets.load_oil_flow(base_url=server.url).data.shape == (1000, 12)
    assert server.asked == ["/data/3PhData.tar.gz", "/elsewhere/moved.tar.gz"]


@bad_input
def test_an_unknown_download_leaves_the_cache_and_one_that_was_there_stays(server, tmp_path):
    server.files["20news_w100.mat"] = content = kit.newsgroups_mat()
    cached = tmp_path / "cache" / "20news_w100.mat"
    assert "was removed from the cache" in refusal(datasets.load_newsgroups, base_url=server.url)
    assert not cached.exists()
    datasets.load_newsgroups(server.url, sha256(content))
    words = refusal(datasets.load_newsgroups, base_url=server.url)  # forgotten, not damaged
    assert "removed from the cache" not in words and cached.exists()
    datasets.load_newsgroups(server.url, sha256(content))
    assert len(server.asked) == 2
    shutil.rmtree(tmp_path / "cache")
    server.files["20news_w100.mat"] = content[:-1]
    assert "was not parsed" in refusal(datasets.load_newsgroups, base_url=server.url, sha256=sha256(content))
    assert not cached.exists()


def test_addresses_are_compared_without_regard_to_case():
    fetch.check_address("HTTPS://example.org")
    with pytest.raises(OSError, match="is not an https address"):
        fetch.check_address(None)
