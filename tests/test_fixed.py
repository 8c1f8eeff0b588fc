"""Parameters that stay, that can be set by name, and names that do not exist: kernels, noise models and estimators."""

import copy
import inspect
import pickle
import re
import warnings
from functools import cache, partial

import joblib
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from models import CLASSES, QUICK
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from gplvm_edu import GPLVM, BayesianGPLVM, GaussianProcessGTM, GenerativeClassifier, SparseGPLVM, TSNEPriorGPLVM
from gplvm_edu.base import KernelModel, expected_failed_checks
from gplvm_edu.kernels import (
    MLP,
    RBF,
    Bias,
    Linear,
    Matern32,
    Periodic,
    Sum,
    White,
    common_start,
    in_units,
    leaves,
    noise_is_fixed,
    relative,
    scaled_to_data,
    softplus_slope,
    warn_without_noise,
)
from gplvm_edu.noise import Ordinal, Probit
from gplvm_edu.optimise import check_gradient
from gplvm_edu.prediction import uncertain_regression
from gplvm_edu.tsne import with_bandwidth
from gplvm_edu.variational import Packing, Parameters, bound_and_gradients

KINDS = (Linear, Bias, White, RBF, Matern32, Periodic, MLP)
KERNELS = [
    RBF(1.3, 0.7),
    RBF(1.3, [0.7, 0.2]) + Bias(0.4) + White(0.1),
    (Matern32(1.1, 0.5) + Linear([0.3, 0.8])) * MLP(0.7) + White(0.2),
    Periodic(1.2, 0.3, 4.0) * RBF(0.8, 0.1) + White(0.1),
]
X = np.random.default_rng(0).standard_normal((6, 2))
G = np.random.default_rng(1).standard_normal((6, 6))


@cache
def table():
    """A bent sheet in five columns, of a variance that is far from 1."""
    rng = np.random.default_rng(3)
    X = rng.uniform(-1.5, 1.5, (40, 2))
    Y = (
        X @ rng.standard_normal((2, 5))
        + X**2 @ (0.4 * rng.standard_normal((2, 5)))
        + 0.1 * rng.standard_normal((40, 5))
    )
    Y *= 30.0
    Y.setflags(write=False)
    return Y


def subsets(kernel):
    return st.sets(st.sampled_from(list(kernel.get_params())))


# --- kernels -----------------------------------------------------------------------------------------------------
@pytest.mark.gradient
@given(st.sampled_from(KERNELS), st.data())
def test_gradients_have_no_entry_for_what_is_fixed_and_agree_with_differences(kernel, data):
    names = data.draw(subsets(kernel))
    held = kernel.copy().fix(*names)
    free = [name.split("[")[0] not in names for name in kernel.parameter_names]
    assert_array_equal(held.is_free, free)
    assert held.parameter_names == kernel.parameter_names and held.get_params().keys() == kernel.get_params().keys()
    assert_array_equal(held.theta, kernel.theta[free])
    assert_array_equal(held.gradients(G, X)[1], kernel.gradients(G, X)[1][free])
    assert_array_equal(held.gradients(G[:, :3], X, X[:3])[1], kernel.gradients(G[:, :3], X, X[:3])[1][free])
    assert_array_equal(held.diag_gradients(G[0], X)[1], kernel.diag_gradients(G[0], X)[1][free])
    everything = held.parameter_gradients(G, X)[2]  # in all parameters, whatever is fixed
    assert_allclose((everything * softplus_slope(held.parameters))[free], held.gradients(G, X)[1], rtol=1e-12)

    def value_and_gradient(theta):
        moved = held.copy()
        moved.theta = theta
        return np.sum(G * moved(X)), moved.gradients(G, X)[1]

    if any(free):
        assert check_gradient(value_and_gradient, held.theta) < 1e-6


