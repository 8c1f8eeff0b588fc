"""Data sets: geometry and photons of the simulated pipe, the toys, and loaders that meet broken files."""

import functools
import gzip
import hashlib
import io
import json
import os
import sys
import tarfile
import threading
import urllib.error
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import quad
from scipy.io import savemat
from scipy.optimize import brentq, minimize
from scipy.sparse import csc_matrix
from scipy.stats import multivariate_normal
from sklearn import datasets as sklearn_datasets

from gplvm_edu import datasets, papers
from gplvm_edu.datasets import (
    DataCorruptError,
    DataUnavailableError,
    digits,
    draw_per_class,
    fetch,
    load_digits,
    loaders,
    oil_flow,
    pipe,
)
from gplvm_edu.papers import datasets as report

each_geometry = pytest.mark.parametrize("geometry", pipe.GEOMETRIES, ids=pipe.CONFIGURATIONS)
real = pytest.mark.real
bad_input = pytest.mark.bad_input


@pytest.fixture(autouse=True)
def no_outer_world(request, monkeypatch, tmp_path):
    """Tests see no data folder, no cache and no proxy of this machine; those marked real see the folder."""
    if request.node.get_closest_marker("real"):
        if not os.path.isdir(os.path.join(os.environ.get("GPLVM_EDU_DATA", ""), "oil_flow")):
            pytest.skip("needs the papers' real data: set GPLVM_EDU_DATA to the folder with oil_flow and usps")
    else:
        monkeypatch.delenv("GPLVM_EDU_DATA", raising=False)
    monkeypatch.delenv("GPLVM_EDU_SHA256", raising=False)
    monkeypatch.setenv("GPLVM_EDU_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")


@st.composite
def mixtures(draw, n=1):
    """Volume fractions (n, 2) of two liquids, edges of the triangle included."""
    rows = []
    for _ in range(n):
        first = draw(st.floats(0.0, 1.0))
        rows.append([first, (1.0 - first) * draw(st.floats(0.0, 1.0))])
    return np.array(rows)


# -------------------------------------------------------------------------------- geometry
@pytest.mark.identity
@each_geometry
@given(f=mixtures())
def test_paths_summed_over_all_parallel_beams_are_the_areas_of_the_phases(geometry, f):
    theta = (np.arange(20_000) + 0.5) / 20_000 * np.pi  # offsets a = cos(theta), da = sin(theta) dtheta
    weight = np.sin(theta) * np.pi / 20_000
    vertical = weight @ geometry(f, vertical=np.cos(theta), horizontal=[])[0]
    horizontal = weight @ geometry(f, vertical=[], horizontal=np.cos(theta))[0]
    assert_allclose(vertical, np.pi * f[0], atol=2e-6)
    # two levels, each passed by up to one beam too many: 2 * chord * step
    assert_allclose(horizontal, np.pi * f[0], atol=2 * 2 * np.pi / 20_000)


def march(target, f, start, direction, n_steps=40_000):
    """Paths through both liquids by asking, at many points of a beam, which phase is there."""
    s = (np.arange(n_steps) + 0.5) / n_steps * 2.0 - 1.0
    x, y = (start, s) if direction == "vertical" else (s, start)
    r2 = x**2 + y**2
    inside = r2 < 1.0
    if target == 0:
        return np.array([inside.sum() * share for share in f]) * 2.0 / n_steps
    if target == 1:
        boundaries = r2 > 1.0 - f[0], (r2 > 1.0 - f[0] - f[1]) & (r2 <= 1.0 - f[0])
    else:

        def level(share):
            return brentq(lambda h: 2 * quad(lambda t: np.sqrt(1 - t * t), -1, h)[0] / np.pi - share, -1, 1)

        low, high = level(f[0]), level(f[0] + f[1])
        boundaries = y < low, (y >= low) & (y < high)
    return np.array([np.sum(inside & phase) for phase in boundaries]) * 2.0 / n_steps


@pytest.mark.oracle
@pytest.mark.parametrize("target", [0, 1, 2], ids=pipe.CONFIGURATIONS)
@pytest.mark.parametrize("f", [(0.34, 0.14), (0.05, 0.9), (0.7, 0.1), (0.2, 0.3)])
def test_measurements_are_what_a_walk_along_each_beam_meets(target, f):
    beams = [("vertical", a) for a in (5 / 6, 1 / 2, 1 / 6)] + [("horizontal", a) for a in (-1 / 2, 0.0, 1 / 2)]
    walked = np.concatenate([march(target, f, start, direction) for direction, start in beams])
    assert_allclose(datasets.oil_flow_paths([f], [target])[0], walked, atol=4 * 2.0 / 40_000)


@pytest.mark.identity
@given(f=mixtures(3), offset=st.floats(-1.0, 1.0))
def test_mixed_and_ringed_pipes_look_the_same_from_above_and_from_the_side(f, offset):
    for geometry in (pipe.homogeneous_paths, pipe.annular_paths):
        assert_array_equal(geometry(f, [offset], []), geometry(f, [], [offset]))


@pytest.mark.identity
@each_geometry
@given(f=mixtures(3))
def test_no_path_is_negative_and_the_liquids_leave_the_rest_of_the_chord_to_the_gas(geometry, f):
    paths = geometry(f)
    chords = pipe.chord_length(np.concatenate([pipe.VERTICAL_BEAMS, pipe.HORIZONTAL_BEAMS]))
    assert paths.shape == (3, 6, 2)
    assert paths.min() >= -1e-12
    assert (paths.sum(axis=2) <= chords + 1e-12).all()


@pytest.mark.identity
@given(share=st.floats(0.0, 1.0))
def test_pipes_without_gas_and_with_one_liquid_absorb_along_the_whole_chord(share):
    full = pipe.chord_length(np.array([5 / 6, 1 / 2, 1 / 6, 1 / 2, 0.0, 1 / 2]))
    for target in range(3):
        both = datasets.oil_flow_paths([[share, 1.0 - share]], [target]).reshape(6, 2)
        assert_allclose(both.sum(axis=1), full, atol=1e-9)
        one = datasets.oil_flow_paths([[0.0, 1.0]], [target]).reshape(6, 2)
        assert_allclose(one, np.column_stack([0 * full, full]), atol=1e-12)


@pytest.mark.identity
@given(f=st.floats(0.0, 1.0))
def test_segment_height_inverts_segment_fraction_and_is_odd_about_one_half(f):
    h = float(pipe.segment_height(f))
    assert -1.0 <= h <= 1.0
    assert_allclose(pipe.segment_fraction(h), f, atol=1e-13)
    assert_allclose(pipe.segment_height(1.0 - f), -h, atol=1e-7 if min(f, 1 - f) < 1e-9 else 1e-10)


