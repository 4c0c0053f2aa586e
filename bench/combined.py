# Random worlds in which nothing does work, of features that seldom meet: how many hold.
"""Usage: combined.py [--count N] [--first SEED] [--seconds S] [--json FILE]

Each world is a scene in YAML with some of these, 1 cm to 10 m large and with masses up to 1e4 times each other: closed polygons of bars, chains between two posts that are
kinematic and at rest, platforms on springs, wound pendulums, spinning tops, piles, L-shaped solids from mesh files, heightfields, dampers, drives that only brake, loops that
contradict each other, joints at their limits; steps from 0.5 ms to 50 ms; all contact models, solvers and integrators.

The energy is that of the mass matrix, of the centres of mass and of the joints' springs. Between any two moments it must not rise by more than
  2 (1.1 max |change of potential in a step|, by tree, + h^2 sum m g^2)  what first-order integrators swing by             (1)
  + 2 (weight of all) (deepest overlap at the start)                     what overlaps that come apart lift                   (2)
  + 1e-6 of all that was exchanged
(springs in place of contacts store energy, too: with them, since the start)
and where no loop is and nothing overlaps, each coordinate moves by a value between h v and h v+, but for the turn of its tree in the step and what forces change in it; nothing
is frozen, and the report's energy_made is below 1 % of what there is."""
import argparse
import json
import math
import os
import sys
import tempfile
import time

import numpy as np

import karakuri

G = 9.81
MODELS = [("cone", s) for s in ("default", "block", "newton", "pgs-isotropic", "pgs", "quickstep")]
MODELS += [("pyramid", s) for s in ("default", "springhead", "dantzig", "lemke", "quickstep")]
MODELS += [("penalty", s) for s in ("default", "block", "newton")]
INTEGRATORS = ("semi-implicit", "symplectic", "rk4", "explicit")
L_SHAPE = """v 0 0 0\nv 2 0 0\nv 2 1 0\nv 1 1 0\nv 1 2 0\nv 0 2 0\nv 0 0 1\nv 2 0 1\nv 2 1 1\nv 1 1 1\nv 1 2 1\nv 0 2 1
f 1 4 3\nf 1 3 2\nf 1 6 5\nf 1 5 4\nf 7 9 10\nf 7 8 9\nf 7 11 12\nf 7 10 11
f 1 2 8\nf 1 8 7\nf 2 3 9\nf 2 9 8\nf 3 4 10\nf 3 10 9\nf 4 5 11\nf 4 11 10\nf 5 6 12\nf 5 12 11\nf 6 1 7\nf 6 7 12
"""


def floats(values):
    return [float(x) for x in np.ravel(values)]


def unit(rng, n=3):
    v = rng.normal(size=n)
    return v / np.linalg.norm(v)


