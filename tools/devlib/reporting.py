"""Test programs in Python print GoogleTest's lines through this, so that one reader counts all tests."""
import time
import traceback


class Skip(Exception):
    """Raised by a test that cannot run here; the message says why."""


class Report:
    def __init__(self):
        self.failures = 0

    def run(self, name, test, *arguments):
        """Runs one test: it passes when it returns, is skipped on Skip, and fails on any other exception. Tells if it passed."""
        print(f"[ RUN      ] {name}", flush=True)
        start = time.monotonic()
        try:
            test(*arguments)
            state = "      OK"
        except Skip as reason:
            print(f"skipped: {reason}")
            state = " SKIPPED"
        except AssertionError as error:
            print(error)
            self.failures += 1
            state = "  FAILED"
        except Exception:  # whatever it was, it is this test's failure and the next test goes on
            traceback.print_exc()
            self.failures += 1
            state = "  FAILED"
        print(f"[{state:>9} ] {name} ({int((time.monotonic() - start) * 1000)} ms)", flush=True)
        return state == "      OK"

    def exit_code(self):
        return 1 if self.failures else 0
