"""The check of lesson 00."""

from __future__ import annotations

from .checking import check, examine_row


@check("0.1", section="3. Where did it look?")
def check_looked_at(looked_at: object, attention) -> None:
    """Compare the word read off the picture with the row "fille" of the map."""
    examine_row(looked_at, attention, "fille")