@given(st.sampled_from(KERNELS), st.data())
def test_what_is_fixed_survives_everything_that_makes_another_kernel_of_one(kernel, data):
    kernel = kernel.copy().fix(*data.draw(subsets(kernel)))
    for twin in (kernel.copy(), clone(kernel), copy.deepcopy(kernel), pickle.loads(pickle.dumps(kernel))):
        assert twin == kernel and twin.fixed == kernel.fixed and joblib.hash(twin) == joblib.hash(kernel)
    assert eval(repr(kernel)) == kernel
    moved = kernel.copy()
    moved.theta = kernel.theta + 1.0
    free = kernel.is_free
    assert_array_equal(moved.parameters[~free], kernel.parameters[~free])
    assert np.all(moved.parameters[free] > kernel.parameters[free])
    if isinstance(kernel, Sum):
        assert (kernel + Bias()).fixed == kernel.fixed
    assert (kernel * Bias(fixed="variance")).fixed[-1] == "bias__variance"
    assert in_units(kernel, 2.0).fixed == (3.0 * kernel).fixed == kernel.fixed
    assert_allclose(in_units(kernel, 2.0)(X), kernel(X) / 4.0, rtol=1e-12)  # a fixed variance has the units of the data
    assert (kernel == kernel.copy().free(*kernel.fixed)) == (not kernel.fixed)


@pytest.mark.parametrize("Kind", KINDS)
def test_every_parameter_of_every_kernel_can_be_fixed_by_its_constructor(Kind):
    names = list(Kind().get_params())
    for name in names:
        kernel = Kind(**{name: 0.7}, fixed=name)
        assert kernel.fixed == (name,) and len(kernel.theta) == len(names) - 1
        assert repr(kernel).endswith(f", fixed={name!r})") and eval(repr(kernel)) == kernel != Kind(**{name: 0.7})
    all_held = Kind(fixed=tuple(names))
    assert all_held.theta.size == 0 and all_held.gradients(G, X)[1].size == 0
    all_held.theta = np.zeros(0)
    assert_array_equal(all_held.parameters, Kind().parameters)
    assert Kind(fixed=()) == Kind(fixed=[]) == Kind() and "fixed" not in repr(Kind())
    assert list(inspect.signature(Kind).parameters)[: len(names)] == names


def test_fixing_and_freeing_by_name_in_a_sum_of_a_product():
    kernel = (RBF() + Bias()) * Linear() + White(0.1)
    assert kernel.fix("product__sum__rbf__inverse_width", "white__variance") is kernel
    assert kernel.fixed == ("product__sum__rbf__inverse_width", "white__variance")
    assert kernel["product"]["sum"]["rbf"].fixed == ("inverse_width",)
    kernel["product"]["linear"].fix("variance")  # a part is the part
    assert len(kernel.theta) == 2 and kernel.free("white__variance").fixed[-1] == "product__linear__variance"
    kernel.set_params(white__variance=0.5, product__linear__variance=3.0, fixed="white__variance")
    assert kernel.fixed == ("white__variance",) and kernel["product"]["linear"].variance == 3.0
    page = kernel._repr_html_()
    assert "<td>0.5 (fixed)</td>" in page and page.count("(fixed)") == 1
    kernel.fixed = ()
    assert "fixed" not in repr(kernel) + kernel._repr_html_()
    with pytest.raises(ValueError, match=r"2 parameters that are not fixed \(rbf__variance, white__variance\)"):
        (RBF(fixed="inverse_width") + White()).theta = np.zeros(3)


def test_a_length_scale_is_the_root_of_one_over_an_inverse_width():
    for Kind in (RBF, Matern32):
        assert Kind(length_scale=2.0) == Kind(inverse_width=0.25) and Kind(length_scale=2.0).length_scale == 2.0
        assert_allclose(Kind(length_scale=[2.0, 0.5]).inverse_width, [0.25, 4.0], rtol=1e-15)
        assert_allclose(Kind(3.0, [0.25, 4.0]).length_scale, [2.0, 0.5], rtol=1e-15)
        with pytest.raises(AttributeError):
            Kind().length_scale = 2.0
        assert Kind().set_params(length_scale=2) == Kind(length_scale=2) != Kind()
        assert Kind(2.0, 3.0).set_params(length_scale=None, variance=1.0) == Kind(1.0, 3.0)  # None states nothing
        assert Kind().set_params(length_scale=[2.0, 0.5]) == Kind(length_scale=[2.0, 0.5])


