"""Oil flow, faces and newsgroups of the papers: from a local folder, else by download, checked on arrival.

Each loader returns a `Dataset`. Appendix B, "Where each data set comes from", has the table of files and
addresses; `digits` has USPS and MNIST.
"""

import numpy as np
from sklearn import datasets as sklearn_datasets

from .. import checks
from .contents import (
    FILES,
    archive_members,
    check_plain_numbers,
    check_sha256,
    look_closer,
    read_bytes,
    read_mat,
    read_recognised,
    read_table,
)
from .dataset import Dataset
from .fetch import (
    DataCorruptError,
    check_array,
    check_fingerprint,
    find_or_download,
    from_scikit_learn,
    local_files,
    reading,
)
from .pipe import BEAM_NAMES, CONFIGURATIONS, PHASES

OIL_FLOW_URL = "https://staffwww.dcs.shef.ac.uk/people/N.Lawrence/resources"
ROWEIS_URL = "https://cs.nyu.edu/~roweis/data"
# Columns and range of each file, and `fetch.fingerprint` of the parsed array: number of decimals, SHA-256.
OIL_FLOW_FILES = {"DataTrn.txt": (12, -0.5, 2.5), "DataTrnFrctns.txt": (2, 0.0, 1.0), "DataTrnLbls.txt": (3, 0.0, 1.0)}
FINGERPRINTS = {
    "DataTrn.txt": (4, "432769c2a899b8899c08bc82cec36c7adc7349ae5f391ed801d607a7c9225762"),
    "DataTrnFrctns.txt": (4, "b858a92bafd8b82fdbdaf4767ca55cea52681c55c2c6c1c8d5c09fdc00be9f71"),
    "DataTrnLbls.txt": (0, "d872449cfba85f2e1de3f5185beecd5206b60dfa4108344663f913256425c0c9"),
}


def load_oil_flow(subset=None, base_url=OIL_FLOW_URL) -> Dataset:
    """Bishop and James's three-phase oil flow: 1000 pipes, 12 measurements, 3 configurations.

    Parameters
    ----------
    subset : None or 100
        100 gives the points of the small experiments (see `oil_100_rows`).
    base_url : str
        Address, by https, of the folder that holds 3PhData.tar.gz.

    Returns
    -------
    Dataset
        As from `simulate_oil_flow`; extra["rows"] tells which of the 1000 rows these are.

    Notes
    -----
    Files: oil_flow/DataTrn.txt, DataTrnFrctns.txt and DataTrnLbls.txt in the folder GPLVM_EDU_DATA. Each is recognised
    by its hash or looked at more closely, and each parsed array is checked by its fingerprint.
    """
    checks.choice("subset", subset, (None, 100))
    archive = "3PhData.tar.gz"
    limit, unpacked, _ = FILES[archive]
    paths, origin = find_or_download("oil flow data", "oil_flow", OIL_FLOW_FILES, archive, base_url, limit)
    if origin == "file":
        data, fractions, one_hot = (local_oil_table(path) for path in paths)
    else:
        with reading(paths[0], origin):
            members = archive_members(read_bytes(paths[0], limit), list(OIL_FLOW_FILES), unpacked)
            data, fractions, one_hot = (oil_table(name, content) for name, content in members.items())
    rows = np.arange(1000) if subset is None else oil_100_rows()
    extra = {"fractions": fractions[rows], "phases": PHASES, "beams": BEAM_NAMES, "rows": rows}
    return Dataset(data[rows], one_hot.argmax(axis=1)[rows], CONFIGURATIONS, extra)


def local_oil_table(path):
    """One of the three tables of the oil flow data from its own file."""
    with reading(path):
        return oil_table(path.name, read_bytes(path, FILES[path.name].limit))


def oil_table(name, content):
    """One of the three tables from the bytes of its text."""
    n_columns, low, high = OIL_FLOW_FILES[name]
    look_closer(content, name, check_plain_numbers)
    table = read_table(content)
    check_array(name, table, (1000, n_columns), low, high)
    check_fingerprint(name, table, *FINGERPRINTS[name])
    return table


def oil_100_rows() -> np.ndarray:
    """The 100 rows, counted from 0, of the small oil flow experiments.

    The rule is GPy's: the first hundred of a permutation of 1000 by NumPy's legacy generator (whose stream is
    frozen) with seed 10000. Plain PCA leaves 20 nearest-neighbour errors on them.

    Examples
    --------
    >>> rows = oil_100_rows()
    >>> len(np.unique(rows)), int(rows.max()) < 1000
    (100, True)
    """
    return np.random.RandomState(10_000).permutation(1000)[:100]


