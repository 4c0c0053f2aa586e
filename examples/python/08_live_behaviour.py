"""A behaviour: a Python file that a scene names, run before each step, loaded again when it is saved.

`karakuri run cart-pole` balances a pole this way. Here the same file controls a world that a script steps.
"""
import importlib.util
import pathlib

import karakuri

folder = pathlib.Path(karakuri.__file__).parent / "share/karakuri/scenes"
specification = importlib.util.spec_from_file_location("balance", folder / "cart-pole.py")
balance = importlib.util.module_from_spec(specification)
specification.loader.exec_module(balance)

world = karakuri.World.load("cart-pole")
if hasattr(balance, "setup"):
    balance.setup(world)
world.on_step(lambda world: balance.step(world, world.dt))
for second in range(1, 9):
    world.run(1.0)
    print(f"t = {world.time:.0f} s, q = {world.q.round(3)}")
