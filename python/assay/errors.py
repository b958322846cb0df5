"""Exceptions of the package: each says what went wrong, where, why, and what to do about it."""
from __future__ import annotations

import json
import os
from typing import Any, Mapping, Optional


class Error(Exception):
    """The base of all exceptions of this package.

    `code` names the rule, for programs; `what` is the kind of trouble; `where` the argument, file, node or element; `why` what was
    required and what was found; `advice` what would make it work. Any of them may be empty.
    """

    def __init__(self, what: str, *, where: str = "", why: str = "", advice: str = "", code: str = "") -> None:
        self.what, self.where, self.why, self.advice, self.code = what, where, why, advice, code
        text = what + (f" at {where}" if where else "") + (f": {why}" if why else "")
        super().__init__(text + (f"; {advice}" if advice else "") + (f" [{code}]" if code else ""))

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), self.__dict__.copy())


class UsageError(Error, ValueError, TypeError):
    """An argument of a function has a wrong type, form or value."""


class MalformedInput(Error, ValueError):
    """A file, a text or bytes cannot be read as what they are meant to be."""


class Unsupported(Error, NotImplementedError):
    """A file or an argument is well-formed, and uses something that Assay has no meaning for."""


class Undecided(Error, RuntimeError):
    """A limit on memory or work ended it: nothing is known."""


class Rejected(Error, ValueError):
    """A claim is well-formed, and definitely not true."""


class InternalError(Error, RuntimeError):
    """Assay made a mistake: please report it."""


_KINDS: dict[str, tuple[type[Error], str]] = {
    "rejected": (Rejected, "rejected"), "declined": (Undecided, "undecided"), "malformed": (MalformedInput, "malformed input"),
    "unsupported": (Unsupported, "unsupported")}


def from_rejection(why: Mapping[str, str]) -> Error:
    """The exception for a rejection of the native half: a dict with kind, code, place, required, found and advice."""
    kind, what = _KINDS.get(why["kind"], (InternalError, "internal error"))
    if why["code"].startswith("python.") and kind is MalformedInput:
        kind, what = UsageError, "wrong argument"
    reason = ", ".join(part for part in (why["required"] and f"expected {why['required']}", why["found"] and f"found {why['found']}") if part)
    return kind(what, where=why["place"], why=reason, advice=_advice_of(why), code=why["code"])


def _advice_of(why: Mapping[str, str]) -> str:
    """Return what to do: of a page alone "see PAGE", and of a header of the sources, which no wheel holds, the command for the code."""
    advice = why["advice"]
    if not advice or " " in advice:
        return advice
    return f"see {advice}" if advice.endswith(".md") else f"`assay explain {why['code']}` says what to do"


def of_program(verb: str, code: int, report: str, trouble: str, places: Mapping[str, str]) -> Optional[Error]:
    """The exception for a program's wrong argument or rejection, with the paths that the caller knows in place of those it was given."""
    found: dict[str, Any] = {}
    if os.path.exists(report):
        with open(report, encoding="utf-8") as text:
            found = json.load(text)
    if code != 2 and "rejection" not in found:
        return None

    def told(text: str) -> str:
        for path, place in places.items():
            text = text.replace(place, path)
        return text
    if code == 2:
        return UsageError("wrong argument", where=f"assay {verb}", why=told(trouble.strip().split("\n")[0]), code="python.argument")
    blank = {"kind": "malformed", "code": "", "place": "", "required": "", "found": "", "advice": ""}
    return from_rejection({key: told(str(value)) for key, value in {**blank, **found["rejection"]}.items()})


def wrong(where: str, required: str, found: object, advice: str = "") -> UsageError:
    """The exception for an argument."""
    try:
        shown = repr(found)
    except Exception:  # a stranger's __repr__
        shown = f"an object of type {type(found).__name__}"
    shown = shown if len(shown) <= 120 else shown[:120] + "..."
    return UsageError("wrong argument", where=where, why=f"expected {required}, got {shown}", advice=advice, code="python.argument")


def _restored(kind: type[Error], state: dict[str, Any]) -> Error:
    error = kind(state["what"], **{name: state[name] for name in ("where", "why", "advice", "code")})
    error.__dict__.update(state)
    return error
