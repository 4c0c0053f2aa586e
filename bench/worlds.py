# Random passive worlds through Python: how many conserve their energy, which is computed with NumPy.
"""Usage: worlds.py [--count N] [--first SEED] [--kind KIND] [--seconds S] [--json FILE]

Worlds as a user would write them: up to six trees of up to six links on joints of all kinds, springs, dampers, limits, loops, terrain, restitution, parts that overlap, things
thrown at 60 sqrt(size) m/s; 3 cm to 10 m, 1 to 20 ms and some steps up to a second; all contact models, solvers and integrators. Nothing in them does work but gravity.

Energy is added up here, from poses, velocities, masses and springs. It must not rise above that of the start by more than
  2 max |change of potential in a step| + h^2 sum m g^2     what velocity-first integrators swing by             (1)
  + 2 (weight of all) (deepest overlap at the start)        what overlaps that come apart lift                   (2)
  + 1e-3 of the energy that is exchanged
and besides: everything stays finite, nothing is frozen, the report's energy_made is below 1 % of the same, no link loses more motion than half its size where the step is one
that can be followed, and nothing sinks into the ground that did not start there."""
import argparse
import json
import math
import sys
import time

import numpy as np

import karakuri

G = 9.81
KINDS = ("plain", "springs", "loops", "overlap", "terrain", "bouncy", "kinematic", "mixed", "wound", "thrown")
MODELS = [("cone", s) for s in ("default", "block", "newton", "pgs-isotropic", "pgs", "quickstep")]
MODELS += [("pyramid", s) for s in ("default", "springhead", "dantzig", "lemke", "quickstep")]
MODELS += [("penalty", s) for s in ("default", "block", "newton")]
WEIGHTS = np.array([10, 2, 2, 2, 1, 1, 3, 2, 2, 2, 2, 4, 1, 1.0])
INTEGRATORS = ("semi-implicit", "symplectic", "rk4", "explicit")
LONG_STEP = 0.02  # [s]


def numbers(array):
    return [float(x) for x in np.ravel(array)]


def random_quaternion(rng):
    q = rng.normal(size=4)
    return q / np.linalg.norm(q)


def rotation(q):
    w, x, y, z = q
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def across(squares):
    """Sums of the other two."""
    return squares.sum() - squares


def random_shape(rng, size):
    """As in a scene, with its volume, its moments per mass and the radius of the sphere about it."""
    kind = rng.choice(["box", "sphere", "capsule", "cylinder", "hull", "ellipsoid"], p=[0.3, 0.15, 0.25, 0.15, 0.1, 0.05])
    if kind == "box":
        d = size * rng.uniform(0.2, 1, 3)
        return {"box": numbers(d)}, d.prod(), across(d * d) / 12, np.linalg.norm(d) / 2
    if kind == "sphere":
        r = size * rng.uniform(0.2, 0.5)
        return {"sphere": r}, 4 / 3 * math.pi * r**3, np.full(3, 0.4 * r * r), r
    if kind == "ellipsoid":
        d = size * rng.uniform(0.2, 0.5, 3)
        return {"ellipsoid": numbers(d)}, 4 / 3 * math.pi * d.prod(), across(d * d) / 5, d.max()
    if kind == "hull":  # an octahedron
        d = size * rng.uniform(0.15, 0.5, 3)
        points = [numbers(s * np.diag(d)[k]) for k in range(3) for s in (1, -1)]
        return {"hull": {"points": points}}, 4 / 3 * d.prod(), across(d * d) / 10, d.max()
    r, length = size * rng.uniform(0.08, 0.3), size * rng.uniform(0.3, 1)
    rod = {"radius": r, "length": length}
    side = (3 * r * r + length * length) / 12
    if kind == "cylinder":
        return {"cylinder": rod}, math.pi * r * r * length, np.array([side, side, r * r / 2]), math.hypot(r, length / 2)
    tube, ends = math.pi * r * r * length, 4 / 3 * math.pi * r**3
    ends_side = 0.4 * r * r + length * length / 4 + 3 / 8 * r * length
    moments = np.array([tube * side + ends * ends_side] * 2 + [tube * r * r / 2 + ends * 0.4 * r * r]) / (tube + ends)
    return {"capsule": rod}, tube + ends, moments, r + length / 2


