"""Constructors and docstrings made of annotated attributes."""

from __future__ import annotations

import inspect
import re
from typing import ClassVar

import pytest

from podium.core.later import _Later
from podium.core.parameters import Parameterized, choice, count, number


class Base(Parameterized):
    """A base.

    Parameters
    ----------
    a : int
        The first.
    b, c : float
        Two more.
    """

    a: int = 1
    b: float = 2.0
    c: float = 3.0
    fact: ClassVar[bool] = True
    fitted_: int

    def double(self) -> int:
        """Return twice the first."""
        return 2 * self.a

    @property
    def half(self) -> float:
        """Half of the second."""
        return self.b / 2

    @classmethod
    def made(cls) -> Base:
        """Return one that is made."""
        return cls()


class Derived(Base):
    """Derived.

    Some notes.

    Parameters
    ----------
    d : str
        Its own.

    Examples
    --------
    >>> 1
    1
    """

    d: str
    c: ClassVar[float] = 5.0
    b: float = 9.0

    def double(self) -> int:
        return 4 * self.a

    @property
    def half(self) -> float:
        return self.b / 4

    @classmethod
    def made(cls) -> Derived:
        return cls("d")


def test_own_parameters_come_first_and_dropped_ones_are_gone() -> None:
    assert list(inspect.signature(Derived).parameters) == ["d", "b", "a"]
    made = Derived("x", a=7)
    assert (made.d, made.b, made.a, made.c) == ("x", 9.0, 7, 5.0)
    assert made.get_params() == {"d": "x", "b": 9.0, "a": 7}
    assert repr(made) == "Derived(d='x', a=7)"
    assert made == Derived("x", a=7) != Derived("x")


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(TypeError, match="missing a required argument: 'd'"):
        Derived()
    with pytest.raises(TypeError, match="unexpected keyword argument 'c'"):
        Derived("x", c=1.0)


def test_docstrings_list_inherited_parameters_once() -> None:
    text = inspect.getdoc(Derived) or ""
    places = [text.index(part) for part in ("Some notes.", "d : str\n    Its", "b, c : float\n", "a : int\n    The")]
    assert places == sorted(places), "entries are in the order of the constructor"
    assert text.count("Parameters\n----------") == 1
    assert text.endswith("    The first.\n\nExamples\n--------\n>>> 1\n1")


def test_methods_that_override_inherit_their_docstrings() -> None:
    assert Derived.double.__doc__ == "Return twice the first."
    assert Derived.half.__doc__ == "Half of the second."
    assert Derived.made.__doc__ == "Return one that is made."


def test_a_constructor_written_out_is_kept_and_inherited() -> None:
    class Written(Parameterized):
        def __init__(self, x: int = 1) -> None:
            self.x = x

    class Inherits(Written):
        y: int = 2

    assert Written(3).x == 3
    assert list(inspect.signature(Inherits).parameters) == ["y", "x"]
    assert (Inherits(5).y, Inherits(5).x) == (5, 1)


def test_a_section_of_inherited_parameters_is_made_after_the_description() -> None:
    class Silent(Base):
        """Silent.

        More about it.

        Examples
        --------
        >>> 1
        1
        """

    text = inspect.getdoc(Silent) or ""
    assert text.index("More about it.") < text.index("Parameters\n----------\na : int") < text.index("Examples\n----")


def test_functions_are_shown_by_name() -> None:
    class Holds(Parameterized):
        function: object

    assert repr(Holds(test_wrong_arguments_are_refused)) == "Holds(function=test_wrong_arguments_are_refused)"


def test_facts_as_keywords_of_the_class() -> None:
    class Value(Parameterized):
        quick: ClassVar[bool] = False

    class Quick(Value, quick=True):
        size: int = 1

    assert (Value.quick, Quick.quick, repr(Quick(2))) == (False, True, "Quick(size=2)")
    with pytest.raises(TypeError, match="Slow: there is no fact named 'quik'"):
        type("Slow", (Value,), {}, quik=False)


class Limited(Parameterized):
    """With limits."""

    share: float = number(0.5, above=0, at_most=1)
    size: int | None = count(10, optional=True)
    kind: str = choice("plain", "fancy")
    radius: float | None = number(None, above=0)


class LimitedToo(Limited):
    """Another default of a limited parameter, and a parameter that has limits itself."""

    size: int | None = 3
    inner: Limited | None = None


def test_defaults_are_those_inside_the_limits() -> None:
    assert Limited().get_params() == {"share": 0.5, "size": 10, "kind": "plain", "radius": None}
    assert Limited.share == 0.5
    assert str(inspect.signature(LimitedToo).parameters["size"].default) == "3"


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"share": 0}, "share must be a finite number above 0 and of at most 1; got 0"),
        ({"share": 1.5}, "share must be a finite number above 0 and of at most 1; got 1.5"),
        ({"share": True}, "share must be a finite number above 0 and of at most 1; got True"),
        ({"share": None}, "share must be a finite number above 0 and of at most 1; got None"),
        ({"size": 0}, "size must be a whole number of at least 1; got 0"),
        ({"kind": "odd"}, "kind must be one of 'plain', 'fancy'; got 'odd'"),
        ({"radius": -1.0}, "radius must be a finite number above 0; got -1.0"),
        ({"inner": Limited(size=-1)}, "size must be a whole number of at least 1; got -1"),
    ],
)
def test_values_outside_the_limits_are_refused_also_where_a_subclass_has_another_default(wrong, message) -> None:
    LimitedToo(size=None, inner=Limited()).check_parameters()
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        LimitedToo(**wrong).check_parameters()


def test_a_package_for_later_is_imported_when_a_name_of_it_is_looked_up() -> None:
    absent = _Later("podium_has_no_such_package")
    assert not hasattr(absent, "__wrapped__")
    with pytest.raises(ModuleNotFoundError):
        _ = absent.name
    assert _Later("string").digits == "0123456789"
