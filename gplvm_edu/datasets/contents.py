"""The bytes of a data file: bounded, recognised by their hash, and only then parsed.

Every file is read once, up to its limit, and hashed; what is parsed are these very bytes. Archives are unpacked in
memory, up to a limit too. Nothing is ever unpickled.

A file is recognised if its hash is in `FILES`. Another one is refused unless somebody vouches for it: by the argument
`sha256` of a loader, or by the environment variable GPLVM_EDU_SHA256 (one or more hashes), which reaches commands too.
Only where the numbers have a fingerprint (oil flow, USPS) a file may be written or packed in another way: it is looked
at more closely before it is parsed, and the fingerprint decides.
"""

import gzip
import hashlib
import io
import math
import os
import re
import stat
import struct
import tarfile
import zipfile
import zlib
from inspect import signature
from itertools import islice
from pathlib import PurePosixPath
from typing import NamedTuple

import numpy as np
from scipy import io as scipy_io

from .. import checks
from .fetch import DataCorruptError, DataUnavailableError, UnknownFileError

HASH_VARIABLE = "GPLVM_EDU_SHA256"
MB = 10**6
MEMBERS = 200  # files in an archive that are looked at
COMPRESSED = 15  # type of a compressed element in a MATLAB file
# Sparse variables as arrays, not as matrices, where scipy lets us choose (an old one does not).
SPARSE = {"spmatrix": False} if "spmatrix" in signature(scipy_io.loadmat).parameters else {}


class DataFile(NamedTuple):
    """What is known of a file before it is read: how large it may be, packed and unpacked, and its hashes."""

    limit: int
    unpacked: int
    hashes: tuple[str, ...] = ()


FILES = {
    "3PhData.tar.gz": DataFile(2 * MB, 8 * MB),  # its members are recognised one by one
    "DataTrn.txt": DataFile(MB, MB, ("sha256:d93847ad0dbeef61c883aff0362ee980f3a50981c9bb40bcb0fb5ce04a2563ee",)),
    "DataTrnFrctns.txt": DataFile(MB, MB, ("sha256:967985273637883cdce87ba53a414d6e64012d6a088655a09447b2dc90e4fde1",)),
    "DataTrnLbls.txt": DataFile(MB, MB, ("sha256:50ad83b1ff99b3374b412e3063619a7fe817b93f9bfa06642a08c99cf2de6719",)),
    "usps.npz": DataFile(
        20 * MB, 20 * MB, ("sha256:82c13c3273a651826e96f38c930255a7f29320672143ae068fab44f02831c070",)
    ),
    # The file that Keras distributes, by the hash in its source.
    "mnist.npz": DataFile(
        60 * MB, 60 * MB, ("sha256:731c5ac602752760c8e48fbffcf8c3b850d9dc2a2aedcf2cc48468fc17b673d1",)
    ),
    # The file that scikit-learn downloads, by the hash in its source.
    "olivettifaces.mat": DataFile(
        20 * MB, 20 * MB, ("sha256:b612fb967f2dc77c9c62d3e1266e0c73d5fca46a4b8906c18e454d41af987794",)
    ),
    "20news_w100.mat": DataFile(20 * MB, 20 * MB),  # we found no published hash
    # The one published hash that we found, a SHA-1 of the file at the same address: acwooding/dimension_reduction.
    "frey_rawface.mat": DataFile(20 * MB, 20 * MB, ("sha1:32c4bc7a947721c46df32d4f4973f31daf5d3946",)),
}


