"""`polyscope.imgui` without a window.

A button reads as pressed the first time it is called and not again. Sliders, inputs, check boxes and choices return the
value they were given. Headers, trees, tabs and windows are open, pop-ups and menus closed; no key or mouse button is
down. Calls that only draw do nothing.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

from dovetail.uipc.standin.silent import Silent

__all__ = ["begin_frame"]

_SHOWN_BY = "begin_frame"
_start = time.perf_counter()
_ids: list[str] = []
_frame = 0
_pressed: set[tuple[str, ...]] = set()
_first_frame_of: dict[tuple[Any, ...], int] = {}


def begin_frame(callback: Callable[[], Any]) -> None:
    """Call a script's callback once, as a window does for every picture."""
    global _frame
    _frame += 1
    _ids.clear()
    callback()


# ---- buttons


def _press(label: str) -> bool:
    """Whether a button is pressed now: at its first call.

    Its label tells it from others, but `Button("Stop" if run else "Run")` is one button whose label changes: a label
    that is new at a line which was there in an earlier frame is not another button.
    """
    first = _first_frame_of.setdefault(_calling_lines(), _frame)
    key = (*_ids, label.rsplit("###", 1)[-1])
    is_new = key not in _pressed
    _pressed.add(key)
    return is_new and first == _frame


def _calling_lines() -> tuple[Any, ...]:
    """The lines of the script that led here, up to its callback, with the ids that tell calls in a loop apart."""
    lines: list[Any] = list(_ids)
    frame: FrameType | None = sys._getframe(3)
    while frame is not None and frame.f_code.co_name != _SHOWN_BY:
        lines.append((frame.f_code.co_filename, frame.f_lineno))
        frame = frame.f_back
    return tuple(lines)


def Button(label: str, *layout: Any, **named: Any) -> bool:
    return _press(label)


def SmallButton(label: str) -> bool:
    return _press(label)


def ArrowButton(str_id: str, *layout: Any, **named: Any) -> bool:
    return _press(str_id)


def InvisibleButton(str_id: str, *layout: Any, **named: Any) -> bool:
    return _press(str_id)


def ImageButton(str_id: Any, *layout: Any, **named: Any) -> bool:
    return _press(str(str_id))


def TabItemButton(label: str, *layout: Any, **named: Any) -> bool:
    return _press(label)


def PushID(id: Any) -> None:
    _ids.append(str(id))


def PopID() -> None:
    if _ids:
        _ids.pop()


# ---- values


_VALUE_NAMES = ("v", "v_rad", "value", "current_item", "buf", "col", "flags")


def _unchanged(label: str, value: Any = None, *more: Any, **named: Any) -> tuple[bool, Any]:
    """Not edited, and the value as it was given, also by its name."""
    if value is None:
        value = next((named[name] for name in _VALUE_NAMES if name in named), None)
    return False, value


def _unchanged_components(label: str, value: Any = None, *more: Any, **named: Any) -> tuple[bool, tuple[Any, ...]]:
    changed, given = _unchanged(label, value, *more, **named)
    return changed, tuple(given)


def _unchanged_after_size(label: str, size: Any, v: Any, *more: Any, **named: Any) -> tuple[bool, Any]:
    return False, v


Checkbox = CheckboxFlags = Combo = ListBox = _unchanged
SliderFloat = SliderInt = SliderAngle = DragFloat = DragInt = _unchanged
InputFloat = InputDouble = InputInt = InputText = InputTextMultiline = _unchanged
VSliderFloat = VSliderInt = _unchanged_after_size
SliderFloat2 = SliderFloat3 = SliderFloat4 = SliderInt2 = SliderInt3 = SliderInt4 = _unchanged_components
DragFloat2 = DragFloat3 = DragFloat4 = DragInt2 = DragInt3 = DragInt4 = _unchanged_components
InputFloat2 = InputFloat3 = InputFloat4 = InputInt2 = InputInt3 = InputInt4 = _unchanged_components
ColorEdit3 = ColorEdit4 = ColorPicker3 = ColorPicker4 = _unchanged_components


