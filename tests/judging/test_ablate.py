"""Switches are known by name, are off while a context lasts, and record that they were asked for."""

import pytest

from laconism.judging import ablate
from laconism.judging.ablate import consulted, is_on, recording, without


@pytest.fixture(autouse=True)
def switches(monkeypatch):
    monkeypatch.setattr(ablate, "SWITCHES", {"first": "A rule.", "second": "Another."})


def test_a_switch_is_off_while_the_context_lasts():
    assert is_on("first")
    with without("first"):
        assert not is_on("first")
        assert is_on("second")
        with without("second"):
            assert not is_on("first")
            assert not is_on("second")
        assert is_on("second")
    assert is_on("first")


def test_a_switch_is_on_again_after_an_error():
    with pytest.raises(ZeroDivisionError), without("first"):
        raise ZeroDivisionError
    assert is_on("first")


def test_an_unknown_name_is_an_error():
    with pytest.raises(KeyError, match="third"):
        is_on("third")
    with pytest.raises(KeyError, match="third"), without("first", "third"):
        pass


def test_names_that_were_asked_for_are_recorded():
    is_on("first")
    with recording() as names:
        assert consulted() == frozenset()
        is_on("second")
    assert names == {"second"}
    assert consulted() >= {"first", "second"}
