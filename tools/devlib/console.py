"""What ./dev prints: phases, progress with time left, results. Plain lines in a pipe and with NO_COLOR."""
import os
import shutil
import sys
import threading
import time


def is_terminal():
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def _paint(code, text):
    if not is_terminal() or "NO_COLOR" in os.environ:
        return text
    return f"\033[{code}m{text}\033[0m"


def red(text):
    return _paint("31", text)


def green(text):
    return _paint("32", text)


def yellow(text):
    return _paint("33", text)


def bold(text):
    return _paint("1", text)


def minutes(seconds):
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


_lock = threading.RLock()
_rewriting = False


def say(text=""):
    """Prints a whole line, wiping a progress line that stands there. Safe from several threads."""
    global _rewriting
    with _lock:
        if _rewriting:
            sys.stdout.write("\r\033[K")
            _rewriting = False
        print(text, flush=True)


class Progress:
    """One phase with a known number of steps: a line rewritten on a terminal, else a line every 15 s."""

    def __init__(self, name):
        self.name = name
        self.start = time.monotonic()
        self._shown = self.start

    def elapsed(self):
        return time.monotonic() - self.start

    def update(self, done, total, what=""):
        global _rewriting
        now = time.monotonic()
        line = f"  {self.name}  {done}/{total}  {minutes(self.elapsed())}"
        # The first steps say little about the rest.
        if done > 3 and self.elapsed() > 3 and done < total:
            line += f", about {minutes(self.elapsed() * (total - done) / done)} left"
        if is_terminal():
            width = shutil.get_terminal_size().columns - 1
            with _lock:
                sys.stdout.write("\r\033[K" + f"{line}  {what}"[:width])
                sys.stdout.flush()
                _rewriting = True
        elif now - self._shown >= 15:
            self._shown = now
            say(line)

    def finish(self, note):
        say(f"  {self.name}  {note}, {minutes(self.elapsed())}")
