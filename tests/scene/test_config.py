"""The configuration: defaults, overrides, both forms, and every way to get it wrong."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dovetail.errors import ConfigError
from dovetail.geometry import view
from dovetail.scene import Scene
from dovetail.scene.config_schema import KEYS, Interval

OURS = {
    "joint/angle", "joint/exact", "integrator/bdf2_start", "integrator/bdf2_contact", "contact/joint_neighbours",
    "threads/count", "threads/grain", "contact/friction/memory", "contact/ease_in",
    "contact/set_apart", "newton/direction",
}  # fmt: skip
"""Keys that libuipc does not have."""


def flat(config: dict, group: str = "") -> dict:
    leaves = {}
    for name, value in config.items():
        leaves |= flat(value, f"{group}{name}/") if isinstance(value, dict) else {group + name: value}
    return leaves


def test_every_key_of_libuipc_is_there():
    groups = {
        "": "dt gravity",
        "integrator": "type",
        "cfl": "enable",
        "newton": "max_iter min_iter velocity_tol velocity_tol_relative transrate_tol ccd_tol use_adaptive_tol",
        "newton/semi_implicit": "enable beta_tol K_min",
        "linear_system": "solver tol_rate check_interval use_cuda_graph fem_preconditioner",
        "line_search": "max_iter report_energy",
        "contact": "enable d_hat d_hat_relative eps_velocity eps_velocity_relative constitution",
        "contact/friction": "enable",
        "contact/adaptive": "min_kappa init_kappa max_kappa kappa_eval_scale",
        "contact/al-ipc": "mu_scale_mode mu_scale_diag_norm mu_scale_fem mu_scale_abd toi_threshold "
        "alpha_lower_bound decay_factor",
        "collision_detection": "method",
        "sanity_check": "enable mode",
        "diff_sim": "enable",
        "extras/debug": "dump_surface dump_linear_system dump_linear_pcg dump_mas_matrices",
        "extras/strict_mode": "enable",
    }
    expected = {f"{g}/{k}".lstrip("/") for g, keys in groups.items() for k in keys.split()}
    assert set(flat(Scene.default_config())) == expected | OURS


def test_the_defaults_that_differ_from_libuipc():
    config = Scene().config
    assert config["newton/semi_implicit/enable"] == 0
    assert config["newton/velocity_tol"] == 1e-3
    assert config["newton/transrate_tol"] == 1e-2
    assert config["newton/min_iter"] == 0
    assert config["joint/angle"] == "wrapped"
    assert config["integrator/bdf2_start"] == "libuipc"
    assert config["contact/joint_neighbours"] == 1


def test_the_defaults_are_valid_json_and_make_a_scene():
    defaults = Scene.default_config()
    Scene(json.loads(json.dumps(defaults))).validate_config()
    Scene(None).validate_config()
    Scene({}).validate_config()


def test_default_config_is_a_fresh_copy():
    Scene.default_config()["gravity"][1][0] = 5.0
    assert Scene.default_config()["gravity"] == [[0.0], [-9.8], [0.0]]


def test_the_schema_says_everything_about_each_key():
    entries = Scene.config_schema()["entries"]
    assert set(entries) == set(KEYS)
    json.dumps(entries, allow_nan=False)
    for name, entry in entries.items():
        assert entry["description"].endswith("."), name
        assert entry["effect"] in {"each frame", "at init", "none"}, name
        assert entry["type"] in {"number", "integer", "string", "vector3"}, name
    assert entries["dt"]["exclusiveMinimum"] == 0 and entries["dt"]["unit"] == "s"
    assert entries["integrator/type"]["enum"] == ["bdf1", "bdf2", "ctr"]
    assert entries["linear_system/use_cuda_graph"]["effect"] == "none"


def test_overrides_replace_single_leaves_only():
    scene = Scene({"contact": {"friction": {"enable": False}}, "newton/max_iter": 5})
    changed = {"contact/friction/enable": 0, "newton/max_iter": 5}
    defaults = flat(Scene.default_config())
    for name in KEYS:
        expected = changed.get(name, defaults[name])
        value = scene.config[name]
        assert (np.ravel(expected) == value).all() if name == "gravity" else value == expected


def test_flat_keys_may_stand_beside_and_inside_nested_ones_and_the_last_counts():
    config = Scene.default_config()
    config["contact"]["adaptive/min_kappa"] = 2e8
    config["newton/max_iter"] = 7
    scene = Scene(config)
    assert scene.config["contact/adaptive/min_kappa"] == 2e8
    assert scene.config["newton/max_iter"] == 7


@pytest.mark.parametrize(
    "gravity",
    [
        [0, 0, -9.8],
        (0.0, 0.0, -9.8),
        [[0], [0], [-9.8]],
        np.array([0, 0, -9.8]),
        np.array([[0], [0], [-9.8]], np.float64),
        [np.float64(0), 0, -9.8],
    ],
)
def test_gravity_comes_in_many_shapes_and_is_stored_as_a_column(gravity):
    scene = Scene({"gravity": gravity})
    assert scene.config["gravity"].tolist() == [0, 0, -9.8]
    assert scene.config.to_json()["gravity"]["attribute"]["values"] == [[[0.0], [0.0], [-9.8]]]
    assert view(scene.config().find("gravity")).shape == (1, 3, 1)


@pytest.mark.parametrize(
    ("name", "value", "stored"),
    [
        ("dt", 1, 1.0),
        ("dt", np.float32(0.5), 0.5),
        ("dt", np.array(0.25), 0.25),
        ("dt", np.array([0.25]), 0.25),
        ("contact/enable", True, 1),
        ("contact/enable", np.bool_(False), 0),
        ("newton/max_iter", 10.0, 10),
        ("newton/max_iter", np.int64(10), 10),
        ("linear_system/use_cuda_graph", True, 1),
        ("integrator/type", np.str_("bdf2"), "bdf2"),
        ("newton/velocity_tol_relative", -1, -1.0),
    ],
)
def test_values_of_a_related_type_are_converted_without_loss(name, value, stored):
    scene = Scene({name: value})
    assert scene.config[name] == stored
    assert type(scene.config[name]) is type(stored)


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("dt", 0, "'dt' = 0 is not allowed; give a number > 0 [s]."),
        ("dt", -0.01, "'dt' = -0.01 is not allowed; give a number > 0 [s]."),
        ("dt", math.nan, "'dt' = nan"),
        ("dt", math.inf, "'dt' = inf"),
        ("dt", 10**400, "is not allowed; give a number > 0 [s]."),
        ("dt", "a", "'dt' = 'a' is not allowed"),
        ("dt", None, "'dt' = None"),
        ("dt", True, "'dt' = True"),
        ("dt", [0.01], "'dt' = [0.01]"),
        ("dt", {"value": 0.01}, "'dt' = {'value': 0.01}"),
        ("dt", np.array([0.1, 0.2]), "'dt' = array([0.1, 0.2])"),
        ("newton/max_iter", 10.7, "'newton/max_iter' = 10.7 is not allowed; give an integer >= 1."),
        ("newton/max_iter", 0, "'newton/max_iter' = 0"),
        ("newton/max_iter", True, "'newton/max_iter' = True"),
        ("newton/max_iter", 2**31, "'newton/max_iter' = 2147483648"),
        ("newton/ccd_tol", 0, "give a number in (0, 1]."),
        ("newton/ccd_tol", 1.5, "give a number in (0, 1]."),
        ("contact/enable", 2, "'contact/enable' = 2 is not allowed; give one of 0, 1."),
        ("contact/enable", 0.5, "'contact/enable' = 0.5"),
        ("contact/d_hat_relative", math.inf, "give a number that is finite."),
        ("newton/use_adaptive_tol", 1, "give only 0."),
        ("diff_sim/enable", 1, "give only 0."),
        ("integrator/type", "bdf3", "'integrator/type' = 'bdf3' is not allowed; give one of 'bdf1', 'bdf2', 'ctr'."),
        ("integrator/type", 2, "'integrator/type' = 2"),
        ("contact/constitution", "al-ipc", "give only 'ipc'."),
        ("gravity", [0, -9.8], "'gravity' = [0, -9.8] is not allowed; give three finite numbers"),
        ("gravity", [0, math.nan, 0], "three finite numbers [x, y, z] [m/s²]."),
        ("gravity", [[0, -9.8, 0]], "three finite numbers"),
        ("gravity", [[0], [1, 2], [3]], "three finite numbers"),
        ("gravity", ["0", "1", "2"], "three finite numbers"),
        ("gravity", -9.8, "three finite numbers"),
    ],
)
def test_a_wrong_value_is_refused_with_key_value_and_what_is_allowed(name, value, says):
    with pytest.raises(ConfigError) as failure:
        Scene({name: value})
    assert says in str(failure.value)
    scene = Scene()
    before = scene.config.to_json()
    with pytest.raises(ConfigError):
        scene.config[name] = value
    assert scene.config.to_json() == before


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ({"newton": {"max_itr": 5}}, "no key 'newton/max_itr'; did you mean 'newton/max_iter'?"),
        ({"newtn": {"max_iter": 5}}, "no key 'newtn/max_iter'; did you mean 'newton/max_iter'?"),
        ({"newtn": {}}, "there is no key 'newtn'; did you mean"),
        ({"d_hat": 0.1}, "no key 'd_hat'; did you mean 'contact/d_hat'?"),
        ({"contact/dhat": 0.1}, "did you mean 'contact/d_hat'?"),
        ({"contact": 1}, "'contact' is a group, not a value; give a dictionary with some of enable,"),
        ({"contact": {"friction": True}}, "'contact/friction' is a group, not a value"),
        ({3: 4}, "no key '3'"),
        ([("dt", 0.1)], "expected a dictionary such as Scene.default_config(), got [('dt', 0.1)]"),
        (
            {"newton": {"min_iter": 5, "max_iter": 3}},
            "newton/min_iter = 5 is larger than newton/max_iter = 3",
        ),
        (
            {"contact/adaptive/max_kappa": 1e7},
            "min_kappa <= init_kappa <= max_kappa, got 1e+08, 1e+09, 1e+07",
        ),
    ],
)
def test_unknown_keys_groups_and_contradictions_are_refused(config, says):
    with pytest.raises(ConfigError) as failure:
        Scene(config)
    assert says in str(failure.value)
    assert "\n" not in str(failure.value)


def test_long_values_do_not_flood_the_message():
    with pytest.raises(ConfigError) as failure:
        Scene({"dt": list(range(10_000))})
    assert len(str(failure.value)) < 200


def test_reading_an_unknown_key_names_the_nearest():
    with pytest.raises(ConfigError, match="did you mean 'newton/velocity_tol'"):
        Scene().config["newton/velocity_tl"]


def test_both_forms_see_the_same_value():
    scene = Scene()
    slot = scene.config().find("dt")
    assert slot.size() == 1
    view(slot)[:] = 0.02
    assert scene.config["dt"] == 0.02
    scene.config["dt"] = 0.03
    assert slot.view()[0] == 0.03
    view(scene.config.find("integrator/type"))[0] = "bdf2"
    assert scene.config["integrator/type"] == "bdf2"
    assert scene.config.find("nonsense") is None


def test_a_value_written_through_a_view_is_checked_by_validate():
    scene = Scene()
    view(scene.config.find("dt"))[:] = -1
    scene.config.validate("gravity")
    with pytest.raises(ConfigError, match="'dt' = "):
        scene.config.validate("dt")
    with pytest.raises(ConfigError, match="'dt' = "):
        scene.validate_config()


def test_foreign_missing_and_retyped_attributes_are_found_by_validate():
    scene = Scene()
    scene.config.create("newton/max_itr", 5)
    with pytest.raises(ConfigError, match="no key 'newton/max_itr'"):
        scene.validate_config()
    scene.config.destroy("newton/max_itr")
    scene.validate_config()
    scene.config.destroy("dt")
    with pytest.raises(ConfigError, match="'dt' was destroyed"):
        scene.validate_config()
    scene.config.share("dt", scene.config.find("newton/max_iter"))
    with pytest.raises(ConfigError, match="'dt' holds 1 x I32 instead of one F64"):
        scene.validate_config()


def test_gravity_read_from_the_config_cannot_be_written_by_mistake():
    gravity = Scene().config["gravity"]
    with pytest.raises(ValueError, match="read-only"):
        gravity[1] = 0


def test_repr_is_json_and_the_config_is_a_mapping_of_keys():
    config = Scene().config
    assert json.loads(repr(config))["dt"]["attribute"]["values"] == [0.01]
    assert list(config) == list(KEYS) and len(config) == len(KEYS)
    assert "dt" in config and "contact" not in config


def test_once_a_world_runs_only_keys_read_each_frame_can_change():
    scene = Scene()
    scene.freeze("world 'w'")
    scene.config["dt"] = 0.5
    with pytest.raises(ConfigError, match=r"'newton/max_iter' was read when world 'w' was initialised"):
        scene.config["newton/max_iter"] = 5


def allowed_values(name: str) -> st.SearchStrategy:
    key = KEYS[name]
    if key.type == "vector3":
        return st.lists(st.floats(-100, 100), min_size=3, max_size=3)
    if not isinstance(key.allowed, Interval):
        return st.sampled_from(key.allowed)
    low, high, low_open, high_open = key.allowed
    if key.type == "integer":
        return st.integers(int(low), 2**31 - 1)
    bounds = {"min_value": max(low, -1e300), "max_value": min(high, 1e300)}
    return st.floats(**bounds, exclude_min=low_open and low > -1e300, exclude_max=high_open and high < 1e300)


ORDERED = {"newton/min_iter", "newton/max_iter"} | {f"contact/adaptive/{k}_kappa" for k in ("min", "init", "max")}


@settings(deadline=None)  # a machine may be busy
@given(st.data())
def test_any_allowed_overrides_come_back_unchanged_nested_or_flat(data):
    names = data.draw(st.sets(st.sampled_from(sorted(set(KEYS) - ORDERED)), max_size=6))
    overrides = {name: data.draw(allowed_values(name), label=name) for name in sorted(names)}
    nested: dict = {}
    for name, value in overrides.items():
        *groups, leaf = name.split("/")
        place = nested
        for group in groups:
            place = place.setdefault(group, {})
        place[leaf] = value
    for config in (overrides, nested):
        scene = Scene(config)
        for name, value in overrides.items():
            read = scene.config[name]
            assert read.tolist() == value if name == "gravity" else read == value
        untouched = set(KEYS) - names - {"gravity"}
        defaults = flat(Scene.default_config())
        assert all(scene.config[name] == defaults[name] for name in untouched)
