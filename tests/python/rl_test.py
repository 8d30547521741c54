"""Environments across the border to Python: ours under Gymnasium's checker and beside Gymnasium's own, Gymnasium's through the
bridge."""
import json
import os
import pathlib
import pty
import random
import signal
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
import warnings

_ROOT = pathlib.Path(__file__).resolve().parents[2]
os.environ.setdefault("CAUDAL_LIBRARY", str(pathlib.Path(os.environ["CAUDAL_BIN"]).parent / "libcaudal.so"))
sys.path.append(str(_ROOT / "python"))
import gymnasium
import numpy as np
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode
from PIL import Image

import caudal.rl

_CONTROL = ["CartPole-v1", "MountainCar-v0", "MountainCarContinuous-v0", "Pendulum-v1", "Acrobot-v1"]


def make_quietly(env_id, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return gymnasium.make(env_id, **options)


class CheckerTest(unittest.TestCase):
    def test_every_environment_passes(self):
        caudal.rl.register()
        names = [name for name in gymnasium.registry if name.startswith("Caudal/")]
        self.assertIn("Caudal/CaudalPong-v0", names)
        for name in names:
            with self.subTest(name), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                check_env(gymnasium.make(name).unwrapped)

    def test_wrapped_environment_passes(self):
        for wrapper in ("deepmind:dim=42", "atari:stack=4,screen_size=42", "atari:scale_obs=true"):
            with self.subTest(wrapper), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                check_env(caudal.rl.Env("CaudalPongNoFrameskip-v4", wrapper=wrapper), skip_render_check=True)


class ControlTest(unittest.TestCase):
    """10,000 steps of each task, beside Gymnasium's."""

    def test_steps(self):
        for env_id in _CONTROL:
            with self.subTest(env_id):
                self.compare(make_quietly(env_id), caudal.rl.Env(env_id))

    def compare(self, theirs, ours):
        rng = np.random.default_rng(5)
        self.assertEqual(theirs.observation_space, ours.observation_space)
        self.assertEqual(theirs.action_space, ours.action_space)
        expected, _ = theirs.reset(seed=77)
        got, _ = ours.reset(seed=77)
        np.testing.assert_allclose(got, expected, rtol=0, atol=1e-6)
        for step in range(10_000):
            if isinstance(theirs.action_space, gymnasium.spaces.Discrete):
                action = int(rng.integers(theirs.action_space.n))
            else:
                action = rng.uniform(-2.2, 2.2, theirs.action_space.shape).astype(np.float32)
            expected, reward, terminated, truncated, _ = theirs.step(action)
            got, *rest, _ = ours.step(action)
            np.testing.assert_allclose(got, expected, rtol=0, atol=1e-6, err_msg=f"step {step}")
            self.assertAlmostEqual(rest[0], float(reward), delta=1e-6)
            self.assertEqual(rest[1:], [terminated, truncated])
            if terminated or truncated:
                expected, _ = theirs.reset()
                got, _ = ours.reset()
                np.testing.assert_allclose(got, expected, rtol=0, atol=1e-6)


class VectorTest(unittest.TestCase):
    def test_equals_gymnasiums(self):
        for mode in (AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP):
            with self.subTest(mode):
                self.compare(mode)

    def compare(self, mode):
        count, rng = 6, np.random.default_rng(1)
        theirs = gymnasium.vector.SyncVectorEnv([lambda: make_quietly("CartPole-v1")] * count, autoreset_mode=mode)
        ours = caudal.rl.VectorEnv("CartPole-v1", count, threads=2, autoreset_mode=mode)
        self.assertEqual(ours.single_observation_space, theirs.single_observation_space)
        self.assertEqual(ours.action_space, theirs.action_space)
        np.testing.assert_allclose(ours.reset(seed=3)[0], theirs.reset(seed=3)[0], atol=1e-6)
        ends = 0
        for _ in range(300):
            actions = rng.integers(2, size=count)
            got, expected = ours.step(actions), theirs.step(actions)
            for a, b in zip(got[:4], expected[:4]):
                np.testing.assert_allclose(a, b, atol=1e-6)
            done = expected[2] | expected[3]
            ends += done.sum()
            if mode == AutoresetMode.SAME_STEP and done.any():
                for i in np.flatnonzero(done):
                    np.testing.assert_allclose(got[4]["final_obs"][i], expected[4]["final_obs"][i], atol=1e-6)
            if done.any():
                np.testing.assert_array_equal(got[4]["_episode"], done)
        self.assertGreater(ends, 30)

    def test_resets_some(self):
        envs = caudal.rl.VectorEnv("CartPole-v1", 2, autoreset_mode=AutoresetMode.DISABLED)
        before, _ = envs.reset(seed=1)
        after, _ = envs.reset(seed=9, options={"reset_mask": np.array([False, True])})
        np.testing.assert_array_equal(after[0], before[0])
        self.assertFalse(np.array_equal(after[1], before[1]))

    def test_errors_have_one_form(self):
        with self.assertRaisesRegex(caudal.rl.Error, "NOT_FOUND: there is no environment 'CartPole-v9'. Did you mean"):
            caudal.rl.Env("CartPole-v9")
        env = caudal.rl.Env("CartPole-v1")
        with self.assertRaisesRegex(caudal.rl.Error, "FAILED_PRECONDITION: environment 0: CartPole-v1: step before"):
            env.step(0)
        env.close()
        with self.assertRaisesRegex(caudal.rl.Error, "closed"):
            env.reset()


class GrayGame(gymnasium.Env):
    """CaudalPong frame by frame with the face of ale_py's AtariEnv that AtariPreprocessing looks at."""

    _frameskip = 1

    def __init__(self):
        self.game = caudal.rl.Env("CaudalPongNoFrameskip-v4", obs_type="grayscale")
        self.observation_space, self.action_space = self.game.observation_space, self.game.action_space
        self.ale, self.screen = self, None

    def get_action_meanings(self):
        return self.game.get_action_meanings()

    def lives(self):
        return 0

    def getScreenGrayscale(self, out):
        out[...] = self.screen

    def reset(self, *, seed=None, options=None):
        # The first word seeds Python's random numbers, the second the game's.
        super().reset(seed=None if seed is None else int(np.random.SeedSequence(seed).generate_state(2)[0]))
        self.screen, info = self.game.reset(seed=seed)
        return self.screen, info

    def step(self, action):
        self.screen, *rest = self.game.step(action)
        return self.screen, *rest


class PreprocessingTest(unittest.TestCase):
    def test_equals_gymnasiums(self):
        for size, skip in ((84, 4), (84, 1), (168, 3), (252, 4)):
            with self.subTest(size=size, skip=skip):
                theirs = gymnasium.wrappers.AtariPreprocessing(GrayGame(), screen_size=size, frame_skip=skip)
                theirs = gymnasium.wrappers.FrameStackObservation(theirs, 4)
                ours = caudal.rl.Env("CaudalPongNoFrameskip-v4", wrapper=f"atari:stack=4,screen_size={size},frame_skip={skip}")
                self.assertEqual(ours.observation_space, theirs.observation_space)
                rng = np.random.default_rng(0)
                np.testing.assert_array_equal(ours.reset(seed=11)[0], theirs.reset(seed=11)[0])
                for _ in range(150):
                    action = int(rng.integers(6))
                    got, expected = ours.step(action), theirs.step(action)
                    np.testing.assert_array_equal(got[0], expected[0])
                    self.assertEqual(got[1:4], expected[1:4])

    def test_skips_as_ale(self):
        import ale_py
        gymnasium.register_envs(ale_py)
        for seed in (5, 123456):
            theirs, ours = make_quietly("Pong-v0"), caudal.rl.Env("CaudalPong-v0")
            theirs.reset(seed=seed)
            ours.reset(seed=seed)
            frames = [[env.step(0)[4]["frame_number"] for _ in range(100)] for env in (theirs, ours)]
            self.assertEqual(*frames)


_LIAR = """
import gymnasium
import numpy as np

class Liar(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-1, 1, (2,))
    action_space = gymnasium.spaces.Discrete(2)
    def reset(self, *, seed=None, options=None):
        return np.zeros(2, np.float32), {}
    def step(self, action):
        return np.zeros(3, np.float32), 0.0, False, False, {}

gymnasium.register("Liar-v0", entry_point=Liar, disable_env_checker=True)
"""


def bridged(env_id, **options):
    return caudal.rl.Env("Gymnasium", env=env_id, python=sys.executable, **options)


def children():
    """Process ids of our children."""
    found = []
    for task in pathlib.Path("/proc/self/task").iterdir():
        found += map(int, (task / "children").read_text(encoding="ascii").split())
    return found


class BridgeTest(unittest.TestCase):
    """Python here, our library in the middle, another Python behind it."""

    def test_gives_what_gymnasium_gives(self):
        for env_id in ("CartPole-v1", "Pendulum-v1", "FrozenLake-v1", "Blackjack-v1", "Taxi-v3"):
            with self.subTest(env_id):
                direct, through = make_quietly(env_id), bridged(env_id)
                if not isinstance(direct.observation_space, (gymnasium.spaces.Box, gymnasium.spaces.Discrete)):
                    direct = gymnasium.wrappers.FlattenObservation(direct)
                self.compare(direct, through)

    def compare(self, direct, through):
        rng = np.random.default_rng(2)
        expected, _ = direct.reset(seed=5)
        got, _ = through.reset(seed=5)
        np.testing.assert_array_equal(got, expected)
        for _ in range(200):
            if isinstance(direct.action_space, gymnasium.spaces.Discrete):
                action = int(rng.integers(direct.action_space.n))
            else:
                action = rng.uniform(-2, 2, direct.action_space.shape).astype(np.float32)
            expected, got = direct.step(action), through.step(action)
            np.testing.assert_array_equal(got[0], expected[0])
            self.assertAlmostEqual(got[1], float(expected[1]), delta=1e-6)
            self.assertEqual(got[2:4], expected[2:4])
            if expected[2] or expected[3]:
                np.testing.assert_array_equal(through.reset()[0], direct.reset()[0])

    def test_killed_child_is_an_error(self):
        env = bridged("CartPole-v1")
        env.reset(seed=1)
        for pid in children():
            os.kill(pid, signal.SIGKILL)
        with self.assertRaisesRegex(caudal.rl.Error, "UNAVAILABLE: .*CartPole-v1: the Python process was ended by signal 9"):
            env.step(0)
            env.step(0)
        with self.assertRaisesRegex(caudal.rl.Error, "UNAVAILABLE"):
            env.reset()

    def test_killed_twenty_times_goes_on(self):
        rng = random.Random(3)
        env = bridged("CartPole-v1", restarts=100)
        env.reset(seed=1)
        cut, kills = 0, 0
        while kills < 20:
            if rng.random() < 0.2:
                for pid in children():
                    os.kill(pid, signal.SIGKILL)
                    kills += 1
            _, _, terminated, truncated, _ = env.step(rng.randrange(2))
            cut += truncated
            if terminated or truncated:
                env.reset()
        self.assertGreaterEqual(cut, 15)

    def test_wrong_shapes(self):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "caudal_liar.py").write_text(_LIAR, encoding="utf-8")
            with unittest.mock.patch.dict(os.environ, {"PYTHONPATH": folder}):
                env = bridged("Liar-v0", **{"import": "caudal_liar"})
            env.reset()
            with self.assertRaisesRegex(caudal.rl.Error, r"ValueError: an observation of shape \(3,\) where the space has \(2,\)"):
                env.step(0)

    def test_bad_input(self):
        with self.assertRaisesRegex(caudal.rl.Error, "UNKNOWN: Nothing-v0: the Python process says NameNotFound"):
            bridged("Nothing-v0")
        with self.assertRaisesRegex(caudal.rl.Error, "NOT_FOUND: CartPole-v1: /nowhere/python"):
            caudal.rl.Env("Gymnasium", env="CartPole-v1", python="/nowhere/python")
        with self.assertRaisesRegex(caudal.rl.Error, "needs the option env"):
            caudal.rl.Env("Gymnasium")