# ------------------------------------------------------------------------------------------ reading
def read_bytes(path, limit) -> bytes:
    """The content of a plain file that is not larger than the limit; nothing of a larger one is read."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):  # a pipe would wait for ever, a folder has no bytes
            raise DataUnavailableError(f"{path} is not a plain file. Put the file itself into its place.")
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            content = file.read(limit + 1) if size <= limit else b""
    except DataUnavailableError:
        raise
    except OSError as error:
        raise DataUnavailableError(
            f"{path} can't be read ({type(error).__name__}: {error.strerror}). Let yourself read it, or move it away."
        ) from error
    if max(size, len(content)) > limit:
        raise DataCorruptError(
            f"it has {max(size, len(content)):,} bytes, and the file that it should be at most {limit:,}"
        )
    if not content:
        raise DataCorruptError("it is empty")
    return content


def read_recognised(path, name, loader, sha256=None) -> bytes:
    """The content of a file that is recognised by its hash, or that somebody vouches for; else an UnknownFileError.

    Parameters
    ----------
    path : path
    name : str
        Of the data file, one of `FILES`.
    loader : str
        Name of the function that has the argument `sha256`, for the advice.
    sha256 : str or None
        The hash that the file must have, in place of those that we know.
    """
    content = read_bytes(path, FILES[name].limit)
    expected = FILES[name].hashes if sha256 is None else (f"sha256:{sha256.lower()}",)
    if not recognised(content, (*expected, *vouched_for())):
        found = hashlib.sha256(content).hexdigest()
        known = f"expected {' or '.join(expected)}" if expected else "and no hash of the published file is known to us"
        raise UnknownFileError(
            f"its SHA-256 is {found}, {known}, so it may hold any numbers",
            f'If you know that it is the right file, accept it on purpose: {loader}(sha256="{found}"), or, for a '
            f"command, set {HASH_VARIABLE}={found} in the environment.",
        )
    return content


def look_closer(content, name, look):
    """Let `look` see the bytes before they are parsed, unless they are those of the published file."""
    if not recognised(content, FILES[name].hashes):
        look(content)


def recognised(content, hashes) -> bool:
    """Whether these bytes have one of the hashes, each written as "sha256:..." or "sha1:...".

    Examples
    --------
    >>> recognised(b"", ["sha1:da39a3ee5e6b4b0d3255bfef95601890afd80709"]), recognised(b"a", ["sha256:0"])
    (True, False)
    """
    pairs = [known.split(":") for known in hashes]
    return any(hashlib.new(kind, content).hexdigest() == digits for kind, digits in pairs)


def check_sha256(value):
    """Raise ValueError unless the argument `sha256` of a loader is None or the 64 hexadecimal digits of a SHA-256."""
    if value is not None and not (isinstance(value, str) and re.fullmatch("[0-9a-fA-F]{64}", value)):
        raise ValueError(
            f"sha256 must be None, or the 64 hexadecimal digits of a file's SHA-256, got {checks.shown(value)}. The "
            "error that refuses a file prints them."
        )


def vouched_for() -> list[str]:
    """The hashes in the environment variable GPLVM_EDU_SHA256, between spaces or commas."""
    return [f"sha256:{digits.lower()}" for digits in re.findall(r"[0-9a-fA-F]{64}", os.environ.get(HASH_VARIABLE, ""))]


# ------------------------------------------------------------------------------------------ unpacking
def check_unpacked(size, limit):
    """Raise DataCorruptError if what was, or would be, unpacked is larger than the limit."""
    if size > limit:
        raise DataCorruptError(f"it unpacks to more than {limit:,} bytes, which the file that it should be does not")


def archive_members(content, names, limit) -> dict[str, bytes]:
    """Bytes of the named files in a tar archive, gzipped or not, in whatever folder; nothing is written to disk."""
    if content.startswith(b"\x1f\x8b"):
        with gzip.open(io.BytesIO(content)) as packed:
            content = packed.read(limit + 1)
        check_unpacked(len(content), limit)
    with tarfile.open(fileobj=io.BytesIO(content), mode="r:") as archive:
        files = {PurePosixPath(m.name).name: m for m in islice(archive, MEMBERS) if m.isreg() and not m.issparse()}
        missing = [name for name in names if name not in files]
        if missing:
            there = ", ".join(sorted(files)) or "nothing"
            raise DataCorruptError(f"the archive holds {there}, but lacks {', '.join(missing)}")
        for name in names:
            check_unpacked(files[name].size, FILES[name].limit)
        return {name: archive.extractfile(files[name]).read() for name in names}  # type: ignore[union-attr]


def check_plain_numbers(content):
    """Raise DataCorruptError unless the bytes are a text of plain numbers.

    Examples
    --------
    >>> check_plain_numbers(b" 1.0 -2e-3")
    >>> check_plain_numbers(b"<html>")
    Traceback (most recent call last):
    gplvm_edu.datasets.fetch.DataCorruptError: it is neither the published file nor a table of plain numbers: b'<html>'
    """
    others = content.translate(None, b"0123456789+-.eE \t\r\n")
    if others:
        raise DataCorruptError(
            f"it is neither the published file nor a table of plain numbers: {checks.shown(content[:20])}"
        )


def read_table(content) -> np.ndarray:
    """Numbers of a text, one row a line."""
    return np.loadtxt(io.StringIO(content.decode("ascii")), ndmin=2)


def bounded_members(packed, limit):
    """The members of a zip archive, if they are few and together not larger than the limit."""
    members = packed.infolist()
    if len(members) > MEMBERS:
        raise DataCorruptError(f"it holds {len(members)} files, and the file that it should be a few")
    check_unpacked(sum(member.file_size for member in members), limit)
    return members


def check_npy_headers(content, limit):
    """Raise DataCorruptError if an array of an npz file says that it is larger than the limit, or is no plain array."""
    with zipfile.ZipFile(io.BytesIO(content)) as packed:
        for member in bounded_members(packed, limit):
            with packed.open(member) as file:
                if np.lib.format.read_magic(file) != (1, 0):
                    raise DataCorruptError(f"{member.filename} is no array that numpy writes")
                shape, _, dtype = np.lib.format.read_array_header_1_0(file)
            check_unpacked(math.prod(shape) * dtype.itemsize, limit)


def read_npz(content, keys, limit) -> list[np.ndarray]:
    """The named arrays of an npz file that is no larger unpacked than the limit."""
    with zipfile.ZipFile(io.BytesIO(content)) as packed:
        bounded_members(packed, limit)
    with np.load(io.BytesIO(content), allow_pickle=False) as archive:
        missing = [key for key in keys if key not in archive]
        if missing:
            there = ", ".join(archive) or "no array"
            raise DataCorruptError(f"it holds {there}, but lacks {', '.join(missing)}")
        return [archive[key] for key in keys]


def read_mat(content, names, limit) -> dict:
    """The named variables of a MATLAB file, and the others in it."""
    check_unpacked(unpacked_mat(content, limit), limit)
    variables = scipy_io.loadmat(io.BytesIO(content), squeeze_me=True, **SPARSE)
    missing = [name for name in names if name not in variables]
    if missing:
        there = ", ".join(name for name in variables if not name.startswith("__")) or "no variable"
        raise DataCorruptError(f"it holds {there}, but lacks {', '.join(missing)}")
    return variables


def unpacked_mat(content, limit) -> int:
    """Bytes of the variables of a MATLAB file when unpacked; where they exceed the limit, any number that does.

    Examples
    --------
    >>> scipy_io.savemat(file := io.BytesIO(), {"A": np.zeros(10**6)}, do_compression=True)
    >>> len(file.getvalue()) < 10_000, unpacked_mat(file.getvalue(), 10**7) > 8 * 10**6
    (True, True)
    """
    order = {b"IM": "<", b"MI": ">"}.get(content[126:128])
    position, size = 128, 0
    while order and position + 8 <= len(content) and size <= limit:
        kind, length = struct.unpack_from(order + "II", content, position)
        body = content[position + 8 : position + 8 + length]
        size += len(zlib.decompressobj().decompress(body, limit + 1)) if kind == COMPRESSED else len(body)
        position += 8 + length
    return size if order else len(content)