def test_a_part_of_a_sum_takes_a_length_scale_and_so_does_a_grid():
    kernel = (RBF() * Linear() + RBF() + Matern32() + White()).set_params(
        product__rbf__length_scale=0.5, rbf__length_scale=2, matern32__length_scale=10.0, white__variance=0.1
    )
    assert kernel == RBF(length_scale=0.5) * Linear() + RBF(1, 0.25) + Matern32(1, 0.01) + White(0.1)
    assert not any("length" in name for name in kernel.get_params())
    grid = {"kernel__rbf__length_scale": [0.5, 1.0]}
    for start in (None, RBF() + White(0.1)):
        Y = np.random.default_rng(0).standard_normal((12, 3))
        search = GridSearchCV(GPLVM(kernel=start, max_iter=2), grid, cv=2, error_score="raise")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            search.fit(Y)
        best = search.best_params_["kernel__rbf__length_scale"]
        assert search.best_estimator_.kernel["rbf"].inverse_width == best**-2.0


@pytest.mark.identity
def test_the_gamma_of_scikit_learn_is_half_an_inverse_width():
    X = np.random.default_rng(0).standard_normal((6, 2))
    assert_allclose(RBF(inverse_width=2 * 0.7)(X), rbf_kernel(X, gamma=0.7), rtol=1e-12)


@pytest.mark.bad_input
@pytest.mark.parametrize(
    "call, error, sentence",
    [
        (lambda: RBF(inverse_width=1.0, length_scale=1.0), ValueError, "inverse_width = 1 / length_scale^2"),
        (lambda: Matern32(1.0, 1.0, length_scale=3), ValueError, "inverse_width = 1 / length_scale^2"),
        (lambda: RBF(length_scale=0.0), ValueError, "length_scale of RBF must be finite and above 0, got 0.0"),
        (lambda: RBF(length_scale=[1.0, -1.0]), ValueError, "above 0, got [1.0, -1.0]"),
        (lambda: RBF(length_scale="long"), ValueError, "length_scale of RBF must be an array of numbers, got 'long'"),
        (lambda: RBF(length_scale=1e-70), ValueError, "inverse_width of RBF must be from"),
        (lambda: RBF(lengthscale=1), TypeError, "Did you mean length_scale?"),
        (
            lambda: RBF(width=1),
            TypeError,
            "it has variance, inverse_width, length_scale, fixed. Did you mean inverse_width?",
        ),
        (
            lambda: Periodic(length_scale=1),
            TypeError,
            "inverse_width, period, fixed. An inverse width is 1 / length_scale^2.",
        ),
        (lambda: MLP(length_scale=1), TypeError, "it has variance, weight_variance, bias_variance, fixed."),
        (lambda: White(noise=1), TypeError, "White has no parameter 'noise'; it has variance, fixed."),
        (lambda: RBF().set_params(length_scale=1, inverse_width=1), ValueError, "1 / length_scale^2, so one says it"),
        (
            lambda: (RBF() + White()).set_params(rbf__inverse_width=1, rbf__length_scale=1),
            ValueError,
            "RBF takes inverse_width or length_scale",
        ),
        (
            lambda: RBF().set_params(length_scale=-1),
            ValueError,
            "length_scale of RBF must be finite and above 0, got -1",
        ),
        (lambda: (Periodic() + White()).set_params(periodic__length_scale=1), ValueError, "is 1 / length_scale^2"),
        (lambda: (RBF() + White()).set_params(white__length_scale=1), ValueError, "no parameter 'white__length_scale'"),
        (lambda: RBF(gamma=1), TypeError, "exp(-gamma |x - z|^2), inverse_width = 2 gamma"),
        (lambda: (RBF() + RBF()).set_params(rbf2__gamma=1), ValueError, "inverse_width = 2 gamma"),
        (lambda: (RBF() + White()).set_params(rbf_variance=1), ValueError, "Did you mean rbf__variance?"),
        (lambda: RBF(fixed="inverse_widht"), ValueError, "Did you mean inverse_width?"),
        (lambda: RBF(fixed=3), ValueError, "fixed must be the name of a parameter or a tuple of names, got 3"),
        (lambda: (RBF() + White()).fix("inverse_width"), ValueError, "Did you mean rbf__inverse_width?"),
        (lambda: RBF().free("period"), ValueError, "RBF has no parameter 'period'"),
        (lambda: Ordinal(fixed="scale"), ValueError, "Ordinal learns cuts and can hold that"),
        (lambda: Probit(fixed=1), ValueError, "fixed must be the name of a parameter"),
        (lambda: noise_is_fixed(RBF() + White(0.1) + White(0.2, fixed="variance")), ValueError, "fix all or none"),
        (lambda: with_bandwidth(RBF(fixed="inverse_width"), 2.0), ValueError, "an inverse width that is not fixed"),
    ],
)
def test_what_can_not_be_named_or_fixed_gets_a_sentence(call, error, sentence):
    with pytest.raises(error, match=re.escape(sentence)):
        call()


