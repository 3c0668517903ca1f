"""What users are told about a step: pairs of bodies that begin too close, and memory that does not suffice."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dovetail.logger import Logger
from dovetail.world.lower.contacts import plane_names

if TYPE_CHECKING:
    from dovetail.world.simulation import Simulation

__all__ = ["out_of_memory", "tell_of_close_pairs"]


def tell_of_close_pairs(simulation: Simulation, frame: int) -> None:
    """Log once which bodies began closer than they would rest, and what is done about it."""
    contact, table = simulation.contact, simulation.table
    if contact is None or contact.ease is None or (news := contact.ease.news) is None:
        return
    contact.ease.news = None
    other = table.name(news.b) if news.b >= 0 else f"half-plane '{plane_names(simulation.scene)[-1 - news.b]}'"
    Logger.info(
        f"World.advance: frame {frame}: {table.name(news.a)} begins {news.gap:.2g} m from {other}, nearer "
        f"than it would rest; the barrier of this pair, the nearest of {news.pairs}, grows to its full range "
        f"within {news.seconds:.2g} s, so that nothing is thrown apart."
    )


def out_of_memory(simulation: Simulation) -> str:
    """The message for a step that the memory of this machine does not suffice for."""
    if simulation.contact is None:
        return "the memory of this machine does not suffice; make the scene smaller"
    scene = simulation.contact.scene
    body, length = scene.finest()
    return (
        f"the memory of this machine does not suffice for all that is near each other. The surface of "
        f"{simulation.table.name(body)} has {scene.element_count[body]} elements with edges of {length:.2g} m, and "
        f"contact looks at least {2.0 * scene.d_hat[body]:.2g} m far, twice its d_hat; lower contact/d_hat, or "
        "make the surface coarser"
    )