def load_olivetti(sha256=None) -> Dataset:
    """Olivetti faces: ten pictures of each of 40 people, 64 x 64 pixels, grey levels from 0 to 1.

    Parameters
    ----------
    sha256 : str or None
        Of the local file, where it is not the one that scikit-learn downloads and you know that it is right.

    Returns
    -------
    Dataset
        data (400, 4096); target (400,): the person; extra: "image_shape".

    Notes
    -----
    File: olivetti/olivettifaces.mat in the folder GPLVM_EDU_DATA (array faces, 4096 x 400), recognised by its hash;
    else by scikit-learn, which verifies the checksum. Shape and range are checked. Van der Maaten used the larger
    originals (92 x 112).
    """
    check_sha256(sha256)
    paths = local_files("olivetti", ["olivettifaces.mat"])
    if paths:
        with reading(paths[0]):
            content = read_recognised(paths[0], "olivettifaces.mat", "load_olivetti", sha256)
            faces = read_mat(content, ["faces"], FILES["olivettifaces.mat"].unpacked)["faces"]
            check_array("faces", faces, (4096, 400), 0, 255)
        grey = faces.T.reshape(400, 64, 64).transpose(0, 2, 1).reshape(400, 4096).astype(np.float64)
        data = (grey - grey.min()) / (grey.max() - grey.min())
    else:
        bunch = from_scikit_learn(
            "Olivetti faces", "olivetti", ["olivettifaces.mat"], sklearn_datasets.fetch_olivetti_faces, shuffle=False
        )
        data = np.asarray(bunch.data, dtype=np.float64)
        with reading("scikit-learn's copy of the Olivetti faces", "scikit-learn"):
            check_array("data", data, (400, 4096), 0.0, 1.0)
    target = np.repeat(np.arange(40), 10)
    return Dataset(data, target, tuple(f"person {k}" for k in range(40)), {"image_shape": (64, 64)})


def load_newsgroups(base_url=ROWEIS_URL, sha256=None) -> Dataset:
    """20 newsgroups, as 100 binary words in 16 242 postings of four groups (Roweis's 20news_w100).

    Parameters
    ----------
    base_url : str
        Address, by https, of the folder that holds 20news_w100.mat.
    sha256 : str or None
        Of the file that you know to be right. None is known to us, so the first call refuses and prints it.

    Returns
    -------
    Dataset
        data (16242, 100): 1.0 where the word occurs; target (16242,); extra: "words".

    Notes
    -----
    File: newsgroups/20news_w100.mat in the folder GPLVM_EDU_DATA. Hash, shape, values and classes are checked.
    """
    check_sha256(sha256)
    name = "20news_w100.mat"
    limit, unpacked, _ = FILES[name]
    paths, origin = find_or_download("20 newsgroups data", "newsgroups", [name], name, base_url, limit)
    with reading(paths[0], origin):
        raw = read_recognised(paths[0], name, "load_newsgroups", sha256)
        content = read_mat(raw, ["documents", "newsgroups", "wordlist", "groupnames"], unpacked)
        documents, groups = content["documents"], np.atleast_1d(content["newsgroups"])
        if np.shape(documents) != (100, 16242):  # before a sparse array takes its full size
            raise DataCorruptError(f"documents has shape {np.shape(documents)}, expected (100, 16242)")
        documents = np.asarray(documents.toarray() if hasattr(documents, "toarray") else documents)
        check_array("documents", documents, (100, 16242), 0, 1)
        check_array("newsgroups", groups, (16242,), 1, 4)
        if not (np.isin(documents, (0, 1)).all() and np.array_equal(np.unique(groups), (1, 2, 3, 4))):
            raise DataCorruptError("documents must hold zeros and ones, newsgroups all of 1, 2, 3, 4")
        words, names = (tuple(str(w) for w in np.ravel(content[key])) for key in ("wordlist", "groupnames"))
        if (len(words), len(names)) != (100, 4):
            raise DataCorruptError(f"it holds {len(words)} words and {len(names)} groups, expected 100 and 4")
    return Dataset(documents.T.astype(np.float64), groups.astype(np.int64) - 1, names, {"words": words})


def load_frey_faces(base_url=ROWEIS_URL, sha256=None) -> Dataset:
    """Frey faces: 1965 frames of one filmed face in order of time, 28 x 20 pixels, grey levels from 0 to 255.

    Parameters
    ----------
    base_url : str
        Address, by https, of the folder that holds frey_rawface.mat.
    sha256 : str or None
        Of the file, where it is not the one that we know of and you know that it is right.

    Returns
    -------
    Dataset
        data (1965, 560); no target; extra: "image_shape".

    Notes
    -----
    File: frey_faces/frey_rawface.mat in the folder GPLVM_EDU_DATA (array ff, 560 x 1965). Hash, shape and range are
    checked.
    """
    check_sha256(sha256)
    name = "frey_rawface.mat"
    limit, unpacked, _ = FILES[name]
    paths, origin = find_or_download("Frey faces", "frey_faces", [name], name, base_url, limit)
    with reading(paths[0], origin):
        faces = read_mat(read_recognised(paths[0], name, "load_frey_faces", sha256), ["ff"], unpacked)["ff"]
        check_array("ff", faces, (560, 1965), 0, 255)
    return Dataset(faces.T.astype(np.float64), None, (), {"image_shape": (28, 20)})
