"""pip install . --no-build-isolation: builds with CMake and installs what CMake calls the component `python`.

KARAKURI_PRESET chooses the preset: release (tuned for this machine) or portable (for others). KARAKURI_BUILD names the
folder of a build that is there already, to be taken as it is.
"""
import os
import pathlib
import subprocess

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = pathlib.Path(__file__).resolve().parent


def cmake(*arguments: object) -> None:
    subprocess.run(["cmake", *map(str, arguments)], cwd=ROOT, check=True)


class CMakeBuild(build_ext):
    def build_extension(self, extension: Extension) -> None:
        preset = os.environ.get("KARAKURI_PRESET", "release")
        build = pathlib.Path(os.environ.get("KARAKURI_BUILD", ROOT / "build" / preset))
        if "KARAKURI_BUILD" not in os.environ:
            if not (build / "build.ninja").exists():
                cmake("--preset", preset, "-DKARAKURI_TESTS=OFF", "-DKARAKURI_BENCH=OFF")
            cmake("--build", build, "--target", "karakuri_python", "karakuri_host", "karakuri_cli")
        # beside karakuri/_karakuri.so, as setuptools asks for it
        target = pathlib.Path(self.get_ext_fullpath(extension.name)).resolve().parent.parent
        cmake("--install", build, "--component", "python", "--prefix", target)


setup(packages=[], ext_modules=[Extension("karakuri._karakuri", sources=[])], cmdclass={"build_ext": CMakeBuild})
