"""Finding files, downloading them, and checking their contents.

A loader looks in the folder named by the environment variable GPLVM_EDU_DATA, else asks scikit-learn or pooch
for a cached download (pooch keeps it in the folder GPLVM_EDU_CACHE, if that is set), else raises
`DataUnavailableError`, which says what to do. Downloads come over https, and not more than their limit. Whatever
arrives is checked, its bytes by `contents` and its numbers here; what fails a check raises `DataCorruptError`, which
names the file.
"""

import hashlib
import os
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urljoin

import numpy as np

DATA_VARIABLE = "GPLVM_EDU_DATA"
CACHE_VARIABLE = "GPLVM_EDU_CACHE"
SAFE = ("https://",)  # how an address begins that we ask
TIMEOUT = 30  # seconds without an answer
TABLE = 'Appendix B, "Where each data set comes from", has the table of all data sets.'


class DataUnavailableError(FileNotFoundError):
    """The data set is neither in the local folder nor can it be downloaded; the message says what to do."""


class DataCorruptError(ValueError):
    """A file is truncated, damaged or something else; the message names it and says what was wrong."""


class UnknownFileError(DataCorruptError):
    """A file was not parsed, for nobody vouches for its hash; the message says how to accept it on purpose."""


# ------------------------------------------------------------------------------------------ finding
def data_folder() -> Path | None:
    """The folder named by GPLVM_EDU_DATA, None when that is not set; an error when it is no folder."""
    named = os.environ.get(DATA_VARIABLE)
    if not named:
        return None
    if not os.path.isdir(named):
        raise DataUnavailableError(
            f"The environment variable {DATA_VARIABLE} names {named!r}, which is not a folder. Set it to the "
            f"folder that holds oil_flow/, usps/ and so on, or unset it. {TABLE}"
        )
    return Path(named)


def local_files(subfolder, names):
    """Paths of the named files in the local data folder: all of them, or None when none is there.

    A folder that has some and lacks others is an error: a download would hide the gap.
    """
    folder = data_folder()
    paths = [] if folder is None else [folder / subfolder / name for name in names]
    present = [path for path in paths if os.path.lexists(path)]
    for path in present:
        if not os.path.isfile(path):
            raise DataUnavailableError(f"{path} is not a plain file. Put the file itself into its place. {TABLE}")
    if present and len(present) < len(paths):
        there = ", ".join(path.name for path in present)
        missing = ", ".join(path.name for path in paths if path not in present)
        raise DataUnavailableError(
            f"{folder / subfolder} has {there}, but lacks {missing}. Add what is missing, or take the rest "
            f"away to have all of it downloaded. {TABLE}"
        )
    return present or None


def download(name, base_url, limit) -> tuple[Path, str]:
    """Path of a file in pooch's cache, and "download" if it was fetched just now, "cache" if it was there.

    Raises OSError when the server can't be reached, sends too much or leads away from https; ImportError when pooch
    is not installed.
    """
    import pooch

    cache = Path(os.environ.get(CACHE_VARIABLE) or pooch.os_cache("gplvm_edu"))
    origin = "cache" if (cache / name).exists() else "download"
    if origin == "download":
        check_address(base_url)
    registry = pooch.create(path=cache, base_url=base_url.rstrip("/") + "/", registry={name: None})
    return Path(registry.fetch(name, downloader=bounded_downloader(limit))), origin


def bounded_downloader(limit):
    """What pooch calls to fetch a file: it stops where more than `limit` bytes come, and follows https only."""

    def fetch(url, output_file, _pooch):
        import requests

        headers, hooks = {"Accept-Encoding": "identity"}, {"response": check_redirection}
        with (
            requests.get(url, stream=True, timeout=TIMEOUT, headers=headers, hooks=hooks) as response,
            open(output_file, "wb") as file,
        ):
            response.raise_for_status()
            for chunk in response.iter_content(2**14):
                if file.tell() + len(chunk) > limit:
                    raise OSError(f"it sends more than {limit:,} bytes, so it is not the file that we want")
                file.write(chunk)

    return fetch


def check_address(url):
    """Raise OSError unless the address is one of https, where nobody on the way can change what comes.

    Examples
    --------
    >>> check_address("http://example.org/data")
    Traceback (most recent call last):
    ...
    OSError: http://example.org/data is not an https address, and what comes otherwise can be changed on its way
    """
    if not str(url).lower().startswith(SAFE):
        raise OSError(f"{url} is not an https address, and what comes otherwise can be changed on its way")


def check_redirection(response, **_options):
    """Look where a server sends us, before we go there."""
    if response.is_redirect:
        check_address(urljoin(response.url, response.headers["location"]))


def find_or_download(title, subfolder, names, archive, base_url, limit):
    """Local paths of the named files, else the path of the downloaded archive; returns (paths, origin)."""
    paths = local_files(subfolder, names)
    if paths:
        return paths, "file"
    address = f"{str(base_url).rstrip('/')}/{archive}"
    advice = f"download {address} by hand"
    try:
        path, origin = download(archive, base_url, limit)
        return [path], origin
    except ImportError as error:
        reason = 'downloads need the package pooch: pip install "gplvm_edu[data]"'
        raise unavailable(title, subfolder, names, reason, advice) from error
    except OSError as error:
        reason = f"the download of {address} failed ({type(error).__name__}: {error})"
        raise unavailable(title, subfolder, names, reason, advice) from error


