"""Mistakes in joints that users define are told in one paragraph, as early as possible."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scenes import add_boxes, new_scene

from dovetail.constitution import AffineBodyRevoluteJoint, base
from dovetail.errors import ConstitutionError
from dovetail.extend import (
    Angle,
    Coincide,
    Compose,
    Coordinate,
    EdgeJoint,
    Law,
    Parameter,
    Projection,
    Term,
    coordinate,
    energy,
    law,
)
from dovetail.solver.joint.function import COORDINATES, ENERGIES, LAWS


@pytest.fixture(scope="module", autouse=True)
def registries():
    """What is registered here is forgotten at the end, so that tests over all functions see the built-in ones."""
    kept = [(registry, dict(registry)) for registry in (ENERGIES, COORDINATES, LAWS, base._classes)]
    yield
    for registry, before in kept:
        registry.clear()
        registry.update(before)


# ---- in functions -------------------------------------------------------------------------------------------------


def two_arguments(x, p):
    return x


def undefined_name(x, p, d):
    return x + stiffness  # noqa: F821


def no_result(x, p, d):
    d[0] = x


def whole_array(x, p, d):
    return sum(p)


def reads_beyond(x, p, d):
    d[0] = d[1] = p[2]
    return x


def reads_before(x, p, d):
    d[0] = d[1] = p[-1]
    return x


def writes_beyond(x, p, d):
    d[3] = 1.0
    return x


MISTAKES = {
    two_arguments: r"takes 2 arguments; it is called with \(x, p, d\)",
    undefined_name: r"does not compile: NameError: name 'stiffness' is not defined; use numbers, loops",
    no_result: r"does not compile: No conversion from none to float64.*in line \d+; use numbers",
    whole_array: r"does not compile: it cannot do sum\(float64\*\), in line \d+; use numbers",
    reads_beyond: r"reads an entry that is not there: p has 2 \('a', 'b'\), d has 3; correct the index",
    reads_before: r"reads an entry that is not there",
    writes_beyond: r"writes to an entry that is not there",
}


@pytest.mark.parametrize("function", MISTAKES, ids=lambda f: f.__name__)
def test_a_function_with_a_mistake_is_refused_where_it_is_defined(function):
    with pytest.raises(ConstitutionError) as caught:
        law(parameters=("a", "b"))(function)
    message = str(caught.value)
    assert message.startswith(f"{function.__name__}: the function in line {function.__code__.co_firstlineno} of")
    assert "\n" not in message
    assert re.search(MISTAKES[function], message), message
    assert function.__name__ not in LAWS


def test_rows_that_were_not_asked_for_are_refused():
    def fourth_row(F, exact, dx, d2x):
        dx[9] = 1.0
        return F[9]

    with pytest.raises(ConstitutionError, match=r"writes to an entry that is not there: with rows=3 F has 9 numbers"):
        coordinate(rows=3)(fourth_row)


def test_parameters_are_named_in_a_tuple():
    with pytest.raises(ConstitutionError, match=r"law: parameters = 'K'; give a tuple with a name for each entry"):
        law(parameters="K")


def straight(x, p, d):
    d[0] = 1.0
    return x


def test_a_name_is_taken_once():
    law()(straight)
    law()(straight)  # the same definition again, as notebooks do

    def spring(x, p, d):
        return x

    with pytest.raises(
        ConstitutionError, match=r"spring: a function of that name is already registered, line .*spring.py"
    ):
        law()(spring)
    assert LAWS["spring"].parameters == ("K", "target")


def test_a_factory_gives_each_of_its_functions_a_name():
    def slope(by):
        def inclined(x, p, d):
            d[0] = by
            return by * x

        return inclined

    law()(slope(1.0))
    law()(slope(1.0))
    with pytest.raises(ConstitutionError, match=r"inclined: a function of that name is already registered"):
        law()(slope(2.0))


# ---- in declarations ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("given", [{}, {"start": True, "step": True}, {"attribute": "c", "start": True}])
def test_a_parameter_comes_from_one_place(given):
    with pytest.raises(ConstitutionError, match=r"a parameter comes from one place; give an attribute, a value, or"):
        Parameter(**given)


def test_other_terms_need_a_uid_of_their_own():
    with pytest.raises(
        ConstitutionError, match=r"Mine: it is not what uid 18, AffineBodyRevoluteJoint, stands for; cl"
    ):
        type("Mine", (AffineBodyRevoluteJoint,), {"terms": (Coincide("x0"),)})


def test_a_uid_is_claimed_once():
    type("First", (EdgeJoint,), {"terms": (Coincide("x0"),)}, uid=2**32 + 200)
    with pytest.raises(ConstitutionError, match=r"Second: uid 4294967496 already belongs to First; choose another"):
        type("Second", (EdgeJoint,), {"terms": (Coincide("x1"),)}, uid=2**32 + 200)


@pytest.fixture(scope="module")
def functions():
    """An energy and a coordinate of two rows, and a law with one parameter."""

    @energy(rows=2, parameters=("K [kg]",))
    def level(F, p, exact, g, H):
        g[0] = p[0]
        return p[0] * F[0]

    @coordinate(rows=2)
    def reach(F, exact, dx, d2x):
        dx[0] = 1.0
        return F[0]

    @law(parameters=("K [kg]",))
    def pull(x, p, d):
        d[0] = p[0]
        return p[0] * x


def word(kind, **content):
    return type(kind.__name__ + "Word", (kind,), content)()


ROWS = (("c", -1, 1), ("t", 1, 0))
STRENGTH = (Parameter("strength_ratio"),)
CASES = {
    "rows of a term": (
        lambda: word(Term, function="level", stencil=ROWS[:1]),
        r"the stencil of TermWord has 1 rows \('c',\), but its function 'level' takes rows=2; make them equal",
    ),
    "rows of a coordinate": (
        lambda: Compose(
            word(Law, function="pull", parameters=STRENGTH), word(Coordinate, function="reach", stencil=ROWS * 2)
        ),
        r"the stencil of CoordinateWord has 4 rows .* but its function 'reach' takes rows=2",
    ),
    "no function": (
        lambda: word(Term, stencil=ROWS),
        r"TermWord.function is None, but no energy of that name is registered, there are (.*, )?level; import the",
    ),
    "unknown function": (
        lambda: Compose(word(Law, function="pul", parameters=STRENGTH), Projection()),
        r"LawWord.function is 'pul', but no law of that name is registered, there are .*limit, .*pull, .*spring",
    ),
    "parameters of a term": (
        lambda: word(Term, function="level", stencil=ROWS, parameters=STRENGTH * 2),
        r"TermWord gives 2 parameters, but its function 'level' takes 1 \(K \[kg\]\); make them equal",
    ),
    "parameters of a law": (
        lambda: Compose(word(Law, function="pull", parameters=()), Projection()),
        r"LawWord gives 0 parameters, but its function 'pull' takes 1",
    ),
    "missing attribute": (
        lambda: Compose(word(Law, function="pull", parameters=(Parameter("weight"),)), Projection()),
        r"LawWord needs the attribute 'weight' of every edge, which is not there; list it in .*\{'weight': 0.0\}",
    ),
    "missing switch": (
        lambda: Compose(word(Law, function="pull", parameters=STRENGTH, switch="on"), Projection()),
        r"LawWord needs the attribute 'on' of every edge",
    ),
    "attribute of another type": (
        lambda: word(Term, function="level", stencil=ROWS, parameters=(Parameter("reaction/force"),)),
        r"TermWord needs one number per edge in the attribute 'reaction/force', which is of type Vector3",
    ),
    "start in a term": (
        lambda: word(Term, function="level", stencil=ROWS, parameters=(Parameter(start=True),)),
        r"TermWord asks for the start of the step, but a Term has no coordinate; make it a Law",
    ),
}


def joint_of(cls):
    """A scene with one such joint."""
    scene = new_scene()
    boxes = add_boxes(scene, [(0, 0, 0), (1, 0, 0)], fixed=[0])
    sc = cls().create_geometry([[0.5, 0, 0]], [[0.5, 0, 1]], [boxes], [0], [boxes], [1], [100.0])
    scene.objects.create("mine").geometries.create(sc)
    return scene


@pytest.mark.parametrize("case", CASES)
def test_a_declaration_that_does_not_fit_its_function_is_refused_at_init(case, functions, start):
    declare, message = CASES[case]
    cls = type("Mine", (EdgeJoint,), {"terms": (declare(),)}, uid=2**32 + 201)
    with pytest.raises(ConstitutionError, match=rf"^Mine 'mine': {message}") as caught:
        start(joint_of(cls))
    assert "\n" not in str(caught.value)


def test_a_coordinate_that_a_joint_reports_needs_names(functions):
    reach = word(Coordinate, function="reach", stencil=ROWS)
    cls = type("Mine", (EdgeJoint,), {"terms": (Coincide("n"),), "coordinate": reach}, uid=2**32 + 201)
    with pytest.raises(
        ConstitutionError, match=r"CoordinateWord: the coordinate of a joint is reported, so it needs names"
    ):
        joint_of(cls)


def test_an_attribute_that_is_not_a_number_stops_the_frame(functions, start):
    pull = word(Law, function="pull", parameters=(Parameter("weight"),))
    content = {"terms": (Compose(pull, Angle()),), "coordinate": Angle(), "attributes": {"weight": np.nan}}
    cls = type("Mine", (EdgeJoint,), content, uid=2**32 + 201)
    with pytest.raises(ConstitutionError, match=r"Mine 'mine': joint 0 has weight = nan; give a finite number"):
        start(joint_of(cls)).advance()