def test_a_relative_kernel_is_in_units_of_the_data_and_stays_so_until_a_fit_scales_it():
    kernel = common_start()
    assert kernel == relative(common_start(1.0)) != common_start(1.0)
    assert eval(repr(relative(RBF() + White(0.1)))) == relative(RBF() + White(0.1))
    for twin in (kernel.copy(), clone(kernel), pickle.loads(pickle.dumps(kernel)), 1.0 * kernel):
        assert twin.relative and twin == kernel
    assert (kernel + Linear()).relative and (Bias() * relative(RBF())).relative and not (RBF() + White()).relative
    assert not any(leaf.relative for leaf in leaves(kernel + relative(RBF())))
    for v in (1e-4, 7.3, 1e4):
        assert scaled_to_data(kernel, v) == common_start(v) and not scaled_to_data(kernel, v).relative
        assert scaled_to_data(common_start(2.0), v) == common_start(2.0)
    held = scaled_to_data(relative(RBF(fixed="variance") + White(0.1)), 4.0, inverse_width=0.5)
    assert held == RBF(4.0, 0.5, fixed="variance") + White(0.4)


# --- noise models ------------------------------------------------------------------------------------------------
def test_noise_learns_but_for_what_is_fixed():
    rng = np.random.default_rng(0)
    f = rng.standard_normal((300, 2))
    for free, held, name in (
        (Ordinal(cuts=[-1.0, 0.1]), Ordinal(cuts=[-1.0, 0.1], fixed="cuts"), "cuts"),
        (Probit([0.1, 0.2]), Probit([0.1, 0.2], fixed="bias"), "bias"),
    ):
        Y = type(free)(**{name: np.array(getattr(free, name)) + 0.5}).sample(f, 0)
        learnt, stayed = free.learn(Y, f, 0.1), held.learn(Y, f, 0.1)
        assert not np.allclose(getattr(learnt, name), getattr(free, name), atol=0.1)
        assert stayed == held != free and stayed is not held and held.start(Y).fixed == (name,)
        assert repr(held).endswith(f", fixed={name!r})") and "fixed" not in repr(free)
    open_ = Probit(fixed="bias").start(np.sign(f))
    assert open_.learn(np.sign(f) * [[1, -1]], f, 0.1) == open_ and open_.bias is not None


def test_noise_with_several_parameters_learns_those_that_are_free():
    class Shifted(Ordinal):
        """Its first cut and the gaps after it are two parameters: the smallest model with a mask of its own."""

        learnt = ("cuts", "gaps")

        @property
        def is_free(self):
            return np.arange(self.theta.size) == 0 if "gaps" in self.fixed else super().is_free

        gaps = property(lambda self: np.diff(self.cuts), lambda self, value: None)

    f = np.random.default_rng(0).standard_normal(400)
    Y = Ordinal(cuts=[-0.5, 0.5, 1.0]).sample(f, 0)
    learnt = Shifted(cuts=[-1.0, 0.5, 1.5], fixed="gaps").learn(Y, f, 0.1)
    assert_allclose(np.diff(learnt.cuts), [1.5, 1.0], rtol=1e-12)
    assert abs(learnt.cuts[0] + 1.0) > 0.05


# --- fits --------------------------------------------------------------------------------------------------------
V = 1000.0
FITS = {
    "GPLVM": partial(GPLVM, max_iter=15),
    "GPLVM scg": partial(GPLVM, max_iter=15, optimiser="scg", latent_prior=None),
    "SparseGPLVM": partial(SparseGPLVM, n_active=15, max_iter=3),
    "SparseGPLVM, kernel only": partial(SparseGPLVM, n_active=15, max_iter=3, optimise_active=False),
    "BayesianGPLVM": partial(BayesianGPLVM, 2, 10, max_iter=15, random_state=0),
    "BayesianGPLVM point": partial(BayesianGPLVM, 2, 10, latent="point", max_iter=15, random_state=0),
    "TSNEPriorGPLVM": partial(TSNEPriorGPLVM, temperature=1e-2, learn_kernel=True, init="pca", max_iter=15),
}


