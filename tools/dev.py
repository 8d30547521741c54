"""The commands of ./dev that need more than bash."""
import importlib
import os
import signal
import sys

from devlib import building, console

COMMANDS = {
    "build": "devlib.building",
    "test": "devlib.testing",
    "fuzz": "devlib.fuzzing",
    "fmt": "devlib.formatting",
    "lint": "devlib.linting",
    "bench": "devlib.benching",
    "suite": "devlib.suite",
}


def main():
    command, arguments = sys.argv[1], sys.argv[2:]
    try:
        return importlib.import_module(COMMANDS[command]).main(arguments)
    except building.BuildError as error:
        console.say(console.red(str(error)))
        return 4
    except KeyboardInterrupt:
        console.say("interrupted")
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 128 + signal.SIGPIPE


if __name__ == "__main__":
    sys.exit(main())