@pytest.mark.oracle
def test_segment_height_is_the_root_that_a_bracketing_search_finds():
    fractions = np.linspace(0.001, 0.999, 97)
    searched = [brentq(lambda h, f=f: pipe.segment_fraction(h) - f, -1, 1, xtol=1e-15) for f in fractions]
    assert_allclose(pipe.segment_height(fractions), searched, atol=1e-12)
    assert_array_equal(pipe.segment_height([0.0, 1e-300, 1.0]), [-1.0, -1.0, 1.0])
    assert (np.diff(pipe.segment_height(np.linspace(0, 1, 10_001))) > 0).all()


# -------------------------------------------------------------------------------- photons
paths_of_a_beam = st.tuples(st.floats(0.0, 1.0), st.floats(0.0, 1.0)).map(np.array)


@pytest.mark.identity
@given(paths=paths_of_a_beam)
def test_expected_counts_give_the_paths_back(paths):
    expected = oil_flow.PHOTONS * np.exp(-oil_flow.ATTENUATION @ paths)
    assert_allclose(oil_flow.paths_from_counts(expected), paths, atol=1e-12)


@pytest.mark.gradient
@given(paths=paths_of_a_beam)
def test_covariance_is_the_poisson_variance_carried_through_the_finite_difference_jacobian(paths):
    rate = oil_flow.PHOTONS * np.exp(-oil_flow.ATTENUATION @ paths)
    steps = np.diag(1e-4 * rate)
    J = np.column_stack(
        [
            (oil_flow.paths_from_counts(rate + step) - oil_flow.paths_from_counts(rate - step)) / (2 * step.max())
            for step in steps
        ]
    )
    assert_allclose(oil_flow.measurement_covariance(paths), J @ np.diag(rate) @ J.T, rtol=1e-6)


@pytest.mark.oracle
def test_covariance_is_that_of_many_counted_measurements():
    n, paths = 40_000, np.array([0.4, 0.8])
    measured = oil_flow.paths_from_counts(oil_flow.count_photons(np.tile(paths, (n, 1)), random_state=0))
    C = oil_flow.measurement_covariance(paths)
    assert_allclose(np.cov(measured.T), C, rtol=5 * np.sqrt(2 / n))  # five standard errors of a variance
    assert (np.abs(measured.mean(axis=0) - paths) < 5 * np.sqrt(np.diag(C) / n)).all()


@pytest.mark.oracle
def test_noise_log_likelihood_is_the_gaussian_of_that_covariance():
    oil = datasets.simulate_oil_flow(20, random_state=0)
    exact = datasets.oil_flow_paths(oil.extra["fractions"], oil.target)
    C = oil_flow.measurement_covariance(exact.reshape(-1, 2))
    residuals = (oil.data - exact).reshape(-1, 2)
    expected = sum(
        multivariate_normal(cov=c, allow_singular=False).logpdf(r) for c, r in zip(C, residuals, strict=True)
    )
    assert_allclose(report.noise_log_likelihood(oil.data, exact), expected, rtol=1e-9)


# -------------------------------------------------------------------------------- simulator
def test_simulator_without_noise_measures_the_same_pipes_exactly():
    noisy, exact = (datasets.simulate_oil_flow(300, random_state=3, noise=noise) for noise in (True, False))
    assert_array_equal(noisy.target, exact.target)
    assert_array_equal(noisy.extra["fractions"], exact.extra["fractions"])
    assert_array_equal(exact.data, datasets.oil_flow_paths(exact.extra["fractions"], exact.target))
    assert noisy.data.shape == (300, 12) and np.abs(noisy.data - exact.data).max() > 0.01
    assert exact.target_names == ("homogeneous", "annular", "stratified")
    assert len(exact.extra["beams"]) == 12


def test_noise_of_the_simulator_has_the_spread_that_its_covariance_says():
    oil = datasets.simulate_oil_flow(5000, random_state=0)
    exact = datasets.oil_flow_paths(oil.extra["fractions"], oil.target)
    assert_allclose(report.whitened_spread(oil.data, exact), 1.0, atol=5 / np.sqrt(2 * 5000 * 6))


@pytest.mark.parametrize("n", [1, 2, np.int64(7)])
def test_simulator_repeats_itself_with_a_seed_and_takes_a_generator(n):
    first = datasets.simulate_oil_flow(n, random_state=5)
    assert_array_equal(first.data, datasets.simulate_oil_flow(n, random_state=5).data)
    assert_array_equal(first.data, datasets.simulate_oil_flow(n, random_state=np.random.default_rng(5)).data)
    assert first.data.shape == (n, 12) and not np.array_equal(first.data, datasets.simulate_oil_flow(n, 6).data)


def test_configurations_are_equally_likely_and_half_of_the_mixtures_have_no_phase_above_one_half():
    n = 40_000
    oil = datasets.simulate_oil_flow(n, random_state=0, noise=False)
    shares = np.column_stack([oil.extra["fractions"], 1 - oil.extra["fractions"].sum(axis=1)])
    assert_allclose(np.bincount(oil.target) / n, 1 / 3, atol=5 * np.sqrt(2 / 9 / n))
    assert shares.min() > 0
    # three uniform lengths can form a triangle with probability one half
    assert_allclose(np.mean(shares.max(axis=1) < 0.5), 0.5, atol=5 * np.sqrt(0.25 / n))


@pytest.mark.identity
def test_density_of_the_fractions_has_unit_mass_and_predicts_their_variance():
    n = 2000  # midpoints of a grid on the triangle
    f1, f2 = np.meshgrid(*2 * [(np.arange(n) + 0.5) / n], indexing="ij")
    inside = f1 + f2 < 1
    p = np.where(inside, 1 / (3 * np.maximum(np.maximum(f1, f2), 1 - f1 - f2) ** 3), 0.0) / n**2
    sample = oil_flow.sample_fractions(40_000, random_state=0)[:, 0]
    assert_allclose(p.sum(), 1.0, atol=1e-3)
    variance = np.sum(p * (f1 - 1 / 3) ** 2)
    assert_allclose(sample.var(), variance, rtol=5 * np.sqrt(2 / 40_000))


@bad_input
@pytest.mark.parametrize("n", [0, -3, 2.5, "ten", None, True, np.nan])
@pytest.mark.parametrize("function", [datasets.simulate_oil_flow, datasets.make_swiss_roll, oil_flow.sample_fractions])
def test_a_number_of_samples_that_is_no_positive_integer_is_refused(function, n):
    with pytest.raises(ValueError, match="n_samples must be a whole number of at least 1, got"):
        function(n)


