"""Gaussian processes on a grid: the covariance is a Kronecker product and is never built.

With K = signal * K_1 x ... x K_D and the eigenvectors Q_d, Lambda_d of each K_d, everything
that involves C = K + noise * I is a product of a tensor with small matrices, one per mode.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np

from vaecp.runtime.blas import one_thread


def multiply(tensor: np.ndarray, matrices: Sequence[np.ndarray]) -> np.ndarray:
    """Multiply a tensor by one matrix per mode.

    Each step multiplies the first mode and turns it to the end, so all steps are plain
    matrix products, and after the last the modes are in their own order again.
    """
    for matrix in matrices:
        turned = tensor.reshape(len(tensor), -1).T @ matrix.T
        tensor = turned.reshape(*tensor.shape[1:], len(matrix))
    return tensor


@dataclass(frozen=True, eq=False)
class KroneckerSystem:
    """C = signal * (K_1 x ... x K_D) + noise * I, by eigenvalues."""

    vectors: tuple[np.ndarray, ...]
    values: tuple[np.ndarray, ...]
    signal: float
    noise: float

    @classmethod
    def of(cls, kernels: Sequence[np.ndarray], signal: float, noise: float) -> KroneckerSystem:
        with one_thread():
            pairs = [np.linalg.eigh(kernel) for kernel in kernels]
        return cls(
            tuple(vectors for _, vectors in pairs),
            tuple(np.maximum(values, 0.0) for values, _ in pairs),
            signal,
            noise,
        )

    @cached_property
    def spectrum(self) -> np.ndarray:
        """The eigenvalues of K, in the shape of the tensor."""
        return self.signal * reduce(np.multiply.outer, self.values)

    @cached_property
    def total(self) -> np.ndarray:
        """The eigenvalues of C."""
        return self.spectrum + self.noise

    def rotate(self, tensor: np.ndarray) -> np.ndarray:
        """Go to the basis of eigenvectors."""
        return multiply(tensor, [vectors.T for vectors in self.vectors])

    def rotate_back(self, tensor: np.ndarray) -> np.ndarray:
        return multiply(tensor, self.vectors)

    def solve(self, tensor: np.ndarray) -> np.ndarray:
        """Return C^-1 times the tensor."""
        return self.rotate_back(self.rotate(tensor) / self.total)

    def smooth(self, tensor: np.ndarray) -> np.ndarray:
        """Return K C^-1 times the tensor: the posterior mean when every cell is observed."""
        return self.rotate_back(self.rotate(tensor) * (self.spectrum / self.total))

    def diagonal(self, eigenvalues: np.ndarray) -> np.ndarray:
        """Return the diagonal of the matrix with the eigenvectors of C and these eigenvalues."""
        return multiply(eigenvalues, [vectors**2 for vectors in self.vectors])

    def draw(self, random: np.random.Generator) -> np.ndarray:
        """Draw a tensor from N(0, K)."""
        return self.rotate_back(np.sqrt(self.spectrum) * random.normal(size=self.spectrum.shape))


def log_likelihood(
    system: KroneckerSystem, tensors: Sequence[np.ndarray]
) -> tuple[float, list[np.ndarray], float, float]:
    """Return E[log N(y; 0, C)] and its gradients, where E[y y'] is the sum over tensors.

    The gradients are in every K_d, in log signal and in log noise.
    """
    spectrum, total = system.spectrum, system.total
    value = -0.5 * np.sum(np.log(2 * np.pi * total))
    weights = [system.rotate(tensor) / total for tensor in tensors]
    squares = np.sum([weight**2 for weight in weights], axis=0)
    value -= 0.5 * np.sum(squares * total)
    in_signal = 0.5 * np.sum(squares * spectrum - spectrum / total)
    in_noise = 0.5 * system.noise * np.sum(squares - 1 / total)
    gradients = [_in_kernel(system, weights, mode) for mode in range(total.ndim)]
    return float(value), gradients, float(in_signal), float(in_noise)


def _in_kernel(system: KroneckerSystem, weights: Sequence[np.ndarray], mode: int) -> np.ndarray:
    others = [np.ones(1) if other == mode else values for other, values in enumerate(system.values)]
    scale = system.signal * reduce(np.multiply.outer, others)
    axes = tuple(other for other in range(scale.ndim) if other != mode)
    inner = np.diag(-np.sum(scale / system.total, axis=axes))
    for weight in weights:
        unfolded = np.moveaxis(weight * np.sqrt(scale), mode, 0).reshape(len(inner), -1)
        inner += unfolded @ unfolded.T
    vectors = system.vectors[mode]
    return 0.5 * vectors @ inner @ vectors.T


def with_conditional_means(
    system: KroneckerSystem,
    values: np.ndarray,
    observed: np.ndarray,
    guess: np.ndarray,
    tol: float,
    max_iter: int = 200,
) -> np.ndarray:
    """Fill the gaps with their exact conditional mean, given the observed cells.

    At that mean, C^-1 y is zero in every gap. The gaps' block of noise * C^-1 has its
    eigenvalues between the share of the signal that is still seen and 1, so conjugate
    gradients need few steps, where the observed block of C may be singular but for noise.
    """
    filled = np.where(observed, values, guess)
    residual = np.where(observed, 0.0, -system.noise * system.solve(filled))
    direction, square = residual, np.sum(residual**2)
    target = tol**2 * max(np.sum(np.where(observed, values, 0.0) ** 2), 1e-300)
    for _ in range(max_iter):
        if square <= target:
            break
        image = np.where(observed, 0.0, system.noise * system.solve(direction))
        step = square / np.sum(direction * image)
        filled = filled + step * direction
        residual = residual - step * image
        square, before = np.sum(residual**2), square
        direction = residual + (square / before) * direction
    return filled


def conditional_draw(
    system: KroneckerSystem, observed: np.ndarray, random: np.random.Generator, tol: float
) -> np.ndarray:
    """Draw the deviation of the gaps from their conditional mean; 0 in observed cells.

    Matheron's rule: a draw of everything, less its own conditional mean.
    """
    everything = system.draw(random)
    everything = everything + np.sqrt(system.noise) * random.normal(size=everything.shape)
    guess = np.zeros_like(everything)
    return everything - with_conditional_means(system, everything, observed, guess, tol)
