"""What is no list of texts, no links or no batches is refused in a sentence, wherever some are taken."""

import pytest

from fuzzing import wrong_kinds


@pytest.mark.usefixtures("as_a_user")
def test_each_wrong_kind_is_refused_in_a_sentence():
    for name, (call, values) in wrong_kinds.table().items():
        for value in values:
            try:
                wrong_kinds.refuse(call, value)
            except BaseException as error:
                error.add_note(f"{name}: {value!r}")
                raise


def test_no_public_function_is_missing_in_the_table():
    assert set(wrong_kinds.takers()) <= wrong_kinds.table().keys() | wrong_kinds.OTHERS
