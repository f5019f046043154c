"""Additions to memory from a Pallas kernel, in any order.

Pallas orders all of memory before and after each of its own atomic additions, which a sum does
not need: relaxed ones halve the time of the kernel. They are made of parts of JAX that are not
public: where a version of JAX has changed them, Pallas' own additions serve.
"""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton


def add(ref: Any, place: tuple[Any, ...], terms: Array, mask: Array | None = None) -> None:
    """Add terms to the elements of `ref` at `place`, where the mask says so."""
    if mask is None:
        mask = jnp.ones(jnp.shape(terms), dtype=bool)
    (_relaxed_add() or triton.atomic_add)(ref, place, terms, mask=mask)


@functools.cache
def _relaxed_add() -> Any:
    """The addition, or None where this version of JAX cannot make it."""
    try:
        found = _make()
        _lower(found)
    except Exception:  # parts that are not public may change in any way
        return None
    return found


def _make() -> Any:
    from jax._src.lib.triton import dialect
    from jax._src.pallas import primitives as pallas_primitives
    from jax._src.pallas.triton import lowering
    from jax._src.state import primitives as state_primitives
    from jax.extend.core import Primitive

    primitive: Any = Primitive("relaxed_add")
    private: Any = lowering

    @primitive.def_effectful_abstract_eval
    def _(*shapes, args_tree):
        return pallas_primitives._swap_abstract_eval(*shapes, args_tree=args_tree)

    @private.register_lowering(primitive)
    def _(context, *args, args_tree):
        pointer, (place,), terms, mask = args_tree.unflatten(args)
        *_, shape_of_terms, shape_of_mask = args_tree.unflatten(context.avals_in)
        return private._atomic_rmw(
            dialect.RMWOp.FADD,
            private._compute_pointers_from_indices(pointer, context.block_infos[0], place),
            private._ensure_ir_value(terms, shape_of_terms),
            mask=private._ensure_ir_value(mask, shape_of_mask),
            semantic=dialect.MemSemantic.RELAXED,
        )

    def relaxed_add(ref, place, terms, *, mask):
        bare, transforms = state_primitives.get_ref_and_transforms(ref, place, "relaxed_add")
        args, tree = jax.tree.flatten((bare, transforms, terms, mask))
        return primitive.bind(*args, args_tree=tree)

    return relaxed_add


def _lower(relaxed_add: Any) -> str:
    """Turn a small kernel into Triton's language, for which no GPU is needed."""

    def kernel(terms, _, sums):
        columns = jnp.arange(8)
        relaxed_add(sums, (columns,), triton.load(terms.at[columns]), mask=columns < 6)

    call = pl.pallas_call(
        kernel,
        out_shape=jax.ShapeDtypeStruct((8,), jnp.float32),
        input_output_aliases={1: 0},
        compiler_params=triton.CompilerParams(num_warps=1),
    )
    eight = jax.ShapeDtypeStruct((8,), jnp.float32)
    return jax.jit(call).trace(eight, eight).lower(lowering_platforms=("cuda",)).as_text()