class CommandTest(unittest.TestCase):
    """caudal rl."""

    def run_rl(self, *words, code=0):
        result = subprocess.run([os.environ["CAUDAL_BIN"], "rl", *words], capture_output=True, text=True, stdin=subprocess.DEVNULL)
        self.assertEqual(result.returncode, code, result.stderr)
        return result.stdout if code == 0 else result.stderr

    def test_envs(self):
        rows = json.loads(self.run_rl("envs", "--json"))["environments"]
        ids = {row["id"]: row for row in rows}
        self.assertEqual(ids["CartPole-v1"]["max_episode_steps"], 500)
        self.assertIn("Box(0, 255, (210, 160, 3), uint8)", self.run_rl("envs", "CaudalPong-v0"))

    def test_pictures(self):
        with tempfile.TemporaryDirectory() as folder:
            gif, png = f"{folder}/a.gif", f"{folder}/a.png"
            told = json.loads(self.run_rl("play", "CaudalPong-v0", "--steps", "40", "--gif", gif, "--png", png, "--json"))
            self.assertEqual(told["steps"], 40)
            with Image.open(gif) as animation:
                self.assertEqual((animation.size, animation.n_frames), ((160, 210), 41))
                animation.seek(40)
                shown = np.asarray(animation.convert("RGB"))
            with Image.open(png) as sheet:
                last = np.asarray(sheet.convert("RGB"))[-210:, -160:]
            np.testing.assert_array_equal(shown, last)

    def test_errors(self):
        self.assertIn("FAILED_PRECONDITION: there is no terminal to play in. Give --gif FILE", self.run_rl("play", code=1))
        self.assertIn("Did you mean 'CartPole-v0' or 'CartPole-v1'?", self.run_rl("play", "CartPole", "--gif", "/tmp/x.gif", code=1))
        self.assertIn("Did you mean 'envs'?", self.run_rl("env", code=2))

    def test_play_in_a_terminal(self):
        parent, child = pty.openpty()
        with subprocess.Popen([os.environ["CAUDAL_BIN"], "rl", "play", "CartPole-v1"], stdin=child, stdout=child) as process:
            os.close(child)
            seen = b""
            while seen.count(b"reward") < 5:
                seen += os.read(parent, 65536)
            os.write(parent, b"\x1b[C")
            os.write(parent, b"q")
            try:
                while piece := os.read(parent, 65536):
                    seen += piece
            except OSError:
                pass  # the terminal's other end is closed
            self.assertEqual(process.wait(60), 0)
        os.close(parent)
        self.assertIn("\u2580".encode(), seen)
        self.assertIn(b"\x1b[?25h", seen[-2000:])


if __name__ == "__main__":
    unittest.main()
