"""What every part of the package uses: programs, arguments, arrays, traces, the vocabulary of operations, and reports of gates."""