def values(kernel):
    """{name: numbers}; the White of a Bayesian GP-LVM comes last, wherever it stood."""
    return {name: np.ravel(value) for name, value in sorted(kernel.get_params().items())}


@pytest.mark.parametrize("fixed", ["rbf__inverse_width", "rbf__variance", "white__variance", "all"])
@pytest.mark.parametrize("name", FITS)
def test_a_fit_leaves_what_is_fixed_and_moves_the_rest(name, fixed):
    kernel = RBF(V, 0.8) + Bias(0.1 * V) + White(0.05 * V)
    held = tuple(kernel.get_params()) if fixed == "all" else (fixed,)
    kernel.fixed = held
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = FITS[name](kernel=kernel).fit(table())
    before, after = values(kernel), values(model.kernel_)
    if name == "GPLVM":  # with the prior the width is held in any case
        held = tuple({*held, "rbf__inverse_width"})
    assert set(model.kernel_.fixed) == set(held)
    for one in before:
        moved = np.max(np.abs(after[one] / before[one] - 1.0))
        if one in held:
            assert moved <= (4e-16 if name.startswith("Bayesian") else 0.0), (
                one
            )  # to the rounding of units, or not at all
        elif one != "bias__variance":  # of centred data, the flattest direction
            assert moved > 1e-4, one
    assert model.history_[-1] > model.history_[0]
    assert kernel == (RBF(V, 0.8) + Bias(0.1 * V) + White(0.05 * V)).fix(*kernel.fixed)  # the one passed in stays
    assert (set(kernel.fixed) == set(kernel.get_params())) == (fixed == "all")


def test_an_all_fixed_kernel_and_fixed_active_rows_leave_nothing_to_move():
    kernel = (RBF(V) + White(0.1 * V)).fix("rbf__variance", "rbf__inverse_width", "white__variance")
    model = SparseGPLVM(n_active=10, max_iter=2, optimise_active=False, kernel=kernel).fit(table())
    assert model.kernel_ == kernel and model.n_evaluations_ == 0


def test_a_sheet_and_a_regression_keep_what_is_fixed():
    kernel = RBF(V, 3.0, fixed="inverse_width")
    assert GaussianProcessGTM(grid=(4, 4), kernel=kernel, max_iter=5).fit(table()).kernel_ == kernel
    x = np.linspace(-2.0, 2.0, 25)[:, None]
    kernel = RBF(0.5, 2.0, fixed="inverse_width") + White(0.03, fixed="variance")
    *_, last = uncertain_regression(np.sin(2 * x), x, 0.01 + 0 * x, 6, kernel, max_iter=20)
    assert last.parameters.kernel.inverse_width == 2.0 and last.parameters.noise_variance == 0.03
    assert abs(last.parameters.kernel.variance - 0.5) > 0.01


def test_chosen_bandwidths_stand_in_the_place_of_widths_that_are_not_fixed():
    kernel = RBF(1.0, 5.0, fixed="inverse_width") + Matern32() + White(0.1)
    assert with_bandwidth(kernel, 2.0) == RBF(1.0, 5.0, fixed="inverse_width") + Matern32(1.0, 0.25) + White(0.1)


@pytest.mark.gradient
@pytest.mark.parametrize("fixed_noise", [False, True])
@pytest.mark.parametrize("fixed", [(), "inverse_width", "variance", ("variance", "inverse_width")])
def test_the_bound_is_climbed_in_what_is_free(fixed, fixed_noise):
    rng = np.random.default_rng(0)
    Y, mu = rng.standard_normal((7, 3)), rng.standard_normal((7, 2))
    start = Parameters(mu, np.full(mu.shape, 0.2), mu[:3].copy(), RBF(1.2, [0.7, 0.3], fixed=fixed), 0.1)
    packing, all_free = Packing(start, 1e-8, fixed_noise), Packing(start._replace(kernel=RBF(1.2, [0.7, 0.3])), 1e-8)
    n_held = 3 - len(start.kernel.theta) + fixed_noise
    assert len(packing.pack(start)) == len(all_free.pack(start)) - n_held
    again = packing.unpack(packing.pack(start) + 0.1)
    assert (again.noise_variance == 0.1) == fixed_noise
    held = ~start.kernel.is_free
    assert_array_equal(again.kernel.parameters[held], start.kernel.parameters[held])

    def value_and_gradient(x):
        parameters = packing.unpack(x)
        terms, gradients = bound_and_gradients(Y, parameters)
        return terms.elbo, packing.pull_back(parameters, gradients)

    assert check_gradient(value_and_gradient, packing.pack(start)) < 1e-6


