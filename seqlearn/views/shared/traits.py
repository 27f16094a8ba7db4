"""Traits that refuse what the constructor of a view refuses."""

from __future__ import annotations

import math
from typing import Any

import traitlets


class Whole(traitlets.Int):
    """A whole number. True and False are refused, though Python counts with them."""

    def validate(self, obj: traitlets.HasTraits, value: Any) -> Any:  # whatever somebody sets
        """The number that somebody set."""
        if isinstance(value, bool):
            self.error(obj, value)
        return super().validate(obj, value)


class Finite(traitlets.Float):
    """A number that is neither NaN nor infinite: no page can hold these."""

    info_text = "a finite number"

    def validate(self, obj: traitlets.HasTraits, value: Any) -> Any:  # whatever somebody sets
        """The number that somebody set."""
        number = super().validate(obj, value)
        if isinstance(value, bool) or not math.isfinite(number):
            self.error(obj, value)
        return number
