"""The live page of a world that a script steps, and what the script puts on it. The page's files are not needed: only its
socket is used, by a client of plain bytes."""
import gc
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import unittest.mock
import urllib.parse
import urllib.request
import weakref

import karakuri
from common import arm, box_on_floor, pendulum
from page_client import Client

FOLDER = tempfile.TemporaryDirectory()
(pathlib.Path(FOLDER.name) / "index.html").write_text("<p>the page</p>")
os.environ["KARAKURI_PAGE"] = FOLDER.name
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


def show(world, **options):
    return world.show(port=0, open_browser=False, **options)


def eventually(true, seconds=20):
    """Whether it becomes true; the page's thread looks 20 times a second."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if true():
            return True
        time.sleep(0.01)
    return False


class Browser(unittest.TestCase):
    def test_token_stands_in_no_command_line(self):
        """All users of a machine see these: a browser is given a file that only its owner can read."""
        world = pendulum()
        with unittest.mock.patch("webbrowser.open") as opened:
            page = world.show(port=0, open_browser=True)
        (address,), _ = opened.call_args
        self.assertNotIn("token", address)
        file = pathlib.Path(urllib.request.url2pathname(urllib.parse.urlparse(address).path))
        self.assertIn(page.url, file.read_text().replace("&amp;", "&"))
        self.assertEqual((file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777), (0o600, 0o700))
        page.close()
        self.assertFalse(file.exists())


class Shown(unittest.TestCase):
    def test_the_page_is_there_until_it_is_closed(self):
        world = pendulum()
        page = show(world)
        self.assertIsInstance(page, karakuri.Page)
        with urllib.request.urlopen(page.url) as answer:
            self.assertEqual(answer.read(), b"<p>the page</p>")
            self.assertIn("frame-ancestors 'self' http://localhost:*", answer.headers["Content-Security-Policy"])
        self.assertIn(f'<iframe src="{page.url}"', page._repr_html_())
        self.assertEqual(world.show().url, page.url)
        self.assertFalse(page.closed)
        page.close()
        page.close()
        self.assertTrue(page.closed)
        self.assertIn("closed", repr(page))
        with self.assertRaises(OSError):
            urllib.request.urlopen(page.url)
        with show(world) as again:
            self.assertNotEqual(again.url, page.url)
        world.step()

    def test_steps_of_the_script_are_shown(self):
        world = pendulum()
        with show(world, real_time=False) as page, Client(page.url) as client:
            self.assertEqual(client.wait_for("scene")["name"], "pendulum")
            world.step(50)
            self.assertAlmostEqual(client.frame_time(lambda t: t > 0), world.time, delta=51 * world.dt)
            self.assertAlmostEqual(client.frame_time(lambda t: t > 49.5 * world.dt), 50 * world.dt, delta=1e-9)
            world.reset()
            self.assertEqual(client.wait_for("restarted")["time"], 0)

    def test_real_time_holds_steps_while_somebody_looks(self):
        world = pendulum()
        with show(world) as page:
            start = time.monotonic()
            world.run(5.0)
            alone = time.monotonic() - start
            with Client(page.url) as client:
                client.wait_for("scene")
                start = time.monotonic()
                world.run(1.0)
                watched = time.monotonic() - start
        self.assertLess(alone, 4.5)
        self.assertGreater(watched, 0.85)  # 0.1 s of lateness is made up for
        self.assertLess(watched, 3)  # the seconds that nobody saw are not waited for

    def test_pause_holds_the_script_and_single_steps_let_it_go_on(self):
        world = pendulum()
        with show(world, real_time=False) as page:
            with Client(page.url) as client:
                client.send(type="pause")
                client.wait_for("status", lambda s: s["paused"])
                thread = threading.Thread(target=world.step, args=(5,))
                thread.start()
                client.send(type="step", count=3)
                self.assertAlmostEqual(client.frame_time(lambda t: t > 2.5 * world.dt), 3 * world.dt)
                self.assertTrue(thread.is_alive())
                world.q[0] = 0.25  # others use what is held, but two do not step
                self.assertEqual(world.joint("hinge").q[0], 0.25)
                with self.assertRaisesRegex(RuntimeError, "another thread .* press play"):
                    world.step()
                client.send(type="play")
                thread.join(20)
                self.assertFalse(thread.is_alive())
                client.send(type="pause")
                client.wait_for("status", lambda s: s["paused"])
                thread = threading.Thread(target=world.step, args=(5,))
                thread.start()
            thread.join(20)  # the last one who looked is gone
            self.assertFalse(thread.is_alive())
            self.assertAlmostEqual(world.time, 10 * world.dt)

    def test_closing_lets_a_held_script_go_on(self):
        world = pendulum()
        page = show(world)
        with Client(page.url) as client:
            client.send(type="pause")
            client.wait_for("status", lambda s: s["paused"])
            thread = threading.Thread(target=world.step, args=(5,))
            thread.start()
            time.sleep(0.1)
            self.assertTrue(thread.is_alive())
            page.close()
            thread.join(20)
            self.assertFalse(thread.is_alive())

    def test_clients_change_the_world_and_its_arrays(self):
        world = arm()
        q, u, v = world.q, world.u, world.v
        with show(world) as page, Client(page.url) as client:
            v[0] = 0.25  # not taken over by the engine yet, and not lost when a client comes in between
            client.send(type="set", key="joint.joint1.q", value=0.7)
            client.send(type="set", key="actuator.motor", value=1.5)
            self.assertTrue(eventually(lambda: q[1] == 0.7 and u[0] == 1.5))
            self.assertEqual(v[0], 0.25)
            client.send(type="edit", what="mass", name="link2", value=3.0)
            self.assertTrue(eventually(lambda: world.link("link2").mass == 3.0))
            self.assertEqual(world.joint("joint0").v, 0.25)
            client.send(type="set", key="joint.elbw.q", value=1)
            self.assertIn("elbw", client.wait_for("problem")["what"])

    def test_what_is_dragged_and_dropped_moves_in_the_scripts_steps(self):
        world = box_on_floor()
        nq = world.nq
        with show(world, real_time=False) as page, Client(page.url) as client:
            links = [link["name"] for link in client.wait_for("scene")["links"]]
            client.send(type="drag", link=links.index("box"), point=[0, 0, 0], target=[0, 0, 2])
            client.send(type="drop", shape="ball", at=[3, 0, 1])
            self.assertTrue(eventually(lambda: world.nq == nq + 7))
            world.run(0.5)
            self.assertGreater(world.link("box").position[2], 0.5)
            self.assertEqual(len(world.q), nq + 7)

    def test_scrubbing_goes_back_in_the_script(self):
        world = pendulum(q=1.0)
        with show(world, real_time=False) as page, Client(page.url) as client:
            client.wait_for("scene")
            world.run(0.5)
            client.send(type="scrub", time=0.0)
            self.assertTrue(eventually(lambda: world.time == 0))
            self.assertEqual(world.q[0], 1.0)

    def test_wrong_arguments(self):
        world = pendulum()
        for port in (-1, 65536):
            with self.assertRaisesRegex(ValueError, "0 .any. to 65535"):
                world.show(port=port)
        with self.assertRaises(TypeError):
            world.show(port="http")
        with self.assertRaisesRegex(RuntimeError, "IP address"):
            show(world, listen="nowhere")
        with show(world) as page, self.assertRaisesRegex(ValueError, "close"):
            world.show(port=1)
        try:
            os.environ["KARAKURI_PAGE"] = "/nowhere"
            with self.assertRaisesRegex(FileNotFoundError, "npm"):
                show(world)
        finally:
            os.environ["KARAKURI_PAGE"] = FOLDER.name


class Elements(unittest.TestCase):
    def test_slider_is_moved_from_both_sides(self):
        world = pendulum()
        gain = world.slider("gain", 0, 100, 20)
        self.assertIsInstance(gain, karakuri.Slider)
        self.assertEqual((gain.value, gain.range, gain.name, world["ui.gain"]), (20, (0, 100), "gain", 20))
        with show(world) as page, Client(page.url) as client:
            item = client.wait_for("scene")["ui"][0]
            self.assertEqual(item, {"kind": "slider", "name": "gain", "min": 0, "max": 100, "value": 20})
            client.send(type="set", key="ui.gain", value=70)
            self.assertTrue(eventually(lambda: gain.value == 70))
            gain.value = 30
            late = world.slider("late", -1, 1)
            told = client.wait_for("ui", lambda m: len(m["ui"]) == 2)["ui"]
            self.assertEqual([(i["name"], i["value"]) for i in told], [("gain", 30), ("late", -1)])
            with Client(page.url) as second:
                self.assertEqual(len(second.wait_for("scene")["ui"]), 2)
        self.assertEqual(float(late), -1)
        self.assertEqual(world.slider("gain", 0, 10).value, 10)  # a smaller range
        self.assertEqual(world.slider("gain").range, (0, 10))

    def test_slider_with_a_key_sets_it(self):
        world = pendulum()
        slider = world.slider("down", -20, 0, -5, key="gravity.z")
        self.assertEqual((slider.value, world.gravity[2]), (-5, -5))
        slider.value = -1.6
        self.assertEqual(world.gravity[2], -1.6)
        world["joint.hinge.target"] = 0.3
        self.assertEqual(world.slider("aim", -1, 1, key="joint.hinge.target").value, 0.3)

    def test_older_snapshots_fit_after_a_slider_was_added(self):
        world = pendulum(q=0.5)
        before = world.save()
        world.slider("gain", 0, 1, 0.5)
        world.step(10)
        world.restore(before)
        self.assertEqual((world.q[0], world["ui.gain"]), (0.5, 0.5))
        copy = world.copy()
        self.assertEqual(copy.slider("gain").value, 0.5)

    def test_button_is_pressed_from_both_sides(self):
        world = pendulum()
        calls = []
        button = world.button("kick", lambda w: calls.append(w))
        self.assertIsInstance(button, karakuri.Button)
        self.assertFalse(button.pressed)
        button.press()
        self.assertEqual((button.pressed, button.pressed, button.count, calls), (True, False, 1, [world]))
        with show(world, real_time=False) as page, Client(page.url) as client:
            client.send(type="press", name="kick")
            self.assertTrue(eventually(lambda: len(calls) == 2))  # by the page's thread
            client.send(type="press", name="kick")
            world.button("kick", lambda w: calls.append("other"))
            for _ in range(2000):
                world.step()
                if len(calls) == 3:
                    break
                time.sleep(0.001)
            self.assertEqual((len(calls), button.count), (3, 3))

    def test_exception_in_a_buttons_function_is_raised_by_step(self):
        world = pendulum()
        world.button("kick", lambda w: 1 / 0)
        with self.assertRaises(ZeroDivisionError):
            world.button("kick").press()

    def test_text_and_plot(self):
        world = pendulum()
        text = world.text("status", "t = {time}")
        plot = world.plot("angle", "joint.hinge.q")
        self.assertIsInstance(text, karakuri.Text)
        self.assertIsInstance(plot, karakuri.Plot)
        with show(world) as page, Client(page.url) as client:
            scene = client.wait_for("scene")
            self.assertEqual(scene["ui"], [{"kind": "text", "name": "status", "text": "t = {time}"}])
            self.assertEqual(scene["plots"], [{"title": "angle", "signals": ["joint.hinge.q"]}])
            text.text = "over"
            plot.signals = ["joint.hinge.q", "joint.hinge.v"]
            told = client.wait_for("ui", lambda m: len(m["plots"][0]["signals"]) == 2)
            self.assertEqual(told["ui"][0]["text"], "over")
        self.assertEqual((text.text, text.name, plot.title, len(plot.signals)), ("over", "status", "angle", 2))

    def test_wrong_arguments_raise_with_the_remedy(self):
        world = pendulum()
        gain = world.slider("gain", 0, 1)
        cases = [
            (ValueError, "lower one first", lambda: world.slider("x", 1, 0)),
            (ValueError, "finite", lambda: world.slider("x", 0, float("inf"))),
            (ValueError, "both ends", lambda: world.slider("x", 0)),
            (ValueError, "goes from 0 to 1", lambda: world.slider("gain", 0, 1, 5)),
            (ValueError, "gravity", lambda: world.slider("x", 0, 1, 1, key="gravty")),
            (ValueError, "give a value", lambda: world.slider("x", -10, 0, key="gravity.z")),
            (ValueError, "goes from 0 to 1", lambda: setattr(gain, "value", 2)),
            (ValueError, "goes from 0 to 1", lambda: setattr(gain, "value", float("nan"))),
            (TypeError, "", lambda: setattr(gain, "value", "much")),
            (karakuri.UnknownName, "did you mean 'gain'", lambda: world.slider("gian")),
            (ValueError, "another name", lambda: world.button("gain")),
            (ValueError, "give it one", lambda: world.button("")),
            (TypeError, "takes the world", lambda: world.button("x", 3)),
            (ValueError, "hinge", lambda: world.text("x", "{joint.hing.q}")),
            (karakuri.UnknownName, "hinge", lambda: world.plot("x", "joint.hing.q")),
            (ValueError, "name a signal", lambda: world.plot("x")),
            (TypeError, "words", lambda: world.plot("x", 3)),
        ]
        for kind, remedy, call in cases:
            with self.subTest(remedy), self.assertRaisesRegex(kind, remedy):
                call()
        self.assertEqual((gain.value, world.nq), (0, 1))


class Ends(unittest.TestCase):
    def test_a_world_that_goes_takes_its_page_along(self):
        world = pendulum()
        page = show(world)
        url, there = page.url, weakref.ref(page)
        del page
        gc.collect()
        with Client(url):
            pass  # the world alone keeps it
        thread = [t for t in threading.enumerate() if t.name == "karakuri page"]
        del world
        gc.collect()
        for t in thread:
            t.join(20)
        self.assertIsNone(there())
        with self.assertRaises(OSError):
            urllib.request.urlopen(url, timeout=5)

    def test_a_page_keeps_its_world(self):
        page = show(pendulum())
        gc.collect()
        with Client(page.url) as client:
            self.assertEqual(client.wait_for("scene")["name"], "pendulum")
        page.close()

    def check_exit(self, code):
        start = ("import karakuri, sys, threading, time; sys.path.insert(0, '.')\n"
                 "from page_client import Client\n"
                 "world = karakuri.World.load('four-bar')\n"
                 "page = world.show(port=0, open_browser=False)\n")
        done = subprocess.run([sys.executable, "-c", start + code], env=ENVIRONMENT, capture_output=True, text=True, timeout=120,
                              cwd=pathlib.Path(__file__).parent)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)

    def test_exit_with_a_page(self):
        self.check_exit("client = Client(page.url); client.wait_for('scene'); world.step(10)\n")

    def test_exit_while_a_thread_steps(self):
        self.check_exit("threading.Thread(target=world.step, args=(10**8,), daemon=True).start(); time.sleep(0.2)\n")

    def test_exit_while_a_step_is_held(self):
        self.check_exit("client = Client(page.url); client.send(type='pause')\n"
                        "client.wait_for('status', lambda s: s['paused'])\n"
                        "threading.Thread(target=world.step, daemon=True).start(); time.sleep(0.2)\n")

    def test_exit_with_a_button_and_a_cycle(self):
        self.check_exit("world.button('x', lambda w: page)\nworld.on_step(lambda w: page)\nsys.keep = (world, page)\n")


if __name__ == "__main__":
    unittest.main()