# --- grids, and the default kernel by name -------------------------------------------------------------------------
def test_a_grid_over_a_fixed_width_is_a_grid_over_the_width():
    widths = [0.1, 1.0, 10.0]
    model = GPLVM(kernel=RBF(V, fixed="inverse_width") + White(0.1 * V), max_iter=10)
    ends = [clone(model).set_params(kernel__rbf__inverse_width=w).fit(table()).kernel_["rbf"] for w in widths]
    assert [end.inverse_width for end in ends] == widths
    assert len({end.variance for end in ends}) == 3 and V not in {end.variance for end in ends}
    grid = GridSearchCV(model, {"kernel__rbf__inverse_width": widths}, cv=2).fit(table())
    assert grid.best_estimator_.kernel_["rbf"].inverse_width == grid.best_params_["kernel__rbf__inverse_width"]
    assert np.isfinite(grid.cv_results_["mean_test_score"]).all()
    assert len(set(grid.cv_results_["mean_test_score"])) == 3
    assert model.kernel["rbf"].inverse_width == 1.0  # the one passed in is not changed


def test_a_grid_over_the_default_kernel():
    searched = make_pipeline(StandardScaler(), GPLVM(max_iter=5))
    searched.set_params(gplvm__kernel__fixed="rbf__inverse_width")
    grid = GridSearchCV(searched, {"gplvm__kernel__rbf__inverse_width": [0.1, 2.0]}, cv=2).fit(table())
    model = grid.best_estimator_[-1]
    assert model.kernel_["rbf"].inverse_width == grid.best_params_["gplvm__kernel__rbf__inverse_width"]
    assert GPLVM().kernel is None


DEFAULTS = {
    "GPLVM": "rbf__inverse_width",
    "SparseGPLVM": "rbf__inverse_width",
    "TSNEPriorGPLVM": "rbf__inverse_width",
    "BayesianGPLVM": "rbf__inverse_width",
    "GenerativeClassifier": "rbf__inverse_width",
    "GaussianProcessGTM": "inverse_width",
    "KernelPCA": "inverse_width",
    "ProbabilisticKernelPCA": "inverse_width",
}


def fitted(model, scale=1.0):
    labels = np.arange(len(table())) % 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return (
            model.fit(scale * table(), labels)
            if isinstance(model, GenerativeClassifier)
            else model.fit(scale * table())
        )


def kernel_of(model):
    return model.models_[0].kernel_ if isinstance(model, GenerativeClassifier) else model.kernel_


def test_every_model_whose_kernel_may_be_none_is_here():
    takes = {name for name, one in CLASSES.items() if "kernel" in inspect.signature(one).parameters}
    assert takes == set(DEFAULTS) == {name for name, one in CLASSES.items() if issubclass(one, KernelModel)}


@pytest.mark.parametrize("name", DEFAULTS)
def test_the_default_kernel_can_be_set_by_name_and_is_scaled_to_the_data(name):
    make = partial(CLASSES[name], **QUICK.get(name, {}), **({} if name == "KernelPCA" else {"random_state": 0}))
    parameter = f"kernel__{DEFAULTS[name]}"
    plain = make()
    kernel = plain.default_kernel()
    assert plain.kernel is None and kernel.relative and plain.get_params()["kernel"] is None
    same = make().set_params(**{parameter: kernel.get_params()[DEFAULTS[name]]})  # its own value: nothing changes
    assert same.kernel == kernel and same.get_params()[parameter] == kernel.get_params()[DEFAULTS[name]]
    if name != "TSNEPriorGPLVM":  # there None means that the width is chosen, too
        assert kernel_of(fitted(same)) == kernel_of(fitted(plain))
    assert not kernel_of(fitted(same)).relative
    other = make().set_params(**{parameter: 0.3})
    assert clone(other).kernel == other.kernel and clone(other).kernel is not other.kernel
    assert other.get_params()[parameter] == 0.3 and kernel_of(fitted(other)) != kernel_of(fitted(same))
    one, ten = kernel_of(fitted(other)), kernel_of(fitted(clone(other), 8.0))
    if name in ("KernelPCA", "ProbabilisticKernelPCA"):  # their inputs are the data
        assert_allclose(ten.inverse_width, one.inverse_width / 64.0, rtol=1e-12)
    else:
        assert_allclose(ten.parameters, in_units(one, 1.0 / 8.0).parameters, rtol=1e-4)
    assert other.set_params(kernel=None, **{parameter: 0.4}).kernel == kernel.set_params(**{DEFAULTS[name]: 0.4})


