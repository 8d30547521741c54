"""The Atari games beside ale-py: every frame's screen, memory, reward, lives and end, under random play.

CAUDAL_ATARI_FRAMES=N plays N frames of each game instead of a few thousand, and five times N of Pong.
"""
import os
import pathlib
import sys
import unittest
import warnings

_ROOT = pathlib.Path(__file__).resolve().parents[2]
os.environ.setdefault("CAUDAL_LIBRARY", str(pathlib.Path(os.environ["CAUDAL_BIN"]).parent / "libcaudal.so"))
sys.path.append(str(_ROOT / "python"))
import ale_py
import gymnasium
import numpy as np

os.environ["CAUDAL_ROMS"] = str(pathlib.Path(ale_py.__file__).parent / "roms")
import caudal.rl

_GAMES = ("Pong", "Breakout", "SpaceInvaders", "Freeway", "Seaquest")
_FRAMES = int(os.environ.get("CAUDAL_ATARI_FRAMES", "0"))
_SHORT = 2_000


def pair(game, **options):
    """Theirs and ours, a frame a step, observing the memory."""
    options = {"frameskip": 1, "obs_type": "ram", **options}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gymnasium.register_envs(ale_py)
        theirs = gymnasium.make(f"ALE/{game}-v5", max_num_frames_per_episode=108_000, **options).unwrapped
    return theirs, caudal.rl.Env(f"ALE/{game}-v5", **options)


class BesideAleTest(unittest.TestCase):
    def compare(self, game, frames, seed, **options):
        theirs, ours = pair(game, **options)
        self.assertEqual(theirs.action_space.n, ours.action_space.n)
        rng = np.random.default_rng(seed)
        expected, info = theirs.reset(seed=seed)
        got, our_info = ours.reset(seed=seed)
        ended = False
        for frame in range(frames):
            np.testing.assert_array_equal(got, expected, f"{game}: memory before frame {frame}")
            self.assertEqual(our_info["lives"], info["lives"], f"{game}: lives before frame {frame}")
            if not ended or frame % 16 == 0:
                np.testing.assert_array_equal(ours.render(), theirs.ale.getScreenRGB(), f"{game}: screen before {frame}")
            if ended:
                (expected, info), (got, our_info) = theirs.reset(), ours.reset()
                ended = False
                continue
            action = int(rng.integers(theirs.action_space.n))
            expected, *rest, info = theirs.step(action)
            got, *our_rest, our_info = ours.step(action)
            self.assertEqual(our_rest, [float(rest[0]), *rest[1:]], f"{game}: reward and end of frame {frame}")
            ended = rest[1] or rest[2]

    def test_games(self):
        for game in _GAMES:
            with self.subTest(game):
                self.compare(game, (_FRAMES * 5 if game == "Pong" else _FRAMES) or _SHORT, seed=7, repeat_action_probability=0)

    def test_all_actions(self):
        for game in _GAMES:
            with self.subTest(game):
                self.compare(game, _SHORT // 2, seed=8, repeat_action_probability=0, full_action_space=True)

    def test_sticky_actions(self):
        for game in _GAMES:
            with self.subTest(game):
                self.compare(game, _SHORT // 2, seed=9, repeat_action_probability=0.25)

    def test_gray_pictures(self):
        theirs, ours = pair("Breakout", obs_type="grayscale", frameskip=4, repeat_action_probability=0)
        np.testing.assert_array_equal(ours.reset(seed=1)[0], theirs.reset(seed=1)[0])
        for step in range(200):
            expected, _, ended, _, _ = theirs.step(step % 4)
            np.testing.assert_array_equal(ours.step(step % 4)[0], expected)
            if ended:
                np.testing.assert_array_equal(ours.reset()[0], theirs.reset()[0])

    def test_action_meanings(self):
        for game in _GAMES:
            theirs, ours = pair(game)
            self.assertEqual([action.name for action in theirs.ale.getMinimalActionSet()], ours.get_action_meanings())


if __name__ == "__main__":
    unittest.main()
