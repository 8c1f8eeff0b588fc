"""What holds for the answers of every model, beside the table of test_estimators.py: refusals, interrupts, seeds, gaps.

The models and their data are those of that table.
"""

import re

import numpy as np
import pytest
from common import QUESTIONS, impatient
from numpy.testing import assert_allclose, assert_array_equal
from test_estimators import CLASSES, ITERATIVE, MAPPED, answer, data, fitted, gappy, make, reason_against, shapes

from gplvm_edu import magnification_factors

pytestmark = pytest.mark.filterwarnings("ignore:With n_neighbors")
FILLING = [name for name in MAPPED if reason_against(fitted(name), "impute") is None]
KINDS = (int, np.random.RandomState, np.random.default_rng)


@pytest.mark.parametrize("name", CLASSES)
def test_what_a_model_refuses_it_does_not_have_and_the_error_names_it(name):
    refused = type(fitted(name)).why_not
    assert sorted(refused) == sorted(method for method in QUESTIONS if not hasattr(fitted(name), method))
    for method, reason in refused.items():
        with pytest.raises(AttributeError, match=re.escape(f"{name} has no {method}: {reason}")):
            getattr(fitted(name), method)


@pytest.mark.parametrize("name", ITERATIVE)
def test_what_an_interrupted_fit_leaves_answers_every_question(name):
    model = impatient(CLASSES[name], 2)(**make(name).get_params())
    if "tol" in model.get_params():
        model.set_params(tol=0.0)
    with pytest.raises(KeyboardInterrupt):
        model.fit(gappy(data()) if name == "PPCA" else data())  # complete data have a closed form: one state
    assert len(model.history_) == 2
    for method in QUESTIONS:
        if reason_against(model, method) is None:
            assert shapes(model, method, answer(model, method)), method


# ---------------------------------------------------------------------- draws
@pytest.mark.parametrize("name", MAPPED)
def test_samples_take_every_kind_of_random_state(name):
    model = fitted(name)
    draws = {kind: model.sample(4, random_state=kind(5))[0] for kind in KINDS}
    for kind, Y in draws.items():
        assert_array_equal(Y, model.sample(4, random_state=kind(5))[0])
    assert any(np.array_equal(draws[int], draws[kind]) for kind in KINDS[1:])
    for kind in KINDS[1:]:
        advancing = kind(5)
        assert not np.array_equal(*(model.sample(4, random_state=advancing)[0] for _ in range(2)))
    assert model.sample(4, random_state=None)[0].shape == (4, data().shape[1])


# ---------------------------------------------------------------------- the map
@pytest.mark.identity
@pytest.mark.parametrize("name", MAPPED)
def test_magnification_is_the_area_element_and_unsure_slopes_only_add_to_it(name):
    model, X = fitted(name), fitted(name).embedding_[:4] + 0.05
    J = model.jacobian(X)
    area = np.sqrt(np.linalg.det(J.transpose(0, 2, 1) @ J))
    assert_allclose(magnification_factors(model, X, expected=False), area, rtol=1e-6, atol=1e-9 * area.max())
    mean, variance = model.map_.moments(X)
    assert mean.shape == variance.shape == (4, data().shape[1])
    assert bool(model.map_.certain_because) == (not variance.any())
    if model.map_.certain_because:
        assert_allclose(magnification_factors(model, X), area, rtol=1e-6, atol=1e-9 * area.max())
    else:
        assert np.all(magnification_factors(model, X) > area)


# ---------------------------------------------------------------------- gaps of new rows
@pytest.mark.identity
@pytest.mark.parametrize("name", FILLING)
def test_a_gap_is_filled_by_the_reconstruction_and_its_deviation_has_the_noise_in_it(name):
    model, Y = fitted(name), gappy(data()[:8], seed=4, share=0.3)
    gaps = np.isnan(Y)
    filled, std = model.impute(Y, return_std=True, calibrated=False)  # the model's own: test_calibration
    clean, noisy = model.reconstruct(Y), model.reconstruct(Y, noise=True)
    assert_allclose(filled[gaps], clean.mean[gaps])
    assert_allclose(std[gaps], noisy.std[gaps])
    assert np.isfinite(model.score_samples(Y)).all()


@pytest.mark.bad_input
@pytest.mark.parametrize("name", FILLING)
def test_places_of_rows_with_gaps_come_best_first_and_as_many_as_asked(name):
    model, Y = fitted(name), gappy(data()[:6], seed=4, share=0.3)
    places = model.place(Y, n_starts=2)
    assert places.X.shape == (6, 2, model.embedding_.shape[1]) and np.all(np.diff(places.values, axis=1) <= 1e-9)
    with pytest.raises(ValueError, match="n_starts must be"):
        model.place(Y, n_starts=0)
