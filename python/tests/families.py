"""Twenty families of models, small, written after their papers: name -> what makes a model and its loss.

Each is one training step: `make()` gives the module, and a function that computes its loss from fixed data.
"""
from __future__ import annotations

import families_images  # noqa: F401
import families_sequences  # noqa: F401
from families_parts import FAMILIES

__all__ = ["FAMILIES"]
