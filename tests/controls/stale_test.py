#!/usr/bin/env python3
"""No mutant names a text that the sources no longer hold once: a table that went stale would control nothing. Compiles nothing.

    stale_test.py
"""
import sys

import audit_mutants
import kernel_mutants


def stale(module):
    for text, *_ in module.MUTANTS:
        files = module.places(text)
        count = sum(path.read_text().count(text) for path in files)
        if count != 1:
            yield f"{module.__name__}: {text[:90]!r} occurs {count} times, in {[path.name for path in files]}; a mutant needs a text that occurs once"


def main():
    faults = [fault for module in (kernel_mutants, audit_mutants) for fault in stale(module)]
    print(f"{len(kernel_mutants.MUTANTS)} mutants of the proof kernel, {len(audit_mutants.MUTANTS)} of audits and gradients")
    for fault in faults:
        print("FAILED", fault)
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
