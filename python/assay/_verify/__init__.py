"""Verification: models and properties as questions, their answers, and runs over data sets. `assay.verify` is a function, so this has a mark."""