class Combined:
    """A scene by its seed. Links are known by mass, place of the centre of mass and tree."""

    def __init__(self, seed):
        self.rng = rng = np.random.default_rng([seed, 77])
        self.seed = seed
        self.size = 10 ** rng.uniform(-2, 1)
        self.step = 10 ** rng.uniform(math.log10(5e-4), math.log10(0.05))
        contact, solver = MODELS[rng.integers(len(MODELS))]
        self.settings = {"dt": self.step, "integrator": str(rng.choice(INTEGRATORS)), "contact": contact, "solver": solver}
        if rng.random() < 0.3:
            self.settings["sleep"] = {"enabled": False}
        self.density = 10 ** rng.uniform(1, 3.5)
        self.ratio = 10 ** rng.uniform(0, 4)
        self.links, self.springs, self.parts, self.tree = [], [], [], 0
        self.scene = {"settings": self.settings, "materials": [], "bodies": [], "loops": [], "kinematic": [], "controllers": []}
        for i in range(3):
            m = {"name": f"m{i}", "friction": float(rng.choice([0, 0.3, 0.8, 1.2]))}
            if rng.random() < 0.3:
                m["restitution"] = float(rng.uniform(0, 1))
            if rng.random() < 0.1:
                m["torsional_friction"] = m["rolling_friction"] = float(0.01 * self.size)
            self.scene["materials"].append(m)
        if solver == "lemke":
            for m in self.scene["materials"]:
                m.pop("torsional_friction", None), m.pop("rolling_friction", None)
        self.lay_ground()
        makers = [self.polygon, self.hung_chain, self.platform, self.wound, self.top, self.pile, self.solid, self.pile]
        for _ in range(int(rng.integers(1, 5))):
            maker = makers[rng.integers(len(makers))]
            self.parts.append(maker.__name__)
            maker()

    # ---- parts
    def lay_ground(self):
        rng, s = self.rng, self.size
        pick = rng.random()
        if pick < 0.5:
            self.scene["ground"] = {"material": self.material()}
        elif pick < 0.75:
            n = int(rng.integers(3, 10))
            field = {"size": [30 * s] * 2, "columns": n, "rows": n, "heights": floats(rng.uniform(-0.5 * s, 0, n * n))}
            self.scene["world"] = {"shapes": [{"heightfield": field, "material": self.material()}, {"plane": True, "at": [0, 0, -2 * s]}]}

    def material(self):
        return f"m{self.rng.integers(3)}"

    def place(self):
        """Apart from the others, seldom in one place with them."""
        rng, s = self.rng, self.size
        k = self.tree
        if rng.random() < 0.1:
            return np.array([*rng.uniform(-s, s, 2), rng.uniform(0.2, 1) * s])
        return np.array([(k % 3 - 1) * 7 * s, (k // 3 - 1) * 7 * s, s * rng.uniform(1.5, 5)])

    def body(self, name, parent, at, joint, shape, sizes, com=(0, 0, 0), density=None, **more):
        """A link of a solid box of these sizes, whatever its shape is."""
        sizes = np.asarray(sizes, float)
        mass = (density or self.density * self.ratio ** self.rng.uniform(0, 1)) * sizes.prod()
        moments = mass * (sizes @ sizes - sizes * sizes) / 12
        self.scene["bodies"].append(
            {
                "name": name,
                "parent": parent,
                "at": floats(at),
                "joint": joint,
                "material": self.material(),
                "shapes": [{**shape, "at": floats(com)}],
                "inertia": {"mass": float(mass), "com": floats(com), "moments": floats(moments)},
                **more,
            }
        )
        self.links.append((name, float(mass), np.array(com, float), self.tree))
        return float(mass)

    def spring(self, name, joint, mass, arm):
        """A spring and a damper, some of the time; what they are made for is the weight at this arm, none: a slide."""
        rng = self.rng
        weight = mass * G * (arm if arm else 1 / self.size)
        if rng.random() < 0.5:
            joint["stiffness"] = weight * 10 ** rng.uniform(-1, 4)
            joint["rest"] = float(rng.uniform(-1, 1) * (1 if arm else self.size / 2))
            self.springs.append((name, joint["stiffness"], joint["rest"]))
        if rng.random() < 0.3:
            joint["damping"] = weight * math.sqrt(self.size / G) * 10 ** rng.uniform(-3, 2)
        if rng.random() < 0.2:
            joint["dry_friction"] = weight * 10 ** rng.uniform(-3, 0)
        if rng.random() < 0.3:
            low, high = rng.uniform(0.05, 1.5, 2) * (1 if arm else self.size)
            joint["limits"] = [-float(low), float(high)]
        if rng.random() < 0.3:
            joint["v"] = float(rng.normal() * math.sqrt(G / self.size) * (1 if arm else self.size))
        if rng.random() < 0.2:
            self.scene["controllers"].append({"joints": name, "stiffness": 0.0, "damping": weight * math.sqrt(self.size / G) * 10 ** rng.uniform(-3, 1)})

    def box(self, sizes):
        return {"box": floats(sizes)}

    def polygon(self):
        """Bars whose ends meet, closed by a loop; on the world or free, and sometimes held once too often."""
        rng, s, t = self.rng, self.size, self.tree
        n, side = int(rng.integers(4, 9)), s * rng.uniform(0.3, 1)
        at, density = self.place(), self.density
        free = rng.random() < 0.5
        angle = 2 * math.pi / n
        for i in range(n):
            name = f"p{t}_{i}"
            sizes = np.array([side, side / 8, side / 8])
            heading = (math.cos(angle / 2), 0, math.sin(angle / 2), 0) if i else (1, 0, 0, 0)  # about y
            joint = {"kind": "revolute", "axis": [0, 1, 0]} if i or not free else "free"
            mass = density * sizes.prod()
            if isinstance(joint, dict):
                self.spring(name, joint, mass, side)
                joint.pop("v", None), joint.pop("limits", None)
            place = at if i == 0 else (side, 0, 0)
            self.body(name, f"p{t}_{i - 1}" if i else "world", place, joint, self.box(sizes * [0.8, 1, 1]), sizes, (side / 2, 0, 0), density, quat=floats(heading))
        kind = str(rng.choice(["revolute", "spherical", "universal", "fixed"]))
        loop = {"name": f"close{t}", "kind": kind, "parent": f"p{t}_{n - 1}", "child": f"p{t}_0", "in_parent": {"at": [side, 0, 0]}, "in_child": {"at": [0, 0, 0]}}
        if kind == "revolute":
            loop["axis"] = [0, 1, 0]
        if kind == "fixed":  # as they are turned to each other
            loop["in_parent"]["quat"] = floats((math.cos(angle / 2), 0, math.sin(angle / 2), 0))
        self.scene["loops"].append(loop)
        if rng.random() < 0.2:
            self.scene["loops"].append({"name": f"again{t}", "kind": "distance", "parent": f"p{t}_0", "child": f"p{t}_{n // 2}"})
        self.tree += 1

    def hung_chain(self):
        """Between two posts that are kinematic and at rest."""
        rng, s, t = self.rng, self.size, self.tree
        n, side = int(rng.integers(2, 9)), s * rng.uniform(0.2, 0.6)
        at = self.place() + [0, 0, 3 * s]
        for k in range(2):
            name = f"post{t}_{k}"
            self.body(name, "world", at + np.array([k * n * side, 0, 0]), "free", {"sphere": 0.1 * side}, [0.2 * side] * 3, density=self.density)
            self.scene["kinematic"].append(name)
            self.links[-1] = self.links[-1][:3] + (-1,)
        for i in range(n):
            sizes = np.array([side, side / 10, side / 10])
            joint = {"kind": "spherical"} if i else "free"
            self.body(f"c{t}_{i}", f"c{t}_{i - 1}" if i else "world", (side, 0, 0) if i else at, joint, {"box": floats(sizes * [0.7, 1, 1])}, sizes, (side / 2, 0, 0))
        for k, link, place in ((0, 0, 0), (1, n - 1, side)):
            if k == 0 or rng.random() < 0.7:
                self.scene["loops"].append({"name": f"hold{t}_{k}", "kind": "spherical", "parent": f"post{t}_{k}", "child": f"c{t}_{link}", "in_child": {"at": [place, 0, 0]}})
        self.tree += 1

    def platform(self):
        """A plate on a spring, and something that falls on it."""
        rng, s, t = self.rng, self.size, self.tree
        at, sizes = self.place(), s * np.array([2, 2, 0.3])
        joint = {"kind": str(rng.choice(["prismatic", "revolute"])), "axis": [0, 0, 1] if rng.random() < 0.5 else floats(unit(rng))}
        slides = joint["kind"] == "prismatic"
        mass = self.density * sizes.prod()
        self.spring(f"plate{t}", joint, mass, None if slides else s)
        self.body(f"plate{t}", "world", at, joint, self.box(sizes), sizes, density=self.density)
        self.tree += 1
        small = s * rng.uniform(0.2, 0.6, 3)
        more = {"velocity": floats(unit(rng) * math.sqrt(G * s))} if rng.random() < 0.5 else {}
        self.body(f"drop{t}", "world", at + [0, 0, s * rng.uniform(0.6, 2)], "free", self.box(small), small, **more)
        self.tree += 1

    def wound(self):
        """Links on springs that are wound at the start."""
        rng, s, t = self.rng, self.size, self.tree
        at = self.place()
        for i in range(int(rng.integers(1, 6))):
            sizes = s * np.array([rng.uniform(0.3, 1), *rng.uniform(0.05, 0.3, 2)])
            kind = str(rng.choice(["revolute", "prismatic", "revolute"]))
            joint = {"kind": kind, "axis": floats(unit(rng))}
            name, mass = f"w{t}_{i}", self.density * sizes.prod()
            self.spring(name, joint, mass, None if kind == "prismatic" else s)
            shape = {"capsule": {"radius": float(sizes[1] / 2), "length": float(sizes[0])}} if rng.random() < 0.5 else self.box(sizes)
            self.body(name, f"w{t}_{i - 1}" if i else "world", floats(unit(rng) * 0.8 * s) if i else at, joint, shape, sizes, unit(rng) * 0.3 * s, self.density)
        self.tree += 1

    def top(self):
        """What spins."""
        rng, s, t = self.rng, self.size, self.tree
        sizes = s * rng.uniform(0.1, 0.8, 3)
        spin = unit(rng) * math.sqrt(G / s) * 10 ** rng.uniform(-1, 1.5)
        self.body(f"top{t}", "world", self.place(), "free", {"ellipsoid": floats(sizes / 2)} if rng.random() < 0.5 else self.box(sizes), sizes, angular_velocity=floats(spin))
        self.tree += 1

    def pile(self):
        """Boxes on each other, light ones below heavy ones as often as not."""
        rng, s, t = self.rng, self.size, self.tree
        at = self.place()
        at[2] = 0
        for i in range(int(rng.integers(2, 7))):
            sizes = s * rng.uniform(0.2, 0.8, 3)
            at[2] += sizes[2] / 2
            self.body(f"b{t}_{i}", "world", at, "free", self.box(sizes), sizes)
            at[2] += sizes[2] / 2 + s * rng.choice([0, 0, 0.05, -0.02])
            self.tree += 1

    def solid(self):
        """An L from a mesh file."""
        rng, s, t = self.rng, self.size, self.tree
        scale = 0.4 * s * rng.uniform(0.3, 1)
        use = str(rng.choice(["hull", "decomposed", "solid", "surface"], p=[0.3, 0.3, 0.3, 0.1]))
        self.body(f"solid{t}", "world", self.place(), "free", {"mesh": {"file": "l.obj", "scale": float(scale), "use": use}}, scale * np.array([2, 2, 1]))
        self.tree += 1

    def text(self):
        """JSON is YAML."""
        return json.dumps({key: value for key, value in self.scene.items() if value != []})

    def title(self):
        return f"seed {self.seed} {'+'.join(self.parts)}, {self.size:.3g} m, ratio {self.ratio:.3g}, {self.settings}"


class Watch:
    """Energy and coordinates of a world, from outside."""

    def __init__(self, combined, world):
        self.world = world
        links = [link for link in combined.links if link[3] >= 0]
        self.index = [world.link(name).index for name, _, _, _ in links]
        self.mass = np.array([mass for _, mass, _, _ in links])
        self.com = np.array([com for _, _, com, _ in links])
        self.tree = np.array([tree for _, _, _, tree in links])
        self.springs = [(world.joint(name), k, rest, next(t for n, _, _, t in links if n == name)) for name, k, rest in combined.springs]
        self.trees = combined.tree

    def energy(self):
        """Of motion, and by tree of height and springs."""
        v = np.array(self.world.v)
        poses = self.world.poses[self.index]
        height = np.einsum("nij,nj->ni", poses[:, :3, :3], self.com)[:, 2] + poses[:, 2, 3]
        potential = np.bincount(self.tree, self.mass * G * height, self.trees)
        for joint, k, rest, tree in self.springs:
            potential[tree] += 0.5 * k * (float(np.ravel(joint.q)[0]) - rest) ** 2
        return 0.5 * v @ self.world.mass_matrix() @ v, potential


def judge(combined, seconds=2.0, most_steps=1000, patience=60.0):
    """What is wrong with the world, in words; nothing where it holds."""
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "l.obj"), "w") as file:
            file.write(L_SHAPE)
        world = karakuri.World.from_text(combined.text(), os.path.join(folder, "scene.yaml"))
    watch, h, size = Watch(combined, world), combined.step, combined.size
    weight = G * watch.mass.sum()
    motion, before = watch.energy()
    lowest = motion + before.sum()
    swing = depth = exchanged = made = rise = 0.0
    q, v = np.array(world.q), np.array(world.v)
    for step in range(int(min(max(seconds / h, 20), most_steps))):
        world.step()
        report = world.report
        after, potential = watch.energy()
        if not (np.isfinite(after) and np.isfinite(potential).all()):
            return f"not finite in step {step + 1}"
        if step == 0:
            depth = max(0.0, report["penetration"])
        swing = max(swing, np.abs(potential - before).sum())
        exchanged += abs(after - motion) + np.abs(potential - before).sum()
        energy = after + potential.sum()
        made += report["energy_made"]
        rise = max(rise, energy - lowest)
        if combined.settings["contact"] != "penalty":  # its springs give back what they have taken
            lowest = min(lowest, energy)
        motion, before = after, potential
        moved, v_after = np.ravel(world.difference(q, world.q)), np.array(world.v)
        a, b = h * v, h * v_after
        beside = np.abs(moved - np.clip(moved, np.minimum(a, b), np.maximum(a, b)))
        turn = np.abs(np.concatenate([a, b])).max() / min(size, 1)
        most = 2 * size * min(1, turn) * turn + np.abs(b - a) + 2 * G * h * h * max(1, 1 / size) + 1e-6 * size
        plain = report["parts"] <= 1 and turn < 1 and not combined.scene["loops"] and max(report["penetration"], report["residual"] * h) < 1e-6 * size
        if plain and (beside > most).any():
            k = int(np.argmax(beside - most))
            return f"coordinate {k} moved {moved[k]:.3g}, h v {a[k]:.3g} to {b[k]:.3g}, allowed beside it {most[k]:.3g}, step {step + 1}"
        q, v = np.array(world.q), v_after
        if time.perf_counter() - began > patience:
            break
    frozen = [link.name for link in world.links if link.quarantined]
    if frozen:
        return f"frozen: {', '.join(frozen)}"
    allowed = 2.2 * swing + 2 * weight * G * h * h + 2 * weight * depth + 1e-6 * exchanged + 1e-9 * weight * size  # (1), (2)
    if rise > allowed:
        return f"energy rose by {rise:.3g} J, of {allowed:.3g} that are allowed, where {exchanged:.3g} J were exchanged"
    if made > 1e-2 * (exchanged + weight * size):
        return f"energy_made is {made:.3g} of {exchanged:.3g} J exchanged"
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=200, help="worlds")
    parser.add_argument("--first", type=int, default=0, help="their first seed")
    parser.add_argument("--seconds", type=float, default=2, help="of each, at most 1000 steps")
    parser.add_argument("--json", metavar="FILE", help="also write the figures there")
    options = parser.parse_args()
    failed, began = {}, time.perf_counter()
    for seed in range(options.first, options.first + options.count):
        combined = Combined(seed)
        if fault := judge(combined, options.seconds):
            failed[seed] = fault
            print(f"{combined.title()}: {fault}", flush=True)
    held = options.count - len(failed)
    print(f"{held} of {options.count} worlds hold, {time.perf_counter() - began:.0f} s")
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"count": options.count, "held": held, "failed": failed}, file)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
