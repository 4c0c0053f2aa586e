"""A behaviour: a Python file that a scene names, run before each step, loaded again when it is saved.

`karakuri run cart-pole` balances a pole this way; so does a world that a script steps. Give --show to look, and edit
cart-pole.py meanwhile.
"""
import sys

import karakuri

world = karakuri.World.load("cart-pole")
if "--show" in sys.argv:
    print(world.show())
seconds = 600 if "--show" in sys.argv else 8
for second in range(1, seconds + 1):
    try:
        world.run(1.0)
    except karakuri.BehaviourError as error:
        print(error)
        input("mend it, save it, and press Enter")
    print(f"t = {world.time:.0f} s, q = {world.q.round(3)}")