@bad_input
@pytest.mark.parametrize("noise", [0.3, "yes", None])
def test_noise_of_the_pipe_is_a_switch(noise):
    with pytest.raises(ValueError, match="noise must be one of True, False"):
        datasets.simulate_oil_flow(5, noise=noise)


@bad_input
@pytest.mark.parametrize(
    "fractions, target, words",
    [
        ([[0.7, 0.7]], [0], "no mixture"),
        ([[-0.1, 0.5]], [0], "no mixture"),
        ([[np.nan, 0.5]], [0], "no mixture"),
        ([[0.1, 0.5]], [3], "0 \\(homogeneous\\), 1 \\(annular\\) or 2"),
        ([[0.1, 0.5]], ["annular"], "got .*annular"),
        ([0.1, 0.5], [0], "shape \\(n, 2\\)"),
        ([[0.1, 0.5]], [0, 1], "shape \\(n,\\)"),
        ([[0.1, 0.5, 0.4]], [0], "shape \\(n, 2\\)"),
    ],
)
def test_what_is_no_mixture_or_no_configuration_is_refused(fractions, target, words):
    with pytest.raises(ValueError, match=words):
        datasets.oil_flow_paths(fractions, target)


# -------------------------------------------------------------------------------- toys
@pytest.mark.identity
def test_swiss_roll_unrolls_to_its_sheet():
    roll = datasets.make_swiss_roll(400, random_state=1)
    t, sheet = roll.target, roll.extra["sheet"]
    assert_allclose(np.hypot(roll.data[:, 0], roll.data[:, 2]), t)
    for k in range(5):
        assert_allclose(sheet[k, 0], quad(lambda s: np.sqrt(1 + s * s), 0, t[k])[0], rtol=1e-10)
    assert_array_equal(sheet[:, 1], roll.data[:, 1])


@pytest.mark.oracle
def test_swiss_roll_is_the_surface_of_scikit_learn():
    theirs, t = sklearn_datasets.make_swiss_roll(500, random_state=0)
    assert_allclose(theirs[:, [0, 2]], np.column_stack([t * np.cos(t), t * np.sin(t)]))
    ours = datasets.make_swiss_roll(500, random_state=0)
    assert_allclose(
        ours.data[:, [0, 2]], ours.target[:, None] * np.column_stack([np.cos(ours.target), np.sin(ours.target)])
    )
    for A in (t, ours.target):
        assert 1.5 * np.pi <= A.min() and A.max() <= 4.5 * np.pi
    assert 0 <= ours.data[:, 1].min() and ours.data[:, 1].max() <= 21


def test_noise_moves_the_roll_off_its_surface_and_leaves_the_sheet():
    clean, noisy = (datasets.make_swiss_roll(2000, noise=noise, random_state=0) for noise in (0.0, 0.5))
    assert_array_equal(clean.extra["sheet"], noisy.extra["sheet"])
    assert_allclose((noisy.data - clean.data).std(axis=0), 0.5, rtol=0.1)


@bad_input
@pytest.mark.parametrize("noise", [-0.1, np.nan, np.inf, "some", True])
def test_noise_of_the_roll_is_a_number_of_at_least_zero(noise):
    with pytest.raises(ValueError, match="noise must be a finite number of at least 0"):
        datasets.make_swiss_roll(10, noise=noise)


@pytest.mark.oracle
@pytest.mark.parametrize("name", ["digits", "iris"])
def test_digits_and_iris_are_those_of_scikit_learn(name):
    ours, theirs = (getattr(module, f"load_{name}")() for module in (datasets, sklearn_datasets))
    assert_array_equal(ours.data, theirs.data)
    assert_array_equal(ours.target, theirs.target)
    assert len(ours.target_names) == ours.target.max() + 1 and isinstance(ours, datasets.Dataset)


def test_a_draw_has_equally_many_rows_of_each_class_and_repeats_itself():
    whole = load_digits()
    draw = draw_per_class(whole, 20, classes=(3, 7), random_state=1)
    assert np.bincount(draw.target).tolist() == [0, 0, 0, 20, 0, 0, 0, 20]
    assert len(set(draw.extra["rows"])) == 40 and draw.extra["image_shape"] == whole.extra["image_shape"]
    assert_array_equal(draw.data, whole.data[draw.extra["rows"]])
    assert_array_equal(draw.data, draw_per_class(whole, 20, classes=(3, 7), random_state=1).data)
    assert len(draw_per_class(whole, 1).data) == 10


@pytest.mark.bad_input
@pytest.mark.parametrize("n, classes", [(10**6, None), (0, None), (2, ()), (1, (12,))])
def test_a_draw_of_more_rows_than_there_are_is_refused(n, classes):
    with pytest.raises(ValueError, match=r"n_per_class|n_samples"):
        draw_per_class(load_digits(), n, classes)


# -------------------------------------------------------------------------------- stand-ins for the files
@functools.cache
def oil_tables():
    """Text of three files of the right form, and the fingerprints of their numbers."""
    oil = datasets.simulate_oil_flow(1000, random_state=11)
    tables = {
        "DataTrn.txt": oil.data.round(4),
        "DataTrnFrctns.txt": oil.extra["fractions"].round(4),
        "DataTrnLbls.txt": np.eye(3)[oil.target],
    }
    texts = {}
    for name, table in tables.items():
        np.savetxt(stream := io.StringIO(), table, fmt="%16.7e")
        texts[name] = stream.getvalue().encode()
    return oil, tables, texts


@pytest.fixture
def oil_files(monkeypatch):
    """Stand-in files whose fingerprints the loader expects."""
    oil, tables, texts = oil_tables()
    for name, table in tables.items():
        decimals = loaders.FINGERPRINTS[name][0]
        monkeypatch.setitem(loaders.FINGERPRINTS, name, (decimals, fetch.fingerprint(table, decimals)))
    return oil, texts


def write_files(folder, files):
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)


