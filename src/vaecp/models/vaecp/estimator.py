"""VAECP: Bayesian nonlinear tensor decomposition by a variational auto-encoder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from sklearn.utils import ClassifierTags
from sklearn.utils.validation import check_is_fitted

from vaecp.data.features import with_features
from vaecp.data.observations import Observations
from vaecp.data.stored import StoredEntries
from vaecp.models.base import TensorEstimator, own_names
from vaecp.models.fitted import FitResult
from vaecp.models.keeping import check_processes, checkpointed
from vaecp.models.vaecp.choosing import choose
from vaecp.models.vaecp.fitted import FittedVAECP
from vaecp.models.vaecp.fitting import Settings, fit
from vaecp.models.vaecp.likelihoods import Bernoulli
from vaecp.models.vaecp.progress import part_of
from vaecp.models.vaecp.recipe import Recipe
from vaecp.models.vaecp.relevance import effective_rank, rank_range
from vaecp.models.vaecp.streaming import fit_stored
from vaecp.runtime.blas import one_thread
from vaecp.runtime.progress import progress_bar


class VAECP(TensorEstimator):
    """Fill a tensor with an ensemble of models on Gaussian latent rows.

    Every row of every mode has a latent vector with a Gaussian posterior and a learned prior. A
    member turns the rows of an entry into the mean of its value: by their product, as in CP, by
    effects of single rows, and by a small neural network. Labels not seen in training are
    predicted from the learned prior, with a wider standard deviation.

    The default is more than the published model (see `VAECP.paper`), which is one of its members:

    - *Members of several kinds*: row effects alone, multilinear ones of several ranks, with rows
      that vary smoothly along ordered modes (wavelengths, times) or freely, and ones with a
      network. Multilinear members are trained by closed-form sweeps, in milliseconds to seconds;
      members with a network by the reparameterised evidence bound. Members of three modes or more
      may have effects of pairs of rows: what a sender has with one receiver, at any time.
    - *Held-out entries decide* which ranks, how long, how many. Some are held out of every kind of
      gap: scattered cells, whole fibres, blocks and rows, as the gaps of the tensor lie.
    - *Stacking*: how much a member counts at a cell depends on its support, which is how much is
      known around it.
    - *Neighbours*: residuals around an entry along ordered modes correct it where that helps.
    - *Calibration*: held-out entries give the size of errors as a function of support, and their
      shape. They also choose the members, so this is a little optimistic.

    Parameters
    ----------
    rank : width of the latent rows; None lets held-out entries choose, from 0 (row effects) to 64.
    likelihood : what kind of values there are: "gaussian" (real numbers), "student-t" (with outliers),
        "bernoulli" (0 or 1), "poisson", "negative-binomial" or "large-counts" (counts), "ordinal" (few
        levels, such as stars), "log-normal" (positive amounts), "logit-normal" (between two bounds), "non-negative";
        "auto" looks at the values, and lets held-out entries decide where two are plausible.
    hidden : units of the tanh layer of members with a network; None chooses.
    effort : "quick", "normal" or "thorough": how many members and ranks are tried, how long. Or a
        number of seconds that the search may take: then the clock ends it, the same seed may give
        other bits, and no member with a network is trained.
    n_members : how many fits are blended; None chooses.
    max_epochs : passes over the entries of members that are trained by gradients; None chooses.
    smooth : whether the rows of modes with an order (the values tell) are expected to vary
        smoothly, as far as the data support it.
    neighbours : whether residuals of neighbouring entries may correct a prediction. The model
        then keeps the training entries.
    recipe : details of training, a `vaecp.Recipe`; None is the default one.
    random_state : seed. The same seed on the same CPU gives the same bits.
    verbose : show a progress bar.
    devices : where members with a network are trained: a JAX device, its kind such as "cpu" or
        "gpu", "all", or a list of devices or of their places in `jax.devices()`; None leaves it
        to JAX. Several devices share the entries.

    Attributes
    ----------
    factors_ : posterior means of the rows per mode, of the member that counts most.
    history_ : DataFrame with the course of training, one row per step and member.
    likelihood_ : the likelihood that was used, by name; `diagnostics_.found` says why.
    effective_rank_ : how many components of that member the data support.
    effective_rank_range_ : from how many to how many, over members and what is unknown of their rows.
    labels_, mode_names_, n_features_in_, n_iter_

    References
    ----------
    Liu, Xu, Li (2016). Tensor Decomposition via Variational Auto-Encoder.

    Examples
    --------
    >>> keys = [("a", 1), ("a", 2), ("b", 1), ("b", 2), ("c", 1)]
    >>> model = VAECP(rank=2, random_state=0)
    >>> mean, std = model.fit(keys, [1.0, 2.0, 2.0, 4.0, 3.0]).predict([("c", 2)], return_std=True)
    >>> mean.shape, bool(std[0] > 0)
    ((1,), True)
    """

    fitted_type = FittedVAECP
    recipe_type: ClassVar[type] = Recipe
    uses_features: ClassVar[bool] = True
    fitted_: FittedVAECP
    stream_values_: np.ndarray
    n_fitted_: int

    def __init__(
        self,
        rank: int | None = None,
        *,
        likelihood: str = "auto",
        hidden: int | None = None,
        effort: str | float = "normal",
        n_members: int | None = None,
        max_epochs: int | None = None,
        smooth: bool = True,
        neighbours: bool = True,
        recipe: Recipe | None = None,
        random_state: Any = None,
        verbose: bool = False,
        devices: Any = None,
    ) -> None:
        self.rank = rank
        self.likelihood = likelihood
        self.hidden = hidden
        self.effort = effort
        self.n_members = n_members
        self.max_epochs = max_epochs
        self.smooth = smooth
        self.neighbours = neighbours
        self.recipe = recipe
        self.random_state = random_state
        self.verbose = verbose
        self.devices = devices

    @classmethod
    def paper(
        cls,
        rank: int = 20,
        hidden: int = 100,
        learning_rate: float = 5e-5,
        max_epochs: int = 500,
        **settings: Any,
    ) -> Self:
        """Return exactly the published model and settings, to compare with.

        Batches of 30, one draw, a constant rate (1e-4 for synthetic, 1e-5 to 5e-5 for real
        data), one prior shared by all modes, the network alone, both heads and the whole KL
        from the first step, one fit to all entries.

        The paper does not say how many epochs it trains, so `max_epochs` is ours, nor how it
        starts: here row means are drawn from Normal(0, 1) with posterior standard deviations of
        0.05, weights from Normal(0, 1 / inputs), the prior is Normal(0, 1) and biases are 0.
        Values are standardised, by the training entries.
        """
        published = {
            "likelihood": "gaussian",
            "hidden": hidden,
            "n_members": 1,
            "max_epochs": max_epochs,
            "smooth": False,
            "neighbours": False,
            "recipe": Recipe.paper(learning_rate),
        }
        return cls(rank, **published | settings)

    def fit(
        self,
        X: Any,
        y: Any,
        row_features: Mapping[str, pd.DataFrame] | None = None,
        *,
        lower: Any = None,
        upper: Any = None,
        checkpoint: str | Path | None = None,
    ) -> Self:
        """Learn from the entries with labels X (one column per mode) and values y.

        Parameters
        ----------
        X, y : labels and values.
        row_features : what is known about rows: per mode, by its name, a table with one row per
            label. Its column with the name of the mode holds the labels, or else its index. Columns
            of numbers, categories or times may have missing values. The prior mean of a row is
            then a learned function of its features, as far as held-out entries (some rows whole)
            gain by it. Labels without entries are predicted from their features.
        lower, upper : where y is NaN, between which limits the value lies, as of a saturated
            detector; NaN is no limit.
        checkpoint : a folder in which the fit keeps how far it has come, every three minutes. After
            an interruption the same fit goes on from there, to the same result.

        Examples
        --------
        >>> table = pd.DataFrame(np.argwhere(np.ones((12, 20))), columns=["user", "film"])
        >>> hours = np.random.default_rng(0).normal(4, 1, len(table)) + 3 * (table["film"] % 2)
        >>> films = pd.DataFrame({"film": range(22), "series": [0, 1] * 11})  # the last two are new
        >>> model = VAECP(random_state=0).fit(table, hours, row_features={"film": films})
        >>> film, series = model.predict(pd.DataFrame({"user": [3, 3], "film": [20, 21]}))
        >>> bool(film + 2 < series)
        True
        >>> keys = [(i, j) for i in range(6) for j in range(5)]
        >>> values = np.array([(1.0 + i) * (1 + j) for i, j in keys])
        >>> shown = np.where(values < 20, values, np.nan)  # the detector saturates at 20
        >>> model = VAECP(random_state=0).fit(keys, shown, lower=np.where(values < 20, np.nan, 20))
        >>> bool(model.predict([(5, 4)])[0] > 20)
        True
        """
        observations, names = self._observations_of(X, y, lower=lower, upper=upper)
        if row_features is not None:
            observations = with_features(observations, row_features)
        with checkpointed(self, observations, checkpoint):
            return self._learn(observations, names)

    def fit_tensor(
        self, observations: Observations | StoredEntries, checkpoint: str | Path | None = None
    ) -> Self:
        """Learn from `Observations`, or what `scan` returned; `checkpoint` is that of `fit`."""
        check_processes(self, observations)
        with checkpointed(self, observations, checkpoint):
            return super().fit_tensor(observations)

    def partial_fit(
        self,
        X: Any,
        y: Any,
        forget: float = 1.0,
        row_features: Mapping[str, pd.DataFrame] | None = None,
    ) -> Self:
        """Learn from further entries, of known rows and of new ones, without the earlier ones.

        The first call is a `fit`. In later ones the posterior of each row is its prior (streaming
        variational Bayes), and a new row has the learned prior of its mode. Ranks, members and
        their weights are those of the last fit, and a first part says little about them: so a
        stream is fitted again whenever its entries have doubled. For that, the model keeps their
        values. After a plain `fit`, or with `forget`, it does not.

        Parameters
        ----------
        X, y, row_features : as of `fit`; row_features in the first call alone.
        forget : how much of what was known counts, from 0 (nothing) to 1 (all, the default); for
            values that drift, try 0.9 to 0.99.

        References
        ----------
        Broderick, Boyd, Wibisono, Wilson and Jordan (2013). Streaming variational Bayes.
        """
        if not 0 <= forget <= 1:
            raise ValueError(f"forget is {forget!r}: use a number from 0 to 1, such as 0.95.")
        if not hasattr(self, "fitted_"):
            return self.fit(X, y, row_features)._with_stream(y)
        if row_features is not None:
            raise ValueError(
                "row_features is given to a model that is fitted: give it to the first partial_fit, "
                "with the labels that are to come, or fit again."
            )
        joining, scaling = self._joining(X, y)
        with one_thread(), self._on_device():
            grown = self._grown(joining, scaling, self.fitted_.streamed(joining, forget))
        stream = getattr(self, "stream_values_", None)
        vars(self).update(vars(grown))
        n_entries = len(self.fitted_.support.indices)
        if stream is None or forget < 1 or len(stream) + len(joining.values) != n_entries:
            vars(self).pop("stream_values_", None)
            return self
        self.stream_values_ = np.concatenate([stream, np.asarray(y, dtype=np.float64)])
        return self._fitted_again() if n_entries >= 2 * self.n_fitted_ else self

    def _fitted_again(self) -> Self:
        names = tuple(getattr(self, "feature_names_in_", ()))
        observations = Observations(
            self.fitted_.support.indices,
            self.stream_values_,
            self.shape_,
            self.mode_names_,
            self.labels_,
            self.value_name_,
            features=self.fitted_.known_features,
        )
        return self._learn(observations, names)._with_stream(observations.values)

    def _with_stream(self, values: Any) -> Self:
        self.stream_values_ = np.array(values, dtype=np.float64)
        self.n_fitted_ = len(self.stream_values_)
        return self

    @property
    def effective_rank_(self) -> int:
        """How many components of the member that counts most rise above the noise."""
        check_is_fitted(self)
        return effective_rank(self.fitted_.ensemble, self.fitted_.main)

    @property
    def effective_rank_range_(self) -> tuple[int, int]:
        """The fewest and the most components above the noise, over members and their posteriors."""
        check_is_fitted(self)
        low, high = rank_range(self.fitted_.ensemble)
        return min(low, self.effective_rank_), max(high, self.effective_rank_)

    @property
    def history_(self) -> pd.DataFrame:
        """The course of training, one row per step and member."""
        check_is_fitted(self)
        return self.diagnostics_.by_member()

    def _learn(self, observations: Observations, names: Sequence[str]) -> Self:
        settings = Settings.of(self)
        with one_thread(), progress_bar("VAECP", self.verbose) as watch:
            choice, why, share = choose(observations, self.likelihood, settings, watch)
            likelihood, scaling = choice.kind.of(observations.values), choice.scaling(observations)
            settings, left = replace(settings, likelihood=likelihood), part_of(watch, share, 1.0)
            result = fit(observations.scaled(scaling), settings, self._random(), left)
            result.diagnostics.found.update(likelihood=choice.kind.name, likelihood_reason=why)
            return self._take_over(observations, scaling, result, names)

    def _learn_stored(self, entries: StoredEntries) -> Self:
        settings = Settings.of(self)
        with one_thread(), progress_bar("VAECP", self.verbose) as on_progress:
            learned = fit_stored(entries, self.likelihood, settings, self._random(), on_progress)
        self._take_over(learned.sample, learned.scaling, learned.result, own_names(learned.sample))
        self.observed_rows_ = tuple(counts > 0 for counts in entries.counts)
        return self

    def _fit(self, observations: Observations, random: np.random.Generator) -> FitResult:
        return fit(observations, Settings.of(self), random)

    def _check_kind(self, values: np.ndarray, scaled: np.ndarray) -> None:
        super()._check_kind(values, scaled)
        self.fitted_.likelihood.check(values)

    @property
    def likelihood_(self) -> str:
        """The likelihood that was used."""
        check_is_fitted(self)
        return self.fitted_.likelihood.name

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        fitted = getattr(self, "fitted_", None)
        name = fitted.likelihood.name if fitted is not None else self.likelihood
        if name in ("bernoulli", *Bernoulli.aliases):  # scorers of classifiers then work
            tags.estimator_type, tags.regressor_tags = "classifier", None
            tags.classifier_tags = ClassifierTags(poor_score=True, multi_class=False)
        return tags
