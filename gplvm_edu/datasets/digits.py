"""Handwritten digits, USPS and MNIST: from a local folder, else from OpenML, checked on arrival."""

import importlib.util

import numpy as np
from sklearn import datasets as sklearn_datasets

from .. import checks
from .contents import FILES, check_npy_headers, check_sha256, look_closer, read_bytes, read_npz, read_recognised
from .dataset import Dataset
from .fetch import (
    DataCorruptError,
    check_array,
    check_counts,
    check_fingerprint,
    from_scikit_learn,
    local_files,
    reading,
)

OPENML_USPS, OPENML_MNIST = 41082, 554
DIGITS = tuple("0123456789")
USPS_KEYS = ("train_images", "train_labels", "test_images", "test_labels")
MNIST_KEYS = ("x_train", "y_train", "x_test", "y_test")
# Sizes of the training and the test set, and how often each digit occurs in them.
USPS_SIZES, MNIST_SIZES = (7291, 2007), (60_000, 10_000)
USPS_COUNTS = ((1194, 1005, 731, 658, 652, 556, 664, 645, 542, 644), (359, 264, 198, 166, 200, 160, 170, 147, 166, 177))
MNIST_COUNTS = (
    (5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949),
    (980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009),
)
# `fetch.fingerprint` of each parsed array: number of decimals, SHA-256.
FINGERPRINTS = {
    "train images": (4, "606cbd0d4facec693173e399c992113ff98b8c14dff327e04290a9093657cd28"),
    "train labels": (0, "6211fb48a3bffd06e33656b9573d269a3f4e24dd9eaac93f7f72ded22de39559"),
    "test images": (4, "edebb1063ca2af13594c2da94dee6ef59b2e16151a02e37c5bce76ecf4d30d1e"),
    "test labels": (0, "c5c18485185d148b429c79cb088cdcbf5808a9e2e0edea295073b33c1ddc1bc3"),
}


def load_usps(split=None) -> Dataset:
    """USPS: 9298 handwritten digits of 16 x 16 pixels, grey levels from 0 (paper) to 1 (ink).

    Parameters
    ----------
    split : None, "train" (7291 digits) or "test" (2007)

    Returns
    -------
    Dataset
        extra: "image_shape" and "is_train" (n,).

    Notes
    -----
    File: usps/usps.npz in the folder GPLVM_EDU_DATA (arrays train_images, train_labels, test_images and test_labels),
    recognised by its hash or looked at more closely, and checked by fingerprints. Else OpenML's copy by scikit-learn,
    which verifies its checksum; if its grey levels are not the published ones, for example because they were rounded,
    but shape, range and labels are right, it is used with a warning.
    """
    checks.choice("split", split, (None, "train", "test"))
    paths = local_files("usps", ["usps.npz"])
    if paths:
        with reading(paths[0]):
            content = read_bytes(paths[0], FILES["usps.npz"].limit)
            images, labels = read_digits(content, "usps.npz", USPS_KEYS)
            check_digits(images, labels, USPS_SIZES, 256, USPS_COUNTS, 1.0)
            check_usps_fingerprints("labels", labels)
            check_usps_fingerprints("images", images)
    else:
        images, labels = openml_digits("USPS digits", "usps", "usps.npz", OPENML_USPS, USPS_SIZES[0])
        with reading(f"OpenML's data set {OPENML_USPS}", "scikit-learn"):  # levels from -1, labels from 1
            images, labels = [0.5 * (A + 1.0) for A in images], [t - 1 for t in labels]
            check_digits(images, labels, USPS_SIZES, 256, USPS_COUNTS, 1.0)
            check_usps_fingerprints("labels", labels)
        try:
            check_usps_fingerprints("images", images)
        except DataCorruptError as problem:
            checks.warn(f"USPS from OpenML: {problem}. Shape, range and labels are right.")
    return join_digits([np.asarray(A, dtype=np.float64) for A in images], labels, split, (16, 16))


