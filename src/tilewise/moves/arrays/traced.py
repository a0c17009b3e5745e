"""`move` as operators of torch, which torch.compile keeps whole: layouts are their arguments as text.

The module is imported only where torch traces. Without torch it registers nothing.
"""

from __future__ import annotations

import ctypes
import sys
from ast import literal_eval
from functools import lru_cache
from typing import Any

from tilewise.core.dtypes import DType
from tilewise.core.errors import of_kind
from tilewise.core.layout import Layout
from tilewise.moves.arrays.run import Bound, as_box, bound_of
from tilewise.moves.arrays.storage import TORCH, check_own_width, own_layout
from tilewise.moves.pairs.fills import given_fill
from tilewise.moves.pairs.pair import storage_size
from tilewise.moves.types import given_type, refuse_apart, words_of
from tilewise.notation import parse

torch: Any = sys.modules.get("torch")


def moved(
    x: Any,
    source: Layout | None,
    target: Layout,
    out: Any | None,
    dtype: DType | str | None,
    shape: Any,
    fill: Any,
    checked: bool | None = None,
) -> Any:
    """Return the result of `move` for a traced tensor; if `checked` is None, the environment decides."""
    layouts = None if source is None else id(source), id(target)
    kind = dtype.name if isinstance(dtype, DType) else dtype
    words = _constant(*layouts, x.dtype, kind, shape, fill)
    if out is None:
        return torch.ops.tilewise.move(x, *words, checked)
    torch.ops.tilewise.move_into(x, out, *words, checked)
    return out


def _constant(source: int | None, target: int, *words: Any) -> tuple[str, str, str, str, str]:
    """Return the arguments of the operators for layouts given by their identities.

    torch.compile calls this function once and takes the result as constant while the identities stay the
    same. torch 2.11 takes no layout as a constant; all versions take a number.
    """
    ours = None if source is None else _layout(source)
    return _spelled(ours, _layout(target), *words)


def _layout(identity: int) -> Layout:
    """Return the layout with that identity, which the traced code keeps alive."""
    held = ctypes.cast(identity, ctypes.py_object).value
    return of_kind(held, Layout, "a layout", "make it outside the function that torch compiles")


def _spelled(
    source: Layout | None, target: Layout, kind: Any, dtype: Any, shape: Any, fill: Any
) -> tuple[str, str, str, str, str]:
    """Return the arguments of the operators as text: layouts, type, box, fill. No source: x's strides."""
    if source is None and dtype is not None:
        check_own_width(kind.itemsize, dtype)
    words = words_of(kind.itemsize) if dtype is None else given_type(dtype)
    refuse_apart(kind, words)
    element = given_fill(fill, kind if dtype is None else dtype, words)
    texts = [
        "" if layout is None else str(layout if layout.unit == "element" else layout.in_elements(words))
        for layout in (source, target)
    ]
    return texts[0], texts[1], words.name, repr(as_box(shape)), element.hex()


def _move(x: Any, *words: Any) -> Any:
    return _bound(x, *words)(x)


def _move_into(x: Any, out: Any, *words: Any) -> None:
    _bound(x, *words)(x, out)


def _made(x: Any, source: str, target: str, dtype: str, *words: Any) -> Any:
    """Return new storage for the result, where torch needs only its size."""
    kind = DType.of(dtype)
    size = -(-storage_size(_read(target), kind) * kind.bits // 8)
    return torch.empty(-(-size // x.itemsize), dtype=x.dtype, device=x.device)


def _bound(
    x: Any, source: str, target: str, dtype: str, shape: str, fill: str, checked: bool | None = None
) -> Bound:
    layout = _read(source) if source else own_layout(TORCH.steps(x))
    words = literal_eval(shape), bytes.fromhex(fill), checked
    return bound_of(layout, _read(target), DType.of(dtype), *words)


@lru_cache(maxsize=1024)
def _read(text: str) -> Layout:
    return parse(text)


def _register() -> None:
    """Register the operators. They read x as storage: compiled code must keep the traced strides.

    Their words are constant where torch traces.
    """
    asked = "str source, str target, str dtype, str shape, str fill, bool? checked=None"
    exact = (torch.Tag.needs_exact_strides,)
    new = torch.library.custom_op(
        "tilewise::move", _move, mutates_args=(), schema=f"(Tensor x, {asked}) -> Tensor", tags=exact
    )
    new.register_fake(_made)
    into = torch.library.custom_op(
        "tilewise::move_into",
        _move_into,
        mutates_args=("out",),
        schema=f"(Tensor x, Tensor(a!) out, {asked}) -> ()",
        tags=exact,
    )
    into.register_fake(lambda *words: None)
    torch.compiler.assume_constant_result(_constant)


if torch:
    _register()