def tar_gz(files, prefix=""):
    with tarfile.open(fileobj=(stream := io.BytesIO()), mode="w:gz") as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(prefix + name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return stream.getvalue()


def sha256(content):
    return hashlib.sha256(content).hexdigest()


def mat(**variables):
    savemat(stream := io.BytesIO(), variables)
    return stream.getvalue()


def frey_mat(shape=(560, 1965), dtype=np.uint8):
    return mat(ff=(np.arange(np.prod(shape)) % 256).astype(dtype).reshape(shape))


def newsgroups_mat(n=16242, value=1.0, groups=4, words=100):
    documents = np.zeros((100, n))
    documents[np.arange(n) % 100, np.arange(n)] = value
    names = np.array([f"group{k}.*" for k in range(4)], dtype=object)
    return mat(
        documents=csc_matrix(documents),
        newsgroups=np.arange(n) % groups + 1,
        groupnames=names,
        wordlist=np.array([f"word{k}" for k in range(words)], dtype=object),
    )


def npz(**arrays):
    np.savez(stream := io.BytesIO(), **arrays)
    return stream.getvalue()


def digit_labels(counts, dtype=np.uint8):
    return np.repeat(np.arange(10), counts).astype(dtype)


def usps_arrays():
    """Stand-in for the USPS digits: right sizes, labels and range."""
    arrays = {}
    for part, counts in zip(("train", "test"), digits.USPS_COUNTS, strict=True):
        labels = digit_labels(counts)
        arrays[f"{part}_labels"] = labels
        arrays[f"{part}_images"] = (np.arange(labels.size * 256) % 2001 / 2000).reshape(-1, 256).astype(np.float32)
    return arrays


@pytest.fixture
def usps_expected(monkeypatch):
    arrays = usps_arrays()
    for key in digits.FINGERPRINTS:
        decimals = digits.FINGERPRINTS[key][0]
        value = fetch.fingerprint(arrays[key.replace(" ", "_")], decimals)
        monkeypatch.setitem(digits.FINGERPRINTS, key, (decimals, value))
    return arrays


def mnist_arrays():
    arrays = {}
    for part, counts in zip(("train", "test"), digits.MNIST_COUNTS, strict=True):
        arrays[f"y_{part}"] = digit_labels(counts)
        arrays[f"x_{part}"] = np.zeros((sum(counts), 28, 28), np.uint8)
        arrays[f"x_{part}"][:, 14, 14] = 255
    return arrays


# -------------------------------------------------------------------------------- the local folder
def test_oil_flow_is_read_from_the_local_folder(oil_files, monkeypatch, tmp_path):
    oil, texts = oil_files
    write_files(tmp_path / "oil_flow", texts)
    monkeypatch.setenv("GPLVM_EDU_DATA", str(tmp_path))
    loaded = datasets.load_oil_flow()
    assert_allclose(loaded.data, oil.data, atol=5.1e-5)
    assert_array_equal(loaded.target, oil.target)
    assert_allclose(loaded.extra["fractions"], oil.extra["fractions"], atol=5.1e-5)
    assert loaded.target_names == oil.target_names
    small = datasets.load_oil_flow(subset=100)
    assert_array_equal(small.data, loaded.data[small.extra["rows"]])
    assert_array_equal(small.target, loaded.target[small.extra["rows"]])
    assert len(np.unique(small.extra["rows"])) == 100 and small.extra["fractions"].shape == (100, 2)


def damaged(name, damage):
    """Texts of the three files with one of them damaged, and what the error must say."""
    texts = oil_tables()[2]
    lines = texts[name].splitlines(keepends=True)
    changed, words = {
        "cut between lines": (b"".join(lines[:600]), "has shape"),
        "cut inside a line": (texts[name][: len(texts[name]) // 2 + 3], "ValueError|has shape"),
        "empty": (b"", "it is empty"),
        "a page of HTML": (b"<!DOCTYPE html><html><body>404</body></html>", "plain numbers: b'<!DOCTYPE"),
        "not text": (gzip.compress(texts[name]), "plain numbers"),
        "a NaN": (b"".join([lines[0].replace(lines[0].split()[0], b"nan"), *lines[1:]]), "plain numbers"),
        "out of range": (b"".join([lines[0].replace(lines[0].split()[0], b"9e9"), *lines[1:]]), "ranges from"),
        "rows swapped": (b"".join([*lines[::-1]]), "not the published ones"),
    }[damage]
    return {**texts, name: changed}, words


@bad_input
@pytest.mark.parametrize(
    "damage",
    [
        "cut between lines",
        "cut inside a line",
        "empty",
        "a page of HTML",
        "not text",
        "a NaN",
        "out of range",
        "rows swapped",
    ],
)
@pytest.mark.parametrize("name", list(loaders.OIL_FLOW_FILES))
def test_a_damaged_oil_flow_file_is_refused_by_name(oil_files, monkeypatch, tmp_path, name, damage):
    files, words = damaged(name, damage)
    write_files(tmp_path / "oil_flow", files)
    monkeypatch.setenv("GPLVM_EDU_DATA", str(tmp_path))
    with pytest.raises(DataCorruptError, match=words) as caught:
        datasets.load_oil_flow()
    assert str(tmp_path / "oil_flow" / name) in str(caught.value)
    assert (tmp_path / "oil_flow" / name).exists()  # a person's own file is never removed


@bad_input
def test_numbers_of_the_right_shape_that_are_not_the_published_ones_are_refused(monkeypatch, tmp_path):
    write_files(tmp_path / "oil_flow", oil_tables()[2])
    monkeypatch.setenv("GPLVM_EDU_DATA", str(tmp_path))
    words = "DataTrn.txt .* not the published ones: fingerprint .* expected 432769c2a899"
    with pytest.raises(DataCorruptError, match=words):
        datasets.load_oil_flow()


@bad_input
@pytest.mark.parametrize("name", list(loaders.OIL_FLOW_FILES))
def test_a_folder_that_lacks_one_of_the_files_is_named_with_what_it_lacks(oil_files, monkeypatch, tmp_path, name):
    write_files(tmp_path / "oil_flow", {key: text for key, text in oil_files[1].items() if key != name})
    monkeypatch.setenv("GPLVM_EDU_DATA", str(tmp_path))
    with pytest.raises(DataUnavailableError, match=f"lacks {name}"):
        datasets.load_oil_flow()


@bad_input
def test_a_data_variable_that_names_no_folder_is_an_error(monkeypatch, tmp_path):
    monkeypatch.setenv("GPLVM_EDU_DATA", str(tmp_path / "nowhere"))
    for load in (
        datasets.load_oil_flow,
        datasets.load_usps,
        datasets.load_mnist,
        datasets.load_olivetti,
        datasets.load_newsgroups,
        datasets.load_frey_faces,
    ):
        with pytest.raises(DataUnavailableError, match=r"GPLVM_EDU_DATA names .*nowhere.* not a folder"):
            load()


@pytest.mark.parametrize("split, n", [(None, 9298), ("train", 7291), ("test", 2007)])
def test_usps_is_read_from_the_local_folder(usps_expected, monkeypatch, tmp_path, split, n):
    write_files(tmp_path / "usps", {"usps.npz": npz(**usps_expected)})
    monkeypatch.setenv("GPLVM_EDU_DATA", str(tmp_path))
    usps = datasets.load_usps(split)
    assert usps.data.shape == (n, 256) and usps.data.dtype == np.float64 and usps.extra["image_shape"] == (16, 16)
    assert usps.extra["is_train"].sum() == {None: 7291, "train": 7291, "test": 0}[split]
    part = "test" if split == "test" else "train"
    assert_array_equal(usps.data[:50], usps_expected[f"{part}_images"][:50])
    assert_array_equal(usps.target[:50], usps_expected[f"{part}_labels"][:50])


def broken_usps(damage):
    arrays = usps_arrays()
    if damage == "numbers changed":
        arrays["train_images"][17, 3] += 0.01
        return npz(**arrays), "train images .* not the published ones"
    if damage == "labels changed":
        arrays["test_labels"] = arrays["test_labels"][::-1]
        return npz(**arrays), "test labels .* not the published ones"
    if damage == "classes changed":
        arrays["test_labels"][0] = 5
        return npz(**arrays), "test labels has .* rows of the classes"
    if damage == "rows lost":
        arrays["train_images"] = arrays["train_images"][:-1]
        return npz(**arrays), r"train images has shape \(7290, 256\), expected \(7291, 256\)"
    if damage == "array lost":
        del arrays["test_labels"]
        return npz(**arrays), "lacks test_labels"
    if damage == "pickled":
        arrays["train_images"] = arrays["train_images"].astype(object)
        return npz(**arrays), "allow_pickle"
    if damage == "truncated":
        return npz(**arrays)[:100_000], "BadZipFile|zip"
    return b"not an archive", "not a zip file"


@bad_input
@pytest.mark.parametrize(
    "damage",
    [
        "numbers changed",
        "labels changed",
        "classes changed",
        "rows lost",
        "array lost",
        "pickled",
        "truncated",
        "garbage",
    ],
)
def test_a_damaged_usps_file_is_refused_by_name(usps_expected, monkeypatch, tmp_path, damage):
    content, words = broken_usps(damage)
    write_files(tmp_path / "usps", {"usps.npz": content})
    monkeypatch.setenv("GPLVM_EDU_DATA", str(tmp_path))
    with pytest.raises(DataCorruptError, match=words) as caught:
        datasets.load_usps()
    assert str(tmp_path / "usps" / "usps.npz") in str(caught.value)


@pytest.mark.long
def test_mnist_is_read_from_the_local_folder_and_refused_when_scaled_or_short(monkeypatch, tmp_path):
    arrays = mnist_arrays()
    monkeypatch.setenv("GPLVM_EDU_DATA", str(tmp_path))
    content = npz(**arrays)
    write_files(tmp_path / "mnist", {"mnist.npz": content})
    mnist = datasets.load_mnist("test", sha256=sha256(content))
    assert mnist.data.shape == (10_000, 784) and mnist.data.dtype == np.float32 and mnist.data.max() == 1.0
    assert_array_equal(mnist.target, arrays["y_test"])
    for changed, words in (
        ({"x_test": arrays["x_test"] // 255}, "test images ranges from 0 to 1, expected 0 to 255"),
        ({"x_test": arrays["x_test"][:-1]}, "test images has shape"),
        ({"y_test": arrays["y_test"] * 0}, "test labels ranges from 0 to 0"),
        ({"x_test": arrays["x_test"][:, :27]}, "test images has shape"),
    ):
        content = npz(**{**arrays, **changed})
        write_files(tmp_path / "mnist", {"mnist.npz": content})
        with pytest.raises(DataCorruptError, match=words):
            datasets.load_mnist(sha256=sha256(content))


def test_olivetti_faces_are_read_upright_from_the_local_folder(monkeypatch, tmp_path):
    upright = np.zeros((400, 64, 64), np.uint8)
    upright[:, 0, :] = 255  # a bright top row
    stored = upright.transpose(0, 2, 1).reshape(400, 4096).T  # MATLAB keeps columns together
    monkeypatch.setenv("GPLVM_EDU_DATA", str(tmp_path))
    write_files(tmp_path / "olivetti", {"olivettifaces.mat": mat(faces=stored)})
    faces = datasets.load_olivetti(sha256=sha256(mat(faces=stored)))
    assert faces.data.shape == (400, 4096) and faces.extra["image_shape"] == (64, 64)
    assert_array_equal(faces.data[7].reshape(64, 64), upright[7] / 255)
    assert np.bincount(faces.target).tolist() == [10] * 40 and len(faces.target_names) == 40
    for content, words in (
        (mat(faces=stored[:, :399]), "has shape"),
        (mat(people=stored), "lacks faces"),
        (mat(faces=stored)[:500], "olivettifaces.mat"),
        (mat(faces=stored * 0), "ranges from 0 to 0"),
    ):
        write_files(tmp_path / "olivetti", {"olivettifaces.mat": content})
        with pytest.raises(DataCorruptError, match=words):
            datasets.load_olivetti(sha256=sha256(content))


# -------------------------------------------------------------------------------- a loopback server
@pytest.fixture
def server(monkeypatch):
    """A server on this machine, whose address counts as safe: ``files[name] = body``, or (body, claimed length), or a
    status, or an address to go to."""
    monkeypatch.setattr(fetch, "SAFE", ("https://", "http://127.0.0.1:"))
    files, asked = {}, []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            content = files.get(self.path.rsplit("/", 1)[-1], 404)
            if isinstance(content, int):
                return self.send_error(content)
            if isinstance(content, str):
                self.send_response(302)
                self.send_header("Location", content)
                return self.end_headers()
            body, claimed = content if isinstance(content, tuple) else (content, len(content))
            self.send_response(200)
            self.send_header("Content-Length", str(claimed))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as httpd:
        thread = threading.Thread(target=httpd.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield SimpleNamespace(url=f"http://127.0.0.1:{httpd.server_port}/data", files=files, asked=asked)
        httpd.shutdown()
        thread.join()


@pytest.mark.parametrize("prefix", ["", "./", "3PhData/"])
def test_oil_flow_is_downloaded_once_and_then_taken_from_the_cache(oil_files, server, prefix):
    oil, texts = oil_files
    server.files["3PhData.tar.gz"] = tar_gz({**texts, "DataTst.txt": b"0 0\n"}, prefix)
    for base_url in (server.url, server.url + "/"):
        loaded = datasets.load_oil_flow(base_url=base_url)
        assert_allclose(loaded.data, oil.data, atol=5.1e-5)
    assert server.asked == ["/data/3PhData.tar.gz"]
    assert datasets.load_oil_flow(subset=100, base_url=server.url).data.shape == (100, 12)


def test_the_local_folder_comes_before_the_download_and_another_data_set_s_folder_does_not_count(
    oil_files, server, monkeypatch, tmp_path
):
    write_files(tmp_path / "data" / "oil_flow", oil_files[1])
    monkeypatch.setenv("GPLVM_EDU_DATA", str(tmp_path / "data"))
    datasets.load_oil_flow(base_url=server.url)
    assert server.asked == []
    server.files["frey_rawface.mat"] = frey = frey_mat()
    assert datasets.load_frey_faces(base_url=server.url, sha256=sha256(frey)).data.shape == (1965, 560)


@functools.cache
def bad_archives():
    texts = oil_tables()[2]
    good = tar_gz(texts)
    return {
        "truncated": (good[: len(good) // 2], "EOFError|ReadError|has shape|end"),
        "a page of HTML": (b"<html>moved</html>", "ReadError"),
        "empty": (b"", "it is empty"),
        "lacks a file": (
            tar_gz({name: texts[name] for name in ("DataTrn.txt", "DataTrnLbls.txt")}),
            "lacks DataTrnFrctns",
        ),
        "other numbers": (
            tar_gz({**texts, "DataTrn.txt": texts["DataTrn.txt"].replace(b"e-01", b"e-02")}),
            "published",
        ),
        "a folder in the file's place": (tar_gz({"DataTrn.txt/x": b"1"}), "lacks DataTrn.txt"),
    }


@bad_input
@pytest.mark.parametrize("damage", list(bad_archives()))
def test_a_bad_download_is_refused_removed_and_fetched_again(oil_files, server, tmp_path, damage):
    server.files["3PhData.tar.gz"], words = bad_archives()[damage]
    with pytest.raises(DataCorruptError, match=words) as caught:
        datasets.load_oil_flow(base_url=server.url)
    assert "3PhData.tar.gz" in str(caught.value) and "removed from the cache" in str(caught.value)
    assert not (tmp_path / "cache" / "3PhData.tar.gz").exists()
    server.files["3PhData.tar.gz"] = tar_gz(oil_files[1])
    assert datasets.load_oil_flow(base_url=server.url).data.shape == (1000, 12)


@bad_input
def test_a_cached_file_that_went_bad_is_refused_too(oil_files, server, tmp_path):
    server.files["3PhData.tar.gz"] = tar_gz(oil_files[1])
    datasets.load_oil_flow(base_url=server.url)
    cached = tmp_path / "cache" / "3PhData.tar.gz"
    cached.write_bytes(cached.read_bytes()[:-2000])
    with pytest.raises(DataCorruptError, match="removed from the cache"):
        datasets.load_oil_flow(base_url=server.url)
    assert datasets.load_oil_flow(base_url=server.url).data.shape == (1000, 12)


@bad_input
@pytest.mark.parametrize("answer, words", [(404, "404"), (500, "500"), ("short", "failed")])
def test_a_server_that_fails_leads_to_advice(server, tmp_path, answer, words):
    body = tar_gz(oil_tables()[2])
    server.files["3PhData.tar.gz"] = (body[:1000], len(body)) if answer == "short" else answer
    with pytest.raises(DataUnavailableError, match=words) as caught:
        datasets.load_oil_flow(base_url=server.url)
    for hint in (
        "DataTrn.txt, DataTrnFrctns.txt, DataTrnLbls.txt",
        "FOLDER/oil_flow",
        "GPLVM_EDU_DATA",
        "Appendix B",
        f"{server.url}/3PhData.tar.gz",
    ):
        assert hint in str(caught.value)
    assert not (tmp_path / "cache" / "3PhData.tar.gz").exists()


@bad_input
def test_no_server_at_all_leads_to_advice(server, monkeypatch, tmp_path):
    monkeypatch.setenv("GPLVM_EDU_DATA", str(tmp_path))
    closed = server.url.replace(server.url.split(":")[2].split("/")[0], "9")  # port 9: discard, nobody listens
    for load, name in (
        (datasets.load_oil_flow, "oil_flow"),
        (datasets.load_frey_faces, "frey_faces"),
        (datasets.load_newsgroups, "newsgroups"),
    ):
        with pytest.raises(DataUnavailableError, match="failed") as caught:
            load(base_url=closed)
        assert f"{tmp_path}/{name}" in str(caught.value)


@bad_input
def test_without_pooch_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(DataUnavailableError, match=r'pip install "gplvm_edu\[data\]"'):
        datasets.load_oil_flow()


def test_frey_faces_come_by_download_in_order_of_time(server):
    server.files["frey_rawface.mat"] = content = frey_mat()
    frey = datasets.load_frey_faces(base_url=server.url, sha256=sha256(content))
    assert frey.data.shape == (1965, 560) and frey.data.max() == 255 and frey.target is None
    assert_array_equal(frey.data[:3, 0], [0, 1, 2])
    assert np.prod(frey.extra["image_shape"]) == 560


def test_newsgroups_come_by_download_as_zeros_and_ones(server):
    server.files["20news_w100.mat"] = content = newsgroups_mat()
    news = datasets.load_newsgroups(base_url=server.url, sha256=sha256(content).upper())
    assert news.data.shape == (16242, 100) and set(np.unique(news.data)) == {0.0, 1.0}
    assert news.data[5, 5] == 1 and news.data[205, 5] == 1 and news.data[5, 6] == 0
    assert np.unique(news.target).tolist() == [0, 1, 2, 3] and news.target_names[3] == "group3.*"
    assert len(news.extra["words"]) == 100 and news.extra["words"][7] == "word7"


BAD_MATS = {
    "frey truncated": ("frey_rawface.mat", lambda: frey_mat()[:3000], "frey_rawface.mat is damaged"),
    "frey other frames": ("frey_rawface.mat", lambda: frey_mat((560, 1900)), r"has shape \(560, 1900\)"),
    "frey other variable": ("frey_rawface.mat", lambda: mat(gg=np.zeros(3)), "it holds gg, but lacks ff"),
    "frey rescaled": (
        "frey_rawface.mat",
        lambda: mat(ff=np.random.default_rng(0).uniform(size=(560, 1965))),
        "expected 0 to 255",
    ),
    "frey text": ("frey_rawface.mat", lambda: mat(ff=np.array(["a"])), "has shape"),
    "frey page": ("frey_rawface.mat", lambda: b"<html></html>" * 40, "is damaged"),
    "news truncated": ("20news_w100.mat", lambda: newsgroups_mat()[:9000], "20news_w100.mat is damaged"),
    "news fewer": ("20news_w100.mat", lambda: newsgroups_mat(n=16000), "has shape"),
    "news counts": ("20news_w100.mat", lambda: newsgroups_mat(value=2.0), "ranges from 0 to 2, expected 0 to 1"),
    "news three groups": ("20news_w100.mat", lambda: newsgroups_mat(groups=3), "all of 1, 2, 3, 4"),
    "news few words": ("20news_w100.mat", lambda: newsgroups_mat(words=99), "99 words"),
}


@bad_input
@pytest.mark.parametrize("case", list(BAD_MATS))
def test_a_bad_matlab_file_is_refused_from_the_server_and_from_the_folder(server, monkeypatch, tmp_path, case):
    name, make, words = BAD_MATS[case]
    frey = name == "frey_rawface.mat"
    load, subfolder = (datasets.load_frey_faces, "frey_faces") if frey else (datasets.load_newsgroups, "newsgroups")
    server.files[name] = content = make()
    with pytest.raises(DataCorruptError, match=words):
        load(base_url=server.url, sha256=sha256(content))
    assert not (tmp_path / "cache" / name).exists()
    write_files(tmp_path / "data" / subfolder, {name: content})
    monkeypatch.setenv("GPLVM_EDU_DATA", str(tmp_path / "data"))
    with pytest.raises(DataCorruptError, match=words):
        load(base_url=server.url, sha256=sha256(content))


# -------------------------------------------------------------------------------- scikit-learn's fetchers
def openml(arrays, monkeypatch):
    """Let scikit-learn's fetcher answer with these arrays, and keep what it was asked for."""
    asked = []

    def fetch_openml(**options):
        asked.append(options)
        if isinstance(arrays, Exception):
            raise arrays
        return SimpleNamespace(data=arrays[0], target=arrays[1])

    monkeypatch.setattr(sklearn_datasets, "fetch_openml", fetch_openml)
    return asked


def openml_usps():
    """As OpenML has it: levels from -1 to 1, labels '1' to '10', training set first."""
    arrays = usps_arrays()
    images = np.concatenate([arrays["train_images"], arrays["test_images"]]).astype(float)
    labels = np.concatenate([arrays["train_labels"], arrays["test_labels"]]).astype(int) + 1
    return 2 * images - 1, labels.astype(str)


def test_usps_comes_from_openml_where_there_is_no_local_file(usps_expected, monkeypatch, recwarn):
    asked = openml(openml_usps(), monkeypatch)
    usps = datasets.load_usps("test")
    assert asked[0]["data_id"] == 41082 and asked[0]["as_frame"] is False
    assert_allclose(usps.data, usps_expected["test_images"], atol=1e-7)
    assert_array_equal(usps.target, usps_expected["test_labels"])
    assert not recwarn.list


def test_usps_rounded_otherwise_is_accepted_with_a_warning_and_other_content_not(usps_expected, monkeypatch):
    images, labels = openml_usps()
    openml((images.round(2), labels), monkeypatch)
    with pytest.warns(UserWarning, match="train images .* not the published ones"):
        assert datasets.load_usps().data.shape == (9298, 256)
    scaled, short = (0.5 * (images + 1), labels), (images[:-1], labels[:-1])
    others = [np.roll(labels, 1), labels[::-1], np.full(9298, "five")]
    for wrong in (scaled, short, *((images, other) for other in others)):
        openml(wrong, monkeypatch)
        with pytest.raises(DataCorruptError, match="OpenML's data set 41082 is damaged"):
            datasets.load_usps()


@pytest.mark.long
def test_mnist_comes_from_openml_where_there_is_no_local_file(monkeypatch):
    arrays = mnist_arrays()
    images = np.concatenate([arrays["x_train"], arrays["x_test"]]).reshape(-1, 784)
    labels = np.concatenate([arrays["y_train"], arrays["y_test"]]).astype(str)
    asked = openml((images, labels), monkeypatch)
    mnist = datasets.load_mnist("train")
    assert asked[0]["data_id"] == 554 and mnist.data.shape == (60_000, 784) and mnist.extra["is_train"].all()
    openml((images[:69_999], labels[:69_999]), monkeypatch)
    with pytest.raises(DataCorruptError, match="test images has shape"):
        datasets.load_mnist()


def test_olivetti_faces_come_from_scikit_learn_where_there_is_no_local_file(monkeypatch):
    faces = np.linspace(0, 1, 400 * 4096).reshape(400, 4096).astype(np.float32)
    monkeypatch.setattr(sklearn_datasets, "fetch_olivetti_faces", lambda shuffle: SimpleNamespace(data=faces))
    assert_array_equal(datasets.load_olivetti().data, faces)
    monkeypatch.setattr(sklearn_datasets, "fetch_olivetti_faces", lambda shuffle: SimpleNamespace(data=faces[:7]))
    with pytest.raises(DataCorruptError, match="has shape"):
        datasets.load_olivetti()


@bad_input
@pytest.mark.parametrize("load, name", [(datasets.load_usps, "usps.npz"), (datasets.load_mnist, "mnist.npz")])
def test_a_failing_openml_leads_to_advice(monkeypatch, load, name):
    openml(urllib.error.URLError("no route to host"), monkeypatch)
    with pytest.raises(DataUnavailableError, match="no route to host") as caught:
        load()
    assert name in str(caught.value) and "GPLVM_EDU_DATA" in str(caught.value)
    openml(ValueError("md5 checksum does not match"), monkeypatch)
    with pytest.raises(DataCorruptError, match="md5 checksum does not match"):
        load()


# -------------------------------------------------------------------------------- options and fingerprints
@bad_input
@pytest.mark.parametrize("subset", [10, 1000, "100", 100.5, True, [100]])
def test_a_subset_of_the_oil_flow_that_is_not_known_is_refused(subset):
    with pytest.raises(ValueError, match="subset must be one of None, 100, got"):
        datasets.load_oil_flow(subset=subset)


@bad_input
@pytest.mark.parametrize("load", [datasets.load_usps, datasets.load_mnist])
def test_a_split_that_is_not_known_is_refused(load):
    with pytest.raises(ValueError, match="split must be one of None, 'train', 'test', got 'dev'"):
        load("dev")


@bad_input
def test_an_unknown_option_is_refused():
    for load in (
        datasets.load_oil_flow,
        datasets.load_usps,
        datasets.load_mnist,
        datasets.load_olivetti,
        datasets.load_iris,
        datasets.load_newsgroups,
        datasets.load_frey_faces,
        datasets.load_digits,
        datasets.make_swiss_roll,
        datasets.simulate_oil_flow,
    ):
        with pytest.raises(TypeError, match="unexpected keyword"):
            load(colour="red")


@pytest.mark.identity
@given(values=st.lists(st.integers(-10_000, 10_000), min_size=6, max_size=6))
def test_fingerprint_sees_numbers_and_shape_and_nothing_else(values):
    A = np.array(values).reshape(2, 3)
    same = [A / 1e4, np.asfortranarray(A / 1e4), (A / 1e4).astype(np.float32), (A / 1e4).astype(">f8"), A / 1e4 + 1e-9]
    assert {fetch.fingerprint(B, 4) for B in same} == {fetch.fingerprint(A / 1e4, 4)}
    changed = A.copy()
    changed[1, 1] += 1
    others = {fetch.fingerprint(B, 4) for B in (A.reshape(3, 2) / 1e4, A.ravel() / 1e4, changed / 1e4)}
    assert fetch.fingerprint(A / 1e4, 4) not in others and len(others) == 3


# -------------------------------------------------------------------------------- the report
@pytest.mark.long
def test_report_of_the_simulator_against_itself_finds_no_difference(monkeypatch, tmp_path):
    """With a simulated set in the place of the real one every figure of the report has a known value."""
    oil = datasets.simulate_oil_flow(1000, random_state=99)

    def load(subset=None):
        rows = slice(subset)
        return oil._replace(data=oil.data[rows], target=oil.target[rows])

    monkeypatch.setattr(report, "load_oil_flow", load)
    path = papers.write(tmp_path / "datasets.json", papers.run("datasets"))
    figures = json.loads(path.read_text())
    assert min(figures["correlation"]) > 0.97 and sum(figures["class_sizes"]) == 1000
    assert_allclose(figures["residual_spread"], figures["expected_spread"], rtol=5 / np.sqrt(2000))
    assert_allclose(figures["whitened_spread"], 1.0, atol=5 / np.sqrt(12_000))
    assert max(figures["residual_correlation_of_phases"]) < -0.999
    assert_allclose(figures["vertical_beams"], pipe.VERTICAL_BEAMS, atol=2e-3)
    assert min(figures["fraction_tests"]) > 0.001
    assert all(np.size(value) <= 36 for value in figures.values())  # figures, no rows of data


# -------------------------------------------------------------------------------- the real data
@pytest.fixture(scope="module")
def figures():
    return report.results()


@real
def test_real_oil_flow_is_what_the_exact_geometry_predicts(figures):
    assert len(figures["correlation"]) == 12 and min(figures["correlation"]) >= 0.97
    within = np.array(figures["correlation_within_class"], dtype=float)
    # one of the 36 is constant: water never reaches the upper horizontal beam of a stratified pipe
    assert np.argwhere(np.isnan(within)).tolist() == [[2, 10]]
    assert np.nanmin(within) >= 0.95


@real
def test_real_residuals_have_no_mean_and_the_spread_of_photon_noise(figures):
    spread, expected = np.array(figures["residual_spread"]), np.array(figures["expected_spread"])
    assert_allclose(spread, expected, rtol=0.07)  # sampling error of a spread of 1000: 2.2 %
    assert (np.abs(figures["residual_mean"]) < 4 * expected / np.sqrt(1000)).all()
    assert_allclose(figures["whitened_spread"], 1.0, atol=4 / np.sqrt(2 * 6000))
    assert max(figures["residual_correlation_of_phases"]) < -0.999


@real
def test_constants_of_the_photon_noise_are_the_most_likely_ones_but_for_rounding():
    oil = datasets.load_oil_flow()
    exact = datasets.oil_flow_paths(oil.extra["fractions"], oil.target)

    def loss(x):
        return -report.noise_log_likelihood(oil.data, exact, np.reshape(x[:4], (2, 2)), np.exp(x[4]))

    start = np.r_[oil_flow.ATTENUATION.ravel(), np.log(oil_flow.PHOTONS)]
    best = minimize(
        loss, start, method="Nelder-Mead", options={"maxiter": 4000, "maxfev": 4000, "fatol": 1e-4, "xatol": 1e-6}
    )
    assert 0 <= loss(start) - best.fun < 1.0  # nats, of about 37 000
    assert_allclose(best.x, start, rtol=0.02)


@real
def test_positions_of_the_vertical_beams_are_the_most_likely_ones(figures):
    assert_allclose(figures["vertical_beams"], [5 / 6, 3 / 6, 1 / 6], atol=5e-4)


@real
def test_real_fractions_and_classes_are_distributed_as_simulated(figures):
    assert min(figures["fraction_tests"]) > 0.01
    assert np.abs(np.array(figures["class_sizes"]) - 1000 / 3).max() < 3 * np.sqrt(1000 * 2 / 9)


@real
def test_pca_leaves_the_errors_of_the_paper_and_as_many_on_simulated_pipes(figures):
    assert figures["pca_errors_real"] == 162 and figures["pca_errors_real_100"] == 20
    simulated = np.array(figures["pca_errors_simulated"])
    assert simulated.min() < 162 < simulated.max()
    assert abs(simulated.mean() - 162) < 2 * simulated.std()


@real
def test_rows_of_the_small_experiment_are_those_of_the_index_file():
    path = os.path.join(os.environ["GPLVM_EDU_DATA"], "oil_flow", "oil100_index.txt")
    assert_array_equal(loaders.oil_100_rows(), np.loadtxt(path, dtype=int))


@real
def test_real_usps_digits_have_their_fingerprints_and_are_upright():
    usps = datasets.load_usps()
    assert usps.data.shape == (9298, 256) and np.bincount(usps.target[usps.extra["is_train"]])[0] == 1194
    ones = usps.data[usps.target == 1].mean(axis=0).reshape(16, 16)
    assert ones[:, 7:9].mean() > 4 * ones[:, :3].mean()  # a one is a stroke down the middle


@real
def test_stored_results_of_the_book_are_those_of_this_code(figures):
    stored = os.path.join(os.path.dirname(__file__), "..", "book", "results", "datasets.json")
    with open(stored, encoding="utf-8") as file:
        kept = json.load(file)
    assert kept.keys() == figures.keys()
    for key in ("correlation", "residual_spread", "expected_spread", "residual_mean", "whitened_spread"):
        assert_allclose(kept[key], figures[key], atol=2e-4)
    assert (kept["pca_errors_real"], kept["pca_errors_real_100"]) == (162, 20)
    assert_allclose(np.mean(kept["pca_errors_simulated"]), np.mean(figures["pca_errors_simulated"]), atol=2)