def from_scikit_learn(title, subfolder, names, fetch, **options):
    """Call one of scikit-learn's fetchers; its failure becomes an error that says what to do instead."""
    try:
        return fetch(**options)
    except OSError as error:
        reason = f"scikit-learn's {fetch.__name__} failed ({type(error).__name__}: {error})"
        raise unavailable(title, subfolder, names, reason, "get the file elsewhere") from error
    except ValueError as error:
        raise DataCorruptError(
            f"scikit-learn's {fetch.__name__} refused what it got for the {title}: {error}. {ADVICE['scikit-learn']}"
        ) from error


def unavailable(title, subfolder, names, reason, advice) -> DataUnavailableError:
    """The error for data that were not found: what was tried, and what to do."""
    folder = os.environ.get(DATA_VARIABLE)
    place = f"{folder}/{subfolder}" if folder else f"FOLDER/{subfolder}"
    setting = f"it is {folder}" if folder else "it is not set; make it FOLDER"
    return DataUnavailableError(
        f"The {title} can't be loaded: {reason}. Without a download: {advice}, put {', '.join(names)} into "
        f"{place}, and let the environment variable {DATA_VARIABLE} name the outer folder ({setting}). "
        f"{TABLE}"
    )


# ------------------------------------------------------------------------------------------ checking
def fingerprint(array, decimals=0) -> str:
    """SHA-256 of an array that is the same on every platform.

    The values are multiplied by 10^decimals and rounded to whole numbers; what is hashed is the shape as text
    ("1000,12;"), then these numbers as little-endian 64-bit integers, last axis fastest. So neither the float
    type, nor the memory order, nor the last bit of a decimal fraction matters.

    Examples
    --------
    >>> A = np.array([[0.1, 0.2], [0.3, 0.4]])
    >>> fingerprint(A, decimals=1) == fingerprint(np.asfortranarray(A.astype(np.float32)), decimals=1)
    True
    >>> fingerprint(A, decimals=1) == fingerprint(A.T, decimals=1)
    False
    """
    array = np.asarray(array)
    whole = np.rint(array.astype(np.float64) * 10.0**decimals).astype("<i8")
    shape = ",".join(str(size) for size in array.shape) + ";"
    return hashlib.sha256(shape.encode() + whole.tobytes(order="C")).hexdigest()


def check_array(name, array, shape, low, high):
    """Raise DataCorruptError unless the array has this shape and its numbers fill most of [low, high].

    Examples
    --------
    >>> check_array("faces", np.array([[0, 1]]), (1, 2), 0, 255)
    Traceback (most recent call last):
    gplvm_edu.datasets.fetch.DataCorruptError: faces ranges from 0 to 1, expected 0 to 255
    """
    array = np.asarray(array)
    if array.shape != shape:
        raise DataCorruptError(f"{name} has shape {array.shape}, expected {shape}")
    if array.dtype.kind not in "uif":
        raise DataCorruptError(f"{name} holds {array.dtype}, expected numbers")
    if not np.isfinite(array).all():
        raise DataCorruptError(f"{name} holds NaN or infinity")
    least, most = float(array.min()), float(array.max())
    if least < low or most > high or most - least < 0.6 * (high - low):
        raise DataCorruptError(f"{name} ranges from {least:g} to {most:g}, expected {low:g} to {high:g}")


def check_fingerprint(name, array, decimals, expected):
    """Raise DataCorruptError unless the array is, to so many decimals, the one that was fingerprinted."""
    found = fingerprint(array, decimals)
    if found != expected:
        raise DataCorruptError(
            f"{name} has the right shape, but its numbers are not the published ones: "
            f"fingerprint {found[:12]}..., expected {expected[:12]}..."
        )


def check_counts(name, target, expected):
    """Raise DataCorruptError unless the classes 0, 1, 2, ... occur as often as expected."""
    found = np.bincount(target, minlength=len(expected)).tolist()
    if found != list(expected):
        raise DataCorruptError(f"{name} has {found} rows of the classes 0, 1, 2, ..., expected {list(expected)}")


ADVICE = {
    "file": "Replace it by a good copy, or remove it to have it downloaded.",
    "download": "It was removed from the cache: call again to fetch it anew, or put a good copy into the "
    f"folder named by {DATA_VARIABLE}.",
    "scikit-learn": "Empty scikit-learn's cache (sklearn.datasets.clear_data_home()) and call again.",
}
ADVICE["cache"] = ADVICE["download"]


@contextmanager
def reading(path, origin="file"):
    """Turn what goes wrong while a file is parsed and checked into a DataCorruptError that names the file.

    A download that fails is removed from the cache, so that the next call fetches it again; one that is there already,
    and that nobody vouches for this time, stays.
    """
    try:
        yield
    except DataUnavailableError:
        raise
    except UnknownFileError as error:
        why, how = error.args
        if origin == "download":
            Path(path).unlink(missing_ok=True)
        advice = ADVICE["file" if origin == "cache" else origin]
        raise UnknownFileError(f"{path} was not parsed: {why}. {advice} {how} {TABLE}") from error
    except Exception as error:  # a parser may raise any error on damaged bytes
        problem = str(error) if isinstance(error, DataCorruptError) else f"{type(error).__name__}: {error}"
        if origin in ("download", "cache"):
            Path(path).unlink(missing_ok=True)
        raise DataCorruptError(
            f"{path} is damaged or not what it should be: {problem.rstrip('.')}. {ADVICE[origin]} {TABLE}"
        ) from error
