"""What the add-on costs beside the engine and Blender itself. Figures are printed; ratios are of one and the same run."""
import time
import unittest

import bpy
import karakuri_blender as kb
import numpy as np
from common import InBlender
from karakuri_blender import bake


class Speed(InBlender):
    def pile(self, count):
        random = np.random.default_rng(3)
        for i in range(count):
            self.box(f"B{i}", (0.35 * (i % 4), 0.35 * (i // 4 % 3), 0.2 + 0.3 * (i // 12)), random.uniform(0.15, 0.25, 3))
        self.update()

    def swings(self, chains, links):
        """Chains of boxes on hinges, let go from the side: nothing comes to rest."""
        for c in range(chains):
            above = None
            for i in range(links):
                body = self.box(f"S{c}.{i}", (0.2 + 0.2 * i, 0.3 * c, 2), (0.18, 0.1, 0.1))
                self.joint(f"J{c}.{i}", "REVOLUTE", above, body, (0.1 + 0.2 * i, 0.3 * c, 2))
                above = body
        self.update()

    def costs(self, name, frames, steps=42):
        """Share of what the add-on adds, by the processor time of the thread: others use this machine, too."""
        run = kb.start()
        alone = run.karakuri.World.from_text(run.description.text())
        engine = total = depsgraph = 0.0
        view_layer, clock = bpy.context.view_layer, time.thread_time
        for _ in range(frames):  # turn by turn, so that caches and clocks are alike
            began = clock()
            alone.step(steps)
            engine += clock() - began
            began = clock()
            run.advance(steps)
            between = clock()
            view_layer.update()
            depsgraph += clock() - between
            total += clock() - began
        self.assertEqual(run.world.hash(), alone.hash())
        added = total - engine - depsgraph
        share = added / (engine + depsgraph)
        print(f"\n{name}, a frame of {steps} steps: engine {1e3 * engine / frames:.2f} ms, depsgraph {1e3 * depsgraph / frames:.2f} ms, "
              f"the add-on {1e3 * added / frames:.2f} ms ({100 * share:.0f} %)")
        return share

    def test_forty_boxes_that_tumble(self):
        self.pile(40)
        for owner in self.scene.objects:
            owner.karakuri.velocity, owner.karakuri.angular_velocity = (1, 0.5, 2), (3, 1, 4)
        self.assertLess(self.costs("40 boxes that tumble", 40), 0.2)

    def test_forty_links_that_swing(self):
        """Without contact the engine has next to nothing to do; the figure is printed, and has no limit."""
        self.swings(10, 4)
        self.costs("40 links that swing", 100)

    def test_bake_of_100_bodies(self):
        self.pile(100)
        began = time.perf_counter()
        work = bake.Bake(self.scene, 1, 250)
        while work.done < 250:
            work.some(50)
        simulated = time.perf_counter()
        keys = work.write()
        done = time.perf_counter()
        print(f"\n250 frames of 100 bodies: simulated in {simulated - began:.2f} s (10.4 s of the scene), "
              f"{keys} keys written in {done - simulated:.2f} s")
        self.assertEqual(keys, 250 * 100 * 6)
        self.assertLess(done - began, 5)


if __name__ == "__main__":
    unittest.main()