def test_a_width_set_on_the_default_is_the_width_of_a_kernel_given_in_the_units_of_the_data():
    Y = table()
    v = np.mean((Y - Y.mean(axis=0)) ** 2)
    given = RBF(v, 0.3) + Bias(v * np.exp(-2.0)) + White(0.1 * v)
    by_name = fitted(GPLVM(max_iter=5).set_params(kernel__rbf__inverse_width=0.3))
    assert_allclose(by_name.kernel_start_.parameters, given.parameters, rtol=1e-12)
    assert_allclose(by_name.kernel_.parameters, fitted(GPLVM(max_iter=5, kernel=given)).kernel_.parameters, rtol=1e-6)


@pytest.mark.contract
@pytest.mark.parametrize(
    "model",
    [
        GPLVM(max_iter=3).set_params(kernel__rbf__inverse_width=0.5),
        SparseGPLVM(n_active=8, max_iter=1).set_params(kernel__fixed="rbf__inverse_width"),
        BayesianGPLVM(2, 8, max_iter=3).set_params(kernel__white__variance=0.1, kernel__fixed="white__variance"),
        GaussianProcessGTM(grid=(4, 4), max_iter=5).set_params(kernel__inverse_width=2.0),
    ],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.filterwarnings("ignore:Skipping check check_array_api", "ignore:.*exact copies")
def test_the_scikit_learn_contract_holds_with_a_default_kernel_that_was_set(model):
    check_estimator(model, expected_failed_checks=expected_failed_checks(model), on_skip=None)


# --- kernels without noise -----------------------------------------------------------------------------------------
@pytest.mark.parametrize("make", [partial(GPLVM, max_iter=2), partial(TSNEPriorGPLVM, init="pca", max_iter=2)])
def test_a_kernel_without_noise_gets_a_warning_that_says_what_to_add(make):
    v = np.mean((table() - table().mean(axis=0)) ** 2)
    with pytest.warns(UserWarning, match=re.escape("no White part: the noise is then only the jitter")) as caught:
        make(kernel=RBF(V)).fit(table())
    texts = [str(one.message) for one in caught if "White" in str(one.message)]
    assert len(texts) == 1 and texts[0].endswith(f"here kernel + White({0.1 * v:.3g}).")
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*White part")
        make().fit(table())
        make(kernel=RBF(V) + White(V)).fit(table())
        warn_without_noise((RBF() + White()) * Linear(), 1.0)  # inside a product it is noise too


# --- names that do not exist ---------------------------------------------------------------------------------------
@pytest.mark.bad_input
@pytest.mark.parametrize("name", CLASSES)
def test_an_unknown_name_of_a_parameter_is_answered_with_the_nearest(name):
    Model = CLASSES[name]
    for right in inspect.signature(Model).parameters:
        wrong = right[:-1] + ("" if len(right) > 3 else "x")
        if wrong in Model().get_params():
            continue
        sentence = f"{name} has no parameter {wrong!r}; it has .*{right}.*Did you mean {right}\\?"
        with pytest.raises(TypeError, match=sentence):
            Model(**{wrong: 1})
        with pytest.raises(ValueError, match=sentence):
            Model().set_params(**{wrong: 1})
        with pytest.raises(ValueError, match=f"{name} has no parameter '{wrong}__inner'"):
            Model().set_params(**{f"{wrong}__inner": 1})


@pytest.mark.parametrize("name", CLASSES)
def test_the_signature_is_that_of_the_constructor(name):
    parameters = inspect.signature(CLASSES[name]).parameters
    assert set(parameters) == set(CLASSES[name]().get_params())
    assert {one.kind for one in parameters.values()} == {inspect.Parameter.POSITIONAL_OR_KEYWORD}
    assert (
        CLASSES[name].__init__.__name__ == "__init__" and CLASSES[name].__init__.__module__ == CLASSES[name].__module__
    )