class RandomWorld:
    """A scene by its seed, and what is known of its links without the engine."""

    def __init__(self, seed, kind=None):
        self.rng = rng = np.random.default_rng(seed)
        self.seed, self.kind = seed, kind or KINDS[seed % len(KINDS)]
        self.size = 10 ** rng.uniform(math.log10(0.03), 1)
        self.step = 10 ** rng.uniform(-3, math.log10(LONG_STEP))
        if rng.random() < 0.06:
            self.step = 10 ** rng.uniform(math.log10(LONG_STEP), 0)
        contact, solver = MODELS[rng.choice(len(MODELS), p=WEIGHTS / WEIGHTS.sum())]
        self.settings = {"dt": self.step, "integrator": str(rng.choice(INTEGRATORS)), "contact": contact, "solver": solver}
        self.overlaps = self.kind in ("overlap", "wound") or (self.kind == "mixed" and rng.random() < 0.3)
        self.ground = None  # height [m]
        self.links, self.springs, self.kinematic = [], [], []
        self.scene = {"settings": self.settings, "materials": self.materials(), "bodies": [], "loops": []}
        self.add_ground()
        self.trees = int(rng.integers(1, 7))
        for tree in range(self.trees):
            self.add_tree(tree)
        self.add_loops()

    def is_any_of(self, *kinds):
        return self.kind in kinds

    def materials(self):
        rng = self.rng
        out = [{"name": f"m{i}", "friction": float(rng.choice([0, 0.2, 0.5, 1.0]))} for i in range(3)]
        if self.is_any_of("bouncy", "mixed"):
            for m in out[1:]:
                m["restitution"] = float(rng.choice([rng.uniform(0, 1), 1.0]))
        return out

    def material(self):
        return f"m{self.rng.integers(3)}"

    def add_ground(self):
        rng, size = self.rng, self.size
        if self.kind == "terrain" or (self.kind == "mixed" and rng.random() < 0.5):
            n = int(rng.integers(4, 12))
            field = {"size": [12 * size] * 2, "columns": n, "rows": n, "heights": numbers(rng.uniform(0, 0.6 * size, n * n))}
            self.ground = -size
            self.scene["world"] = {
                "shapes": [
                    {"heightfield": field, "at": [0, 0, -0.6 * size], "material": self.material()},
                    {"plane": True, "at": [0, 0, -size], "material": self.material()},
                ]
            }
        elif rng.random() < 0.8:
            self.ground = 0.0
            self.scene["ground"] = {"material": self.material()}

    def start_of(self, tree):
        rng, size = self.rng, self.size
        if self.overlaps:
            return size * np.array([*rng.uniform(-0.6, 0.6, 2), rng.uniform(0.12, 0.6)])
        apart = 6 if self.kind == "thrown" else 9
        return size * np.array([(tree % 3 - 1) * apart, (tree // 3 - 0.5) * apart, rng.uniform(4.5, 6)])

    def add_tree(self, tree):
        rng = self.rng
        size, density = self.size * rng.uniform(0.3, 1), 10 ** rng.uniform(1.7, 3.9)
        is_kinematic = self.kind == "kinematic" and tree == 0
        if is_kinematic:
            self.kinematic = self.scene["kinematic"] = ["t0l0"]
        placed = []  # links of this tree, with their frames in the world
        for i in range(int(rng.integers(1, 7))):
            shape, volume, moments, radius = random_shape(rng, size)
            offset = rng.normal(size=3)
            offset *= radius * rng.uniform(0.3, 1) / np.linalg.norm(offset) if i or rng.random() < 0.4 else 0
            mass = volume * density
            link = {"name": f"t{tree}l{i}", "tree": tree, "mass": mass, "moments": mass * moments, "com": offset, "radius": radius}
            parent = placed[int(rng.integers(max(0, i - 2), i))] if i else None
            place = self.place(parent, placed, link) if i else (self.start_of(tree), random_quaternion(rng))
            if place is None:
                break
            at, turn = place
            body = {"name": link["name"], "parent": parent["name"] if parent else "world", "at": numbers(at), "quat": numbers(turn)}
            body["material"] = self.material()
            body["inertia"] = {"mass": mass, "com": numbers(offset), "moments": numbers(link["moments"])}
            body["shapes"] = [{**shape, "at": numbers(offset)}]
            R, p = (parent["R"], parent["p"]) if parent else (np.eye(3), np.zeros(3))
            link["R"], link["p"] = R @ rotation(turn), p + R @ at
            self.add_joint(body, link, is_kinematic)
            placed.append(link)
            self.links.append(link)
            self.scene["bodies"].append(body)

    def place(self, parent, placed, link):
        """On the parent, and clear of the others unless parts may overlap; None where there is no room."""
        rng = self.rng
        for _ in range(60):
            along, turn = rng.normal(size=3), random_quaternion(rng)
            reach = parent["radius"] * (rng.uniform(0.7, 1.1) if self.overlaps else 1)
            at = parent["com"] + along / np.linalg.norm(along) * reach
            center = parent["p"] + parent["R"] @ (at + rotation(turn) @ link["com"])
            gaps = [np.linalg.norm(center - o["p"] - o["R"] @ o["com"]) - link["radius"] - o["radius"] for o in placed if o is not parent]
            if self.overlaps or all(gap > 0 for gap in gaps):
                return at, turn
        return None

    def add_joint(self, body, link, is_kinematic):
        rng, size = self.rng, self.size
        if body["parent"] == "world":
            kind = str(rng.choice(["free", "revolute", "spherical", "prismatic", "universal", "fixed"], p=[0.6, 0.12, 0.08, 0.08, 0.07, 0.05]))
        else:
            kind = str(rng.choice(["revolute", "spherical", "prismatic", "universal", "fixed"], p=[0.45, 0.2, 0.15, 0.15, 0.05]))
        if is_kinematic:
            kind = "fixed" if kind == "free" else kind
        thrown = self.kind == "thrown"
        if kind in ("free", "fixed"):
            body["joint"] = kind
            if kind == "free" and (thrown or rng.random() < 0.4):
                body["velocity"] = numbers(rng.normal(size=3) * (30 * math.sqrt(size) if thrown else math.sqrt(G * size)))
                body["angular_velocity"] = numbers(rng.normal(size=3) * rng.uniform(0, 20 if thrown else 2) * math.sqrt(G / size))
            return
        joint = body["joint"] = {"kind": kind}
        axes = rotation(random_quaternion(rng))
        if kind != "spherical":
            joint["axis"] = numbers(axes[:, 0])
        if kind == "universal":
            joint["second_axis"] = numbers(axes[:, 1])
        turns = kind != "prismatic"
        weight, radius = link["mass"] * G, link["radius"]
        stiffness = weight * radius if turns else weight / radius
        if self.is_any_of("springs", "wound", "mixed", "thrown") and rng.random() < 0.6:
            joint["stiffness"] = stiffness * 10 ** rng.uniform(-1, 4)
            if kind != "spherical" and rng.random() < 0.5:
                joint["rest"] = rng.uniform(-1, 1) * (1 if turns else radius)
            self.springs.append((link, kind, joint["stiffness"], joint.get("rest", 0.0)))
        if rng.random() < 0.4:
            joint["damping"] = stiffness * math.sqrt(radius / G) * 10 ** rng.uniform(-3, 2)
        if kind in ("revolute", "prismatic") and rng.random() < (0.3 if turns else 0.9):
            low, high = rng.uniform(0.1, 1.5, 2) * (1 if turns else 2 * radius)
            joint["limits"] = [-float(low), float(high)]
        if rng.random() < 0.3 and not is_kinematic:
            dofs = {"spherical": 3, "universal": 2}.get(kind, 1)
            v = numbers(rng.normal(size=dofs) * math.sqrt(G / size) * (1 if turns else size))
            joint["v"] = v if dofs > 1 else v[0]

    def add_loops(self):
        if not self.is_any_of("loops", "mixed"):
            return
        rng = self.rng
        for tree in range(self.trees):
            names = [link["name"] for link in self.links if link["tree"] == tree]
            if len(names) < 3 or rng.random() < 0.2:
                continue
            a, b = sorted(rng.choice(len(names), 2, replace=False))
            kind = str(rng.choice(["spherical", "revolute", "distance", "fixed", "point-on-line", "universal"]))
            loop = {"name": f"loop{tree}", "kind": kind, "parent": names[a], "child": names[b]}
            if kind in ("revolute", "point-on-line"):
                loop["axis"] = numbers(rng.normal(size=3))
            self.scene["loops"].append(loop)
        if self.trees > 1 and rng.random() < 0.5:
            self.scene["loops"].append({"name": "tie", "kind": "distance", "parent": "t0l0", "child": "t1l0"})

    def text(self):
        """JSON is YAML."""
        return json.dumps({key: value for key, value in self.scene.items() if value != []})


def rotation_vector(q):
    q = q if q[0] >= 0 else -q
    s = np.linalg.norm(q[1:])
    return 2 * q[1:] if s < 1e-12 else q[1:] * (2 * math.atan2(s, q[0]) / s)


class Energies:
    """Of a world's links, from their poses and velocities."""

    def __init__(self, random, world):
        self.random, self.world = random, world
        links = random.links
        self.links = [world.link(link["name"]) for link in links]
        self.index = [link.index for link in self.links]
        self.tree = np.array([link["tree"] for link in links])
        self.counts = ~((self.tree == 0) & bool(random.kinematic))
        self.mass = np.array([link["mass"] for link in links])
        self.moments = np.array([link["moments"] for link in links])
        self.com = np.array([link["com"] for link in links])
        self.radius = np.array([link["radius"] for link in links])
        self.joints = [(link["tree"], world.joint(link["name"]), kind, k, rest) for link, kind, k, rest in random.springs]

    def now(self):
        """Of motion; potential by tree; centres of mass."""
        poses = self.world.poses[self.index]
        R = poses[:, :3, :3]
        arm = np.einsum("nij,nj->ni", R, self.com)
        center = poses[:, :3, 3] + arm
        w = np.array([link.angular_velocity for link in self.links])
        v = np.array([link.velocity for link in self.links]) + np.cross(w, arm)
        spin = np.einsum("nji,nj->ni", R, w)
        motion = 0.5 * (self.mass * (v * v).sum(1) + (self.moments * spin * spin).sum(1))
        potential = np.bincount(self.tree, self.mass * G * center[:, 2] * self.counts, self.random.trees)
        for tree, joint, kind, k, rest in self.joints:
            q = np.atleast_1d(joint.q)
            x = rotation_vector(q) if kind == "spherical" else q - rest
            potential[tree] += 0.5 * k * float(x @ x)
        return (motion * self.counts).sum(), potential, center


def judge(random, seconds=2.0, most_steps=1500):
    """What is wrong with the world, in words; nothing where it holds."""
    world = karakuri.World.from_text(random.text())
    energies = Energies(random, world)
    h = random.step
    motion, before, _ = energies.now()
    start = motion + before.sum()
    weight = G * (energies.mass * energies.counts).sum()
    swing = highest = made = 0.0
    most_motion, lowest, depth, lost = motion, before.sum(), 0.0, {}
    for step in range(int(min(max(seconds / h, 20), most_steps))):
        world.step()
        report = world.report
        made += report["energy_made"]
        if report["motion_lost"] > 0:
            lost[report["motion_link"]] = lost.get(report["motion_link"], 0) + report["motion_lost"]
        motion, potential, center = energies.now()
        if not (np.isfinite(motion) and np.isfinite(potential).all()):
            return "not finite"
        if step == 0:
            depth = max(0.0, report["penetration"])
        swing = max(swing, np.abs(potential - before).sum())
        before = potential
        highest = max(highest, motion + potential.sum() - start)
        most_motion, lowest = max(most_motion, motion), min(lowest, potential.sum())
        sunk = random.ground is not None and ((random.ground - center[:, 2]) / energies.radius)[energies.counts].max(initial=0) > 1
        if sunk and not random.overlaps and h < LONG_STEP:
            return f"sunk into the ground in step {step}"
    frozen = [link.name for link in energies.links if link.quarantined]
    size = max(most_motion, start - lowest, weight * energies.radius.max())
    allowed = 2 * swing + weight * G * h * h + 2 * weight * depth + 1e-3 * size  # (1), (2)
    radius = {link["name"]: link["radius"] for link in random.links}
    lost_most = max((x / radius.get(str(name), random.size) for name, x in lost.items()), default=0)
    if frozen:
        return f"frozen: {', '.join(frozen)}"
    if highest > allowed:
        return f"energy rose by {highest / size:.3g} of what was exchanged, {highest / allowed:.3g} of what is allowed"
    if made > 1e-2 * size:
        return f"energy_made is {made / size:.3g} of what was exchanged"
    if lost_most > 0.5 and h < LONG_STEP:
        return f"motion lost: {lost_most:.3g} of the link's size"
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=200, help="number of worlds")
    parser.add_argument("--first", type=int, default=0, help="seed of the first world")
    parser.add_argument("--kind", choices=KINDS, help="use worlds of this kind only")
    parser.add_argument("--seconds", type=float, default=2, help="simulated time of each world [s], at most 1500 steps")
    parser.add_argument("--json", metavar="FILE", help="also write the figures to this file")
    options = parser.parse_args()
    failed, began = {}, time.perf_counter()
    for seed in range(options.first, options.first + options.count):
        random = RandomWorld(seed, options.kind)
        if fault := judge(random, options.seconds):
            failed[seed] = fault
            print(f"seed {seed} {random.kind}, {random.size:.3g} m, {random.settings}: {fault}", flush=True)
    held = options.count - len(failed)
    print(f"{held} of {options.count} worlds hold, {time.perf_counter() - began:.0f} s")
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"count": options.count, "held": held, "failed": failed}, file)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
