"""Section 10: Logger, Timer, ResidentThread."""

import threading
import time

from shapes import box
from uipc import Engine, Logger, ResidentThread, Scene, Timer, World
from uipc.constitution import AffineBodyConstitution
from uipc.stats import SimulationStats

for level in ("Trace", "Debug", "Info", "Warn", "Error", "Critical", "Off"):
    assert getattr(Logger, level) == getattr(Logger.Level, level)
Logger.set_level(Logger.Level.Info)
Logger.set_pattern("[%l] %v")
for say in (Logger.debug, Logger.info, Logger.warn, Logger.error, Logger.critical):
    say("a line")
Logger.log(Logger.Level.Error, "logged")
Logger.set_level(Logger.Warn)

scene = Scene()
mesh = box()
AffineBodyConstitution().apply_to(mesh, 1e8)
scene.objects().create("box").geometries().create(mesh)
world = World(Engine("cuda", "./"))
world.init(scene)

Timer.enable_all()
world.advance()
tree = Timer.report_as_json()
assert tree["name"] == "GlobalTimer" and {"name", "parent", "count", "duration", "children"} <= tree.keys()
world.advance()
Timer.report()
Timer.disable_all()

stats = SimulationStats()
for _ in range(3):
    world.advance()
    world.retrieve()
    stats.collect()
frames, durations = stats.get_values("newton_iteration")
assert stats.num_frames == 3 and frames.tolist() == [0, 1, 2] and (durations > 0).all()
assert "Pipeline" in stats.all_timer_names and stats.to_markdown(["Pipeline"], metric="count").count("\n") == 4

worker, seen, hold = ResidentThread(), [], threading.Event()
assert worker.is_ready() and worker.post(lambda: (hold.wait(10), seen.append(1)))
assert not worker.is_ready() and not worker.post(lambda: None)
hold.set()
for _ in range(1000):
    if worker.is_ready():
        break
    time.sleep(0.01)
assert seen == [1] and worker.post(world.advance)
while not worker.is_ready():
    time.sleep(0.01)
assert world.frame() == 6

# beside a window: a step is posted when the last one is done
import polyscope as ps


def update():
    if worker.is_ready():
        world.retrieve()
        worker.post(world.advance)


ps.set_user_callback(update)
ps.show()
assert world.frame() == 12, world.frame()
print("section 10 done")
