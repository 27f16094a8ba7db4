"""Two tests that each view has, made of the table of what it refuses."""

import inspect

import pytest
import traitlets


def refuses(make, rows):
    """A test: what is wrong is told in one sentence, also where nobody checks types.

    A row is (what is given, the error, if it is no ValueError, the sentence); a tuple stands for several arguments, a
    dict for named ones.
    """

    whole = [(given, *(error or [ValueError]), sentence) for given, *error, sentence in rows]

    @pytest.mark.parametrize(("given", "error", "sentence"), whole)
    def test(given, error, sentence, as_a_user):
        with pytest.raises(error, match=sentence) as caught:
            if isinstance(given, dict):
                make(**given)
            else:
                make(*given if isinstance(given, tuple) else [given])
        assert "\n" not in str(caught.value)

    return test


def keeps(make, rows):
    """A test: a wrong value of a trait is told, and all traits stay; nor can a view begin with that value.

    A row is (trait, value, sentence). The view can begin with those traits that `make` takes.
    """

    @pytest.mark.parametrize(("name", "value", "sentence"), rows)
    def test(name, value, sentence, as_a_user):
        view, takes = make(), inspect.signature(make).parameters
        before = {trait: getattr(view, trait) for trait in view.trait_names(sync=True)}
        with pytest.raises(traitlets.TraitError, match=sentence):
            setattr(view, name, value)
        assert {trait: getattr(view, trait) for trait in before} == before
        if name in takes or any(each.kind is each.VAR_KEYWORD for each in takes.values()):
            with pytest.raises((ValueError, traitlets.TraitError), match=sentence):
                make(**{name: value})

    return test
