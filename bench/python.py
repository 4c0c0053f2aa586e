# Cost of Python: single calls of world.step() compared with the same steps in one call, and reading q.
"""Usage: python.py [--json FILE]. The bound is the engine itself: step(n) makes n steps in C++ without coming back to Python."""
import argparse
import json
import sys
import time
import tracemalloc

import karakuri


def fastest(function, repeat=15):
    best = float("inf")
    for _ in range(repeat):
        begin = time.perf_counter()
        function()
        best = min(best, time.perf_counter() - begin)
    return best


def one_by_one(world, n):
    step = world.step
    for _ in range(n):
        step()


def stepping(name, n):
    """Seconds per step: from Python, and in C++."""
    world = karakuri.World.load(name)
    world["settings.sleep.enabled"] = False
    start = world.save()

    def seconds(how):
        """Of this thread's processor: others on the machine do not count."""
        world.restore(start)
        begin = time.thread_time()
        how()
        return time.thread_time() - begin

    slow = fast = float("inf")
    for _ in range(60):  # in turns, so that both see the machine at its best
        slow = min(slow, seconds(lambda: one_by_one(world, n)) / n)
        fast = min(fast, seconds(lambda: world.step(n)) / n)
    return slow, fast


def reading():
    world = karakuri.World.load("arm")
    world.q
    n = 100_000
    loop = fastest(lambda: [None for _ in range(n)], 30)
    read = fastest(lambda: [world.q for _ in range(n)], 30)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0], sys.getallocatedblocks()
    for _ in range(n):
        world.q
    after = tracemalloc.get_traced_memory()[0], sys.getallocatedblocks()
    tracemalloc.stop()
    return (read - loop) / n, after[0] - before[0], after[1] - before[1]


def batches():
    """Steps per second on one thread and on all."""
    world = karakuri.World.load("humanoid")
    rates = []
    for threads in (1, 0):
        batch = karakuri.Batch(world, 32, threads)
        batch.step(20)
        rates.append(32 * 20 / fastest(lambda: batch.step(20), 5))
    return rates[0], rates[1], batch.threads


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", help="also write the figures to this file")
    options = parser.parse_args()
    figures = {}
    for name in ("double-pendulum", "arm", "four-bar", "humanoid"):
        slow, fast = stepping(name, 500 if name != "humanoid" else 100)
        figures[name] = {"python_us": slow * 1e6, "engine_us": fast * 1e6, "overhead_us": (slow - fast) * 1e6}
        print(f"{name:16} step() {slow * 1e6:8.2f} us, in C++ {fast * 1e6:8.2f} us: {(slow - fast) * 1e6:6.2f} us more, ratio {slow / fast:.3f}")
    seconds, memory, blocks = reading()
    figures["q"] = {"ns": seconds * 1e9, "bytes": memory, "blocks": blocks}
    print(f"reading q: {seconds * 1e9:.0f} ns; 100000 times leave {memory} bytes and {blocks} blocks")
    one, all_, threads = batches()
    figures["batch"] = {"one": one, "all": all_, "threads": threads}
    print(f"Batch of 32 humanoids: {one:.0f} steps/s on one thread, {all_:.0f} on {threads}: ratio {all_ / one:.2f}")
    if options.json:
        with open(options.json, "w") as file:
            json.dump(figures, file, indent=2)


if __name__ == "__main__":
    main()
