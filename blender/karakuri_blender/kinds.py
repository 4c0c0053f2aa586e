"""Kinds of joints and of shapes: what the panels offer, and how they are called in scene files.

A new kind of joint or loop is a line of JOINTS. Its numbers are those of Dof for each degree of freedom, and Closing for
loops that give way.
"""
from __future__ import annotations

from typing import NamedTuple


class JointKind(NamedTuple):
    word: str  # in scene files
    label: str
    hint: str
    dofs: tuple = ()  # of each degree of freedom: "turn" or "slide"
    closes_only: bool = False  # cannot carry a body


JOINTS = {
    "FIXED": JointKind("fixed", "Fixed", "Holds the two bodies together"),
    "REVOLUTE": JointKind("revolute", "Revolute", "A hinge: turns about its axis", ("turn",)),
    "PRISMATIC": JointKind("prismatic", "Prismatic", "Slides along its axis", ("slide",)),
    "CYLINDRICAL": JointKind("cylindrical", "Cylindrical", "Slides along and turns about its axis", ("slide", "turn")),
    "SCREW": JointKind("screw", "Screw", "Turns about its axis and advances with it", ("turn",)),
    "UNIVERSAL": JointKind("universal", "Universal", "Turns about its axis, then about the second one", ("turn", "turn")),
    "PLANAR": JointKind("planar", "Planar", "Slides across its axis and turns about it", ("slide", "slide", "turn")),
    "SPHERICAL": JointKind("spherical", "Spherical", "A ball in a socket", ("turn",) * 3),
    "FREE": JointKind("free", "Free", "Anything; carries drives and springs", ("slide",) * 3 + ("turn",) * 3),
    "POINT_ON_LINE": JointKind("point-on-line", "Point on line", "Keeps a point on an axis; closes loops", (), True),
    "DISTANCE": JointKind(
        "distance", "Distance, spring or rope", "Keeps two points apart, pulls by a spring or holds as a rope; closes loops",
        (), True),
}
JOINT_OF_WORD = {kind.word: key for key, kind in JOINTS.items()}


class ShapeKind(NamedTuple):
    label: str
    hint: str


SHAPES = {
    "BOX": ShapeKind("Box", "The box around the mesh"),
    "SPHERE": ShapeKind("Sphere", "The largest extent is its diameter"),
    "CAPSULE": ShapeKind("Capsule", "Along its axis, with round ends, within the box around the mesh"),
    "CYLINDER": ShapeKind("Cylinder", "Along its axis, within the box around the mesh"),
    "CONE": ShapeKind("Cone", "Along its axis, the tip up, within the box around the mesh"),
    "ELLIPSOID": ShapeKind("Ellipsoid", "Within the box around the mesh"),
    "HULL": ShapeKind("Convex hull", "The convex hull of the mesh"),
    "MESH": ShapeKind("Mesh (solid)", "The mesh as a solid; it must be closed"),
    "SURFACE": ShapeKind("Mesh (surface)", "The triangles, without an inside: floors and terrain"),
    "DECOMPOSITION": ShapeKind("Convex decomposition", "Convex parts that make up the mesh; it must be closed"),
    "KEPT": ShapeKind("As imported", "What the file says, of a kind that Blender has no mesh for"),
    "NONE": ShapeKind("None", "Touches nothing; its child shapes may"),
}
MESH_USE = {"MESH": "solid", "SURFACE": "surface", "DECOMPOSITION": "decomposed"}


def items(table) -> list:
    """For an EnumProperty."""
    return [(key, kind.label, kind.hint) for key, kind in table.items()]
