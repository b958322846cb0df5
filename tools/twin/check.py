#!/usr/bin/env python3
"""check.py MODEL.onnx PROPERTY.vnnlib CERTIFICATE
check.py MODEL.onnx PROPERTY.vnnlib --statement > FILE

A second checker of Assay's certificates, in exact rational arithmetic. The first word on stdout is accepted (exit 0), rejected (exit 1; 4 if the
certificate cannot be decoded) or declined (exit 3; 4 if model or property are malformed). With --statement it writes what `assay statement` writes."""
import os
import sys

sys.set_int_max_str_digits(0)
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from certificate import read_certificate  # noqa: E402
from graph import Statement  # noqa: E402
from lowering import Model  # noqa: E402
from replay import Replay  # noqa: E402
from vnnlib import Property  # noqa: E402
from wire import Declined, Malformed, Refusal, Rejected, require  # noqa: E402

def read_statement(model_path, property_path):
    model = Model(model_path)
    property_ = Property(property_path, model.input_types, model.output_types)
    property_.extend(model)
    return model, property_, Statement(model, property_.cases)


def replay(model, property_, statement, path):
    with open(path, "rb") as file:
        stored, semantics, frames = read_certificate(file.read())
    require(semantics == b"real arithmetic", Declined, "certificate.semantics", repr(semantics))
    require(stored == statement.digest, Rejected, "certificate.digest", f"the certificate is for {stored.hex()}, this is {statement.digest.hex()}")
    return Replay(model, property_).run(frames)


def guarded(function, *arguments):
    """Whatever bent input makes go wrong becomes a refusal, never a traceback."""
    try:
        return function(*arguments)
    except (MemoryError, RecursionError) as error:
        raise Declined("twin.limit", type(error).__name__) from None
    except Refusal:
        raise
    except Exception as error:
        raise Malformed("twin.malformed", f"{type(error).__name__}: {error}") from None


def check(model_path, property_path, certificate_path):
    """(word, exit status, lines)"""
    try:
        model, property_, statement = guarded(read_statement, model_path, property_path)
    except Refusal as refusal:
        return "declined", 3 if refusal.status == 3 else 4, [str(refusal)]
    lines = [f"sha256 of the canonical graph: {statement.graph_digest.hex()}", f"sha256 of the statement: {statement.digest.hex()}"]
    try:
        return "accepted", 0, [guarded(replay, model, property_, statement, certificate_path)] + lines
    except Refusal as refusal:
        return refusal.word, refusal.status, [str(refusal)] + lines


def main(arguments):
    if len(arguments) == 3 and arguments[2] == "--statement":
        sys.stdout.buffer.write(read_statement(*arguments[:2])[2].file)
        return 0
    if len(arguments) != 3 or any(a.startswith("--") for a in arguments):
        print(__doc__, file=sys.stderr)
        return 2
    word, status, lines = check(*arguments)
    print("\n".join([word, *lines]))
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
