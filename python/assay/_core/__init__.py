"""Shared parts of the package: programs, arguments, arrays, traces, the vocabulary of operations, and reports of gates."""