def load_mnist(split=None, sha256=None) -> Dataset:
    """MNIST: 70 000 handwritten digits of 28 x 28 pixels, grey levels from 0 to 1 (float32, to spare memory).

    Parameters
    ----------
    split : None, "train" (60 000 digits) or "test" (10 000)
    sha256 : str or None
        Of the local file, where it is not the one that Keras distributes and you know that it is right.

    Notes
    -----
    A `Dataset` as from `load_usps`. File: mnist/mnist.npz in the folder GPLVM_EDU_DATA (arrays x_train, y_train, x_test
    and y_test of uint8), recognised by its hash; else OpenML's copy by scikit-learn, which verifies its checksum.
    Shape, range and the size of every class are checked.
    """
    checks.choice("split", split, (None, "train", "test"))
    check_sha256(sha256)
    paths = local_files("mnist", ["mnist.npz"])
    if paths:
        with reading(paths[0]):
            content = read_recognised(paths[0], "mnist.npz", "load_mnist", sha256)
            images, labels = read_digits(content, "mnist.npz", MNIST_KEYS)
            check_digits(images, labels, MNIST_SIZES, 784, MNIST_COUNTS, 255)
    else:
        images, labels = openml_digits("MNIST digits", "mnist", "mnist.npz", OPENML_MNIST, MNIST_SIZES[0])
        with reading(f"OpenML's data set {OPENML_MNIST}", "scikit-learn"):
            check_digits(images, labels, MNIST_SIZES, 784, MNIST_COUNTS, 255)
    return join_digits([A.astype(np.float32) / np.float32(255) for A in images], labels, split, (28, 28))


def read_digits(content, name, keys):
    """Images of the training and the test set, one row each, and their labels: four arrays of an npz file."""
    limit = FILES[name].unpacked
    look_closer(content, name, lambda content: check_npy_headers(content, limit))
    train, train_labels, test, test_labels = read_npz(content, keys, limit)
    return [A.reshape(len(A), -1) if A.ndim == 3 else A for A in (train, test)], [train_labels, test_labels]


def openml_digits(title, subfolder, name, data_id, n_train):
    """The same from OpenML, whose copies hold the training set first."""
    parser = "pandas" if importlib.util.find_spec("pandas") else "liac-arff"
    bunch = from_scikit_learn(
        title, subfolder, [name], sklearn_datasets.fetch_openml, data_id=data_id, as_frame=False, parser=parser
    )
    with reading(f"OpenML's data set {data_id}", "scikit-learn"):
        images, labels = np.asarray(bunch.data), np.asarray(bunch.target).astype(float).astype(np.int64)
    return [images[:n_train], images[n_train:]], [labels[:n_train], labels[n_train:]]


def check_digits(images, labels, sizes, n_pixels, counts, ink):
    """Shape, range and class sizes of the training and the test set, or a DataCorruptError."""
    for part, A, t, n, count in zip(("train", "test"), images, labels, sizes, counts, strict=True):
        check_array(f"{part} images", A, (n, n_pixels), 0.0, ink)
        check_array(f"{part} labels", t, (n,), 0, 9)
        check_counts(f"{part} labels", t, count)


def check_usps_fingerprints(kind, arrays):
    """The images, or the labels, of both sets are the published ones, or a DataCorruptError."""
    for part, array in zip(("train", "test"), arrays, strict=True):
        check_fingerprint(f"{part} {kind}", array, *FINGERPRINTS[f"{part} {kind}"])


def join_digits(images, labels, split, image_shape):
    """One Dataset of both parts, or of one of them."""
    keep = {None: (0, 1), "train": (0,), "test": (1,)}[split]
    is_train = np.concatenate([np.full(len(labels[k]), k == 0) for k in keep])
    data = np.concatenate([images[k] for k in keep])
    target = np.concatenate([labels[k] for k in keep]).astype(np.int64)
    return Dataset(data, target, DIGITS, {"image_shape": image_shape, "is_train": is_train})
