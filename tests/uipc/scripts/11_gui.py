"""Section 11: SceneGUI in a window; run headless it is none."""

import numpy as np
import polyscope as ps
import polyscope.imgui as psim
from polyscope import imgui
from shapes import box, solid_box
from uipc import Engine, Scene, Transform, World, view
from uipc.constitution import AffineBodyConstitution, AffineBodyRod
from uipc.geometry import ground, label_surface, linemesh
from uipc.gui import SceneGUI

assert psim is imgui
scene = Scene({"dt": 0.01})
for name, mesh, x in (("box", box(), 0.0), ("solid", solid_box(), 0.5)):
    AffineBodyConstitution().apply_to(mesh, 1e8)
    view(mesh.transforms())[0] = Transform.Identity().translate([x, 0.5, 0.0]).matrix()
    scene.objects().create(name).geometries().create(mesh)
rod = linemesh(np.array([[-1.0, 1.0, 0.0], [-1.0, 1.0, 0.4], [-0.8, 1.0, 0.4]]), [[0, 1], [1, 2]])
label_surface(rod)
AffineBodyRod().apply_to(rod, 1e8, thickness=0.01)
scene.objects().create("rod").geometries().create(rod)
scene.objects().create("ground").geometries().create(ground(-1.0))
world = World(Engine("cuda", "./"))
world.init(scene)

ps.init()
ps.set_window_size(800, 600)
ps.set_ground_plane_height(-1.0)
ps.set_up_dir("y_up")
ps.look_at((3, 2, 3), (0, 0, 0))
merged = SceneGUI(scene)
surface, lines, points = merged.register()
assert surface is not None and lines is not None and points is None
surface.set_edge_width(1).set_color((0.2, 0.4, 0.8))
lines.set_radius(0.01, relative=False)
split = SceneGUI(scene, surf_type="split")
assert split.register(ground_name="ground") is None
split.set_edge_width(1.0)
assert ps.has_surface_mesh("0") and ps.get_volume_mesh("1").n_vertices() == 8

run, pressed, calls, speed, gains = False, [], 0, 2.5, (1.0, 2.0, 3.0)


def on_update():
    global run, calls, speed, gains
    calls += 1
    if imgui.Button("Stop" if run else "Run"):
        run = not run
    for name in ("a", "b"):
        if imgui.Button(f"press {name}"):
            pressed.append(name)
    if calls >= 3 and imgui.SmallButton("later"):
        pressed.append("later")
    imgui.SameLine()
    imgui.Separator()
    changed, speed = imgui.SliderFloat("speed", speed, v_min=0.0, v_max=10.0)
    assert not changed and speed == 2.5
    assert imgui.SliderInt(label="n", v_min=0, v_max=9, v=4) == (False, 4) and imgui.GetFontSize() > 0.0
    changed, gains = imgui.DragFloat3("gains", gains)
    assert not changed and gains == (1.0, 2.0, 3.0)
    assert imgui.Checkbox("on", True) == (False, True) and imgui.InputInt("n", 3) == (False, 3)
    assert imgui.Combo("kind", 1, ["x", "y"]) == (False, 1) and imgui.InputText("name", "arm") == (False, "arm")
    imgui.Text(f"frame {world.frame()}")
    imgui.PushItemWidth(100)
    imgui.PopItemWidth()
    if imgui.CollapsingHeader("more", imgui.ImGuiTreeNodeFlags_DefaultOpen) and imgui.TreeNode("tree"):
        imgui.TreePop()
    if imgui.IsItemHovered() or imgui.IsKeyPressed(imgui.ImGuiKey_Space):
        raise AssertionError("nobody is there")
    assert imgui.GetIO().DeltaTime > 0.0
    if run:
        world.advance()
        world.retrieve()
        merged.update()
        split.update()
    merged.show(imgui, current_name="test", source_dir=".", scene_file="", on_save_scene=lambda: pressed.append("save"))


ps.set_user_callback(on_update)
ps.show()
assert pressed == ["a", "b", "save", "later"], pressed
assert world.frame() == 12 and calls == 12, (world.frame(), calls)
# fallen for 12 steps: y = 0.5 − g h² n(n + 1)/2
assert abs(surface.points[:, 1].min() - (0.4 - 9.8e-4 * 78)) < 1e-6
print("section 11 done")
