"""What takes a process of its own: the program, exits with threads that still step, Ctrl-C."""
import os
import pathlib
import signal
import subprocess
import sys
import time
import unittest

import karakuri
from common import pendulum

ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


def run(code, timeout=300):
    return subprocess.run([sys.executable, "-c", code], env=ENVIRONMENT, capture_output=True, text=True, timeout=timeout)


class Exits(unittest.TestCase):
    def check(self, code):
        done = run(code)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)

    def test_daemon_thread_that_steps(self):
        self.check("import threading, time, karakuri\n"
                   "world = karakuri.World.load('four-bar')\n"
                   "def work():\n    while True: world.step()\n"
                   "threading.Thread(target=work, daemon=True).start()\n"
                   "time.sleep(0.3)\n")

    def test_daemon_thread_with_a_callback(self):
        self.check("import threading, time, karakuri\n"
                   "world = karakuri.World.load('four-bar')\n"
                   "world.on_step(lambda w: w.q.sum())\n"
                   "threading.Thread(target=world.step, args=(10**8,), daemon=True).start()\n"
                   "time.sleep(0.3)\n")

    def test_world_alive_at_the_end(self):
        self.check("import karakuri\n"
                   "world = karakuri.World.load('four-bar')\n"
                   "q, joint, recording = world.q, world.joint('crank'), world.record('time')\n"
                   "world.on_step(lambda w: joint.q)\n"
                   "world.step(3)\n"
                   "import sys; sys.keep = (world, q, joint, recording)\n")

    def test_exit_from_a_callback(self):
        done = run("import karakuri, sys\n"
                   "world = karakuri.World.load('four-bar')\n"
                   "world.on_step(lambda w: sys.exit(7))\n"
                   "world.step()\n")
        self.assertEqual(done.returncode, 7)


class CtrlC(unittest.TestCase):
    def test_ends_a_long_step(self):
        process = subprocess.Popen(
            [sys.executable, "-c", "import karakuri\nworld = karakuri.World.load('four-bar')\nworld.step(1)\nprint('on', flush=True)\n"
             "try:\n    world.step(2 * 10**9)\nexcept KeyboardInterrupt:\n    print('stopped', world.time > 0)\n"],
            env=ENVIRONMENT, stdout=subprocess.PIPE, text=True)
        self.assertEqual(process.stdout.readline(), "on\n")
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.communicate(timeout=120)[0], "stopped True\n")


class Program(unittest.TestCase):
    @unittest.skipUnless((pathlib.Path(karakuri.__file__).parent / "bin/karakuri").exists(), "built without the program")
    def test_is_the_command_line(self):
        done = subprocess.run([sys.executable, "-m", "karakuri", "--version"], env=ENVIRONMENT, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stdout, r"^karakuri 0\.1\.0")
        self.assertEqual(karakuri.__version__, "0.1.0")
        wrong = subprocess.run([sys.executable, "-m", "karakuri", "runn"], env=ENVIRONMENT, capture_output=True, text=True)
        self.assertEqual(wrong.returncode, 2)


class Borrowed(unittest.TestCase):
    def test_capsule_of_something_else_is_refused(self):
        import datetime
        capsule = datetime.datetime_CAPI if hasattr(datetime, "datetime_CAPI") else None
        if capsule is None:
            self.skipTest("no foreign capsule at hand")
        with self.assertRaises(TypeError):
            karakuri.World._borrow(capsule)

    def test_released_world_is_dead(self):
        world = pendulum()
        joint = world.joint("hinge")
        world._release()
        for call in (world.step, lambda: joint.q, lambda: world.time, lambda: world.link("bob")):
            with self.assertRaisesRegex(ReferenceError, "is over"):
                call()


if __name__ == "__main__":
    unittest.main()
