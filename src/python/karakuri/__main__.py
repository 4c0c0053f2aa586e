"""python3 -m karakuri: the command line program."""
import os
import pathlib
import sys


def main() -> None:
    program = pathlib.Path(__file__).parent / "bin" / "karakuri"
    if not program.exists():
        sys.exit(f"karakuri: the program is not part of this build: {program}")
    os.execv(program, ["karakuri", *sys.argv[1:]])


if __name__ == "__main__":
    main()