def InputTextWithHint(label: str, hint: str, buf: str, *more: Any, **named: Any) -> tuple[bool, str]:
    return False, buf


def _unchanged_range(
    label: str, v_current_min: Any, v_current_max: Any, *more: Any, **named: Any
) -> tuple[bool, Any, Any]:
    return False, v_current_min, v_current_max


DragFloatRange2 = DragIntRange2 = _unchanged_range


def RadioButton(label: str, v: Any, v_button: int | None = None, **named: Any) -> Any:
    """(label, active) → not clicked; (label, v, v_button) → not clicked, and v as it was."""
    return False if v_button is None else (False, v)


def Selectable(label: str, *state: Any, **named: Any) -> Any:
    """With `p_selected` also the state as it was."""
    return (False, named["p_selected"]) if "p_selected" in named else False


def MenuItem(label: str, *state: Any, **named: Any) -> Any:
    return (False, named["p_selected"]) if "p_selected" in named else False


# ---- what can be open


def _open_with_state(label: str, *state: Any, **named: Any) -> Any:
    """True, and with a visibility (a bool) the visibility as it was."""
    visible = [value for value in (*state, *named.values()) if isinstance(value, bool)]
    return (True, visible[0]) if visible else True


Begin = CollapsingHeader = BeginTabItem = _open_with_state


def BeginPopupModal(name: str, *state: Any, **named: Any) -> Any:
    visible = [value for value in (*state, *named.values()) if isinstance(value, bool)]
    return (False, visible[0]) if visible else False


_OPEN = (
    "BeginChild",
    "BeginTabBar",
    "BeginTable",
    "BeginListBox",
    "TreeNode",
    "TableNextColumn",
    "TableSetColumnIndex",
)
_CLOSED = ("Begin", "Is", "Show", "ColorButton", "SetDragDropPayload", "TextLink")


# ---- questions


def GetIO() -> Silent:
    return Silent(
        DeltaTime=1.0 / 60.0,
        DisplaySize=(1280.0, 720.0),
        Framerate=60.0,
        KeyAlt=False,
        KeyCtrl=False,
        KeyShift=False,
        MousePos=(0.0, 0.0),
        MouseWheel=0.0,
        WantCaptureKeyboard=False,
        WantCaptureMouse=False,
    )


def GetTime() -> float:
    """Since the script began [s]."""
    return time.perf_counter() - _start


def GetFrameCount() -> int:
    return _frame


def GetFontSize() -> float:
    return 13.0


def GetClipboardText() -> str:
    return ""


def GetVersion() -> str:
    return "0"


def ImVec2(x: float = 0.0, y: float = 0.0) -> tuple[float, float]:
    return x, y


def ImVec4(x: float = 0.0, y: float = 0.0, z: float = 0.0, w: float = 0.0) -> tuple[float, float, float, float]:
    return x, y, z, w


_PAIRS = ("Pos", "Size", "Avail", "Min", "Max", "Delta")
_STATES = ("GetStyle", "GetWindowDrawList", "GetBackgroundDrawList", "GetForegroundDrawList", "GetMainViewport")


def __getattr__(name: str) -> Any:
    """Whatever else Dear ImGui has: constants are 0, questions have an answer of the right kind, the rest draws."""
    if name.startswith(("Im", "IM_")):
        return 0
    if not name[0].isupper():
        raise AttributeError(f"polyscope.imgui has no '{name}'")
    if name.startswith(_OPEN):
        return _always(True)
    if name.startswith(_STATES):
        return _always(Silent())
    if name.startswith(("Get", "Calc")):
        return _always((0.0, 0.0) if name.endswith(_PAIRS) else 0.0)
    if name.startswith(_CLOSED) and name not in ("BeginDisabled", "BeginGroup"):
        return _always(False)
    return _always(None)


def _always(answer: Any) -> Callable[..., Any]:
    return lambda *given, **named: answer
