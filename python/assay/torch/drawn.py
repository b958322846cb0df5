"""Random numbers that NumPy and Python draw for a Function: what it decides by them is a branch, as with numbers of its inputs.

A right Function may drop elements by such numbers and keep the mask. One that decides by a single rare number is wrong in rare runs alone.
"""
from __future__ import annotations

import contextlib
import random
from typing import Any, Callable

import numpy

from .compiled import replaced

OF_NUMPY = ("rand", "randn", "random", "random_sample", "ranf", "sample", "randint", "random_integers", "uniform", "normal", "standard_normal", "choice", "permutation", "binomial", "exponential",
            "poisson", "beta", "gamma", "laplace", "logistic", "lognormal", "geometric", "triangular", "gumbel", "standard_exponential")
OF_PYTHON = ("random", "uniform", "randint", "randrange", "gauss", "normalvariate", "expovariate", "betavariate", "triangular", "lognormvariate", "getrandbits")
UNSEEN = ("default_rng", "RandomState", "bytes", "shuffle")
COMPARISONS = {"less": "__lt__", "less_equal": "__le__", "greater": "__gt__", "greater_equal": "__ge__", "equal": "__eq__", "not_equal": "__ne__"}


class Drawn(numpy.ndarray):  # type: ignore[type-arg]
    """Numbers that NumPy drew, and what is computed of them. `hears` is told of comparisons, and of single ones that are taken."""

    hears: Any = None

    def __array_finalize__(self, one: Any) -> None:
        self.hears = getattr(one, "hears", None)

    def __array_ufunc__(self, ufunc: Any, method: Any, *args: Any, **kwargs: Any) -> Any:
        plain = [one.view(numpy.ndarray) if isinstance(one, Drawn) else one for one in args]
        if "out" in kwargs:
            kwargs["out"] = tuple(one.view(numpy.ndarray) if isinstance(one, Drawn) else one for one in kwargs["out"])
        how = COMPARISONS.get(ufunc.__name__)
        if how and method == "__call__" and self.size and numpy.ndim(plain[1 if args[0] is self else 0]) == 0:
            numbers = self.view(numpy.ndarray)
            for one in (numbers.min(), numbers.max()):
                self.hears.note_compared(how, float(one), float(plain[1 if args[0] is self else 0]), is_drawn=True)
        return handed(self.hears, getattr(ufunc, method)(*plain, **kwargs))

    def __getitem__(self, at: Any) -> Any:
        return handed(self.hears, super().__getitem__(at))

    def __bool__(self) -> bool:
        found = bool(self.view(numpy.ndarray))
        self.hears.note_truth(found)
        return found

    def __float__(self) -> float:
        self.hears.note_unfollowed("float")
        return float(self.view(numpy.ndarray))

    def __int__(self) -> int:
        self.hears.note_unfollowed("int")
        return int(self.view(numpy.ndarray))


def taken(name: str) -> Callable[..., Any]:
    plain = getattr(numpy.ndarray, name)

    def take(self: Drawn, *args: Any, **kwargs: Any) -> Any:
        return handed(self.hears, plain(self.view(numpy.ndarray), *args, **kwargs))
    return take


for _name in ("any", "all", "sum", "mean", "max", "min", "prod", "item", "tolist", "argmax", "argmin", "round", "std", "var", "dot"):
    setattr(Drawn, _name, taken(_name))


def handed(hears: Any, found: Any) -> Any:
    """Return what was drawn, so that it tells what is decided by it."""
    if hears is None:
        return found
    if isinstance(found, (bool, numpy.bool_)):
        hears.note_truth(bool(found))
        return found
    if isinstance(found, (float, int, numpy.floating, numpy.integer)):
        return hears.handed(found.item() if isinstance(found, numpy.generic) else found, "", is_drawn=True)
    if isinstance(found, list):
        return [handed(hears, one) for one in found]
    if isinstance(found, numpy.ndarray) and not isinstance(found, Drawn):
        found = found.view(Drawn)
        found.hears = hears
    return found


def followed(run: Any, name: str, plain: Callable[..., Any]) -> Callable[..., Any]:
    def draw(*args: Any, **kwargs: Any) -> Any:
        found, place = plain(*args, **kwargs), run.in_function()
        if not place:
            return found
        if not run.follows:
            run.note_unfollowed(name)
            return found
        run.drawn.add(f"{name} at {place}")
        run.hands_out = True
        return handed(run, found)
    return draw


def unseen(run: Any, name: str, plain: Callable[..., Any]) -> Callable[..., Any]:
    def draw(*args: Any, **kwargs: Any) -> Any:
        if place := run.in_function():
            run.surroundings += [one for one in [f"{name} at {place}"] if one not in run.surroundings]
        return plain(*args, **kwargs)
    return draw


def watched(run: Any) -> contextlib.ExitStack:
    """While it is entered, the generators of modules hand out numbers that are followed."""
    stack = contextlib.ExitStack()
    for module, names, make in ((numpy.random, OF_NUMPY, followed), (random, OF_PYTHON, followed), (numpy.random, UNSEEN, unseen)):
        for name in names:
            if hasattr(module, name) and not isinstance(getattr(module, name), type):
                stack.enter_context(replaced(module, name, make(run, name, getattr(module, name))))
    return stack


__all__ = ["Drawn", "watched"]
