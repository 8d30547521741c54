"""Caudal's environments as gymnasium.Env and gymnasium.vector.VectorEnv.

    import caudal.rl
    env = caudal.rl.Env("CaudalPong-v0", wrapper="deepmind")
    envs = caudal.rl.VectorEnv("CartPole-v1", 16, threads=2)

or by Gymnasium's own names, after caudal.rl.register():

    env = gymnasium.make("Caudal/CartPole-v1")

Needs numpy, gymnasium and libcaudal.so: the file that CAUDAL_LIBRARY names, one in a build folder above this file, or one that the
system's loader finds.
"""
import ctypes
import os
import pathlib

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

_DTYPES = {1: np.float32, 2: np.float64, 3: np.int32, 4: np.uint8, 5: np.int16, 6: np.int8, 9: np.int64, 17: np.uint16}
_OBSERVATION, _ACTION = 0, 1
_AUTO_RESETS = {AutoresetMode.NEXT_STEP: 0, AutoresetMode.SAME_STEP: 1, AutoresetMode.DISABLED: 2}


class Error(RuntimeError):
    """What went wrong in Caudal: the code's name, what and where, what to do."""


class _Space(ctypes.Structure):
    _fields_ = [("discrete", ctypes.c_int32), ("dtype", ctypes.c_int32), ("rank", ctypes.c_int32),
                ("sizes", ctypes.c_int64 * 8), ("count", ctypes.c_int64)]


def _candidates():
    if os.environ.get("CAUDAL_LIBRARY"):
        yield os.environ["CAUDAL_LIBRARY"]
        return
    here = pathlib.Path(__file__).resolve()
    for folder in here.parents[:5]:
        yield from sorted(map(str, folder.glob("build/**/libcaudal.so")))
    yield "libcaudal.so"


def _load():
    tried = []
    for path in _candidates():
        try:
            library = ctypes.CDLL(path)
        except OSError as error:
            tried.append(f"{path}: {error}")
            continue
        if hasattr(library, "caudal_rl_make"):
            return _declared(library)
        tried.append(f"{path}: has no environments")
    raise Error("NOT_FOUND: there is no libcaudal.so (" + "; ".join(tried) + "). Name it by CAUDAL_LIBRARY.")


def _declared(library):
    """Return types and the arguments that are no plain pointers."""
    handle, text, size = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t
    pointer, int32 = ctypes.c_void_p, ctypes.c_int32
    signatures = {
        "last_error": (text, []), "environments": (text, []),
        "make": (handle, [text, text, text, int32, int32, int32]), "free": (None, [handle]),
        "get_space": (ctypes.c_int, [handle, int32, pointer]),
        "get_bounds": (ctypes.c_int, [handle, int32, pointer, pointer]),
        "action_meanings": (text, [handle]), "frames_per_second": (ctypes.c_double, [handle]),
        "reset": (ctypes.c_int, [handle, pointer, pointer, pointer, size]),
        "step": (ctypes.c_int, [handle, pointer, pointer, size, pointer, size, pointer, pointer, pointer, pointer]),
        "infos": (ctypes.c_int, [handle, pointer, pointer, pointer, pointer, pointer]),
        "final_observation": (ctypes.c_int, [handle, int32, pointer, size]),
        "render": (ctypes.c_int, [handle, int32, pointer, size, pointer, pointer]),
        "save": (ctypes.c_int, [handle, int32, pointer, size, pointer]),
        "restore": (ctypes.c_int, [handle, int32, text, size]),
    }
    for name, (result, arguments) in signatures.items():
        function = getattr(library, "caudal_rl_" + name)
        function.restype, function.argtypes = result, arguments
    return library


_library = _load()


def _last_error():
    return Error(_library.caudal_rl_last_error().decode())


def _check(code):
    if code != 0:
        raise _last_error()


def _pointer(array):
    return None if array is None else array.ctypes.data


def _option_text(options):
    def text(value):
        return str(value).lower() if isinstance(value, bool) else str(value)
    return ",".join(f"{name}={text(value)}" for name, value in options.items()).encode()


def environments():
    """The ids of all environments that can be made here."""
    lines = _library.caudal_rl_environments().decode().split()
    return [line for line in lines if not line.startswith("!")]


class _Handle:
    """A vector of environments in the library."""

    def __init__(self, env_id, options, wrapper, count, threads, auto_reset):
        self.count = count
        self.handle = _library.caudal_rl_make(env_id.encode(), _option_text(options), wrapper.encode(), count, threads,
                                              _AUTO_RESETS[auto_reset])
        if not self.handle:
            raise _last_error()
        self.observation_space, self.action_space = self._space(_OBSERVATION), self._space(_ACTION)
        self.meanings = _library.caudal_rl_action_meanings(self.handle).decode().split()
        self.frames_per_second = _library.caudal_rl_frames_per_second(self.handle)
        self.rewards = np.zeros(count, np.float64)
        self.terminated, self.truncated, self.begun = (np.zeros(count, np.bool_) for _ in range(3))

    def _space(self, which):
        raw = _Space()
        _check(_library.caudal_rl_get_space(self.handle, which, ctypes.addressof(raw)))
        if raw.discrete:
            return gymnasium.spaces.Discrete(raw.count)
        shape, dtype = tuple(raw.sizes[:raw.rank]), _DTYPES[raw.dtype]
        low, high = np.zeros(shape, np.float64), np.zeros(shape, np.float64)
        _check(_library.caudal_rl_get_bounds(self.handle, which, _pointer(low), _pointer(high)))
        return gymnasium.spaces.Box(low.astype(dtype), high.astype(dtype), shape, dtype)

    def new_batch(self):
        space = self.observation_space
        return np.zeros((self.count, *space.shape), space.dtype)

    def reset(self, seeds, mask, batch):
        seeds = None if seeds is None else np.asarray(seeds, np.uint64)
        mask = None if mask is None else np.asarray(mask, np.uint8)
        _check(_library.caudal_rl_reset(self.alive(), _pointer(seeds), _pointer(mask), _pointer(batch), batch.nbytes))

    def step(self, actions, batch):
        if isinstance(self.action_space, gymnasium.spaces.Discrete):
            choices, values = np.ascontiguousarray(actions, np.int64).ravel(), None
        else:
            choices, values = None, np.ascontiguousarray(actions, np.float32).ravel()
        size = (values if choices is None else choices).size
        _check(_library.caudal_rl_step(self.alive(), _pointer(choices), _pointer(values), size, _pointer(batch), batch.nbytes,
                                       _pointer(self.rewards), _pointer(self.terminated), _pointer(self.truncated),
                                       _pointer(self.begun)))

    def infos(self):
        lives, lengths = np.zeros(self.count, np.int32), np.zeros(self.count, np.int64)
        frames, episode_frames = np.zeros(self.count, np.int64), np.zeros(self.count, np.int64)
        returns = np.zeros(self.count, np.float64)
        _check(_library.caudal_rl_infos(self.alive(), *map(_pointer, (lives, frames, episode_frames, returns, lengths))))
        return {"lives": lives, "frame_number": frames, "episode_frame_number": episode_frames}, returns, lengths

    def final_observation(self, i):
        out = np.zeros(self.observation_space.shape, self.observation_space.dtype)
        _check(_library.caudal_rl_final_observation(self.alive(), i, _pointer(out), out.nbytes))
        return out

    def render(self, i):
        height, width = ctypes.c_int32(), ctypes.c_int32()
        sizes = ctypes.addressof(height), ctypes.addressof(width)
        _check(_library.caudal_rl_render(self.alive(), i, None, 0, *sizes))
        out = np.zeros((height.value, width.value, 3), np.uint8)
        _check(_library.caudal_rl_render(self.alive(), i, _pointer(out), out.nbytes, *sizes))
        return out

    def save(self, i):
        size = ctypes.c_size_t()
        _check(_library.caudal_rl_save(self.alive(), i, None, 0, ctypes.addressof(size)))
        out = ctypes.create_string_buffer(size.value)
        _check(_library.caudal_rl_save(self.alive(), i, ctypes.addressof(out), size.value, ctypes.addressof(size)))
        return out.raw

    def restore(self, i, state):
        _check(_library.caudal_rl_restore(self.alive(), i, state, len(state)))

    def alive(self):
        if not self.handle:
            raise Error("FAILED_PRECONDITION: the environment is closed")
        return self.handle

    def close(self):
        if self.handle:
            _library.caudal_rl_free(self.handle)
            self.handle = None


class Env(gymnasium.Env):
    """One environment. wrapper: "", "deepmind" or "atari", with options behind a colon; other arguments are the environment's."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 30}
    _handle = None  # for __del__, should __init__ fail

    def __init__(self, id, wrapper="", render_mode=None, **options):  # pylint: disable=redefined-builtin
        self._handle = _Handle(id, options, wrapper, 1, 1, AutoresetMode.DISABLED)
        self.observation_space, self.action_space = self._handle.observation_space, self._handle.action_space
        self.metadata = {"render_modes": ["rgb_array"], "render_fps": self._handle.frames_per_second}
        self.render_mode = render_mode

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        batch = self._handle.new_batch()
        self._handle.reset(None if seed is None else [seed], None, batch)
        return self._observation(batch), self._info(False)

    def step(self, action):
        batch, handle = self._handle.new_batch(), self._handle
        handle.step([action], batch)
        done = bool(handle.terminated[0] or handle.truncated[0])
        return (self._observation(batch), float(handle.rewards[0]), bool(handle.terminated[0]), bool(handle.truncated[0]),
                self._info(done))

    def _observation(self, batch):
        discrete = isinstance(self.observation_space, gymnasium.spaces.Discrete)
        return np.int64(batch[0]) if discrete else batch[0]

    def _info(self, done):
        arrays, returns, lengths = self._handle.infos()
        info = {name: int(values[0]) for name, values in arrays.items()}
        if done and not np.isnan(returns[0]):
            info["episode"] = {"r": float(returns[0]), "l": int(lengths[0])}
        return info

    def get_action_meanings(self):
        """Names of the actions, or an empty list."""
        return list(self._handle.meanings)

    def save_state(self):
        """Everything that the future depends on, as bytes for restore_state."""
        return self._handle.save(0)

    def restore_state(self, state):
        self._handle.restore(0, state)

    def render(self):
        return self._handle.render(0)

    def close(self):
        if self._handle:
            self._handle.close()

    def __del__(self):
        self.close()


class VectorEnv(gymnasium.vector.VectorEnv):
    """Many environments at once. Observations are new arrays unless `copy` is False: then all steps write into one."""

    _handle = None

    def __init__(self, id, num_envs, wrapper="", threads=0, autoreset_mode=AutoresetMode.NEXT_STEP, copy=True,
                 render_mode=None, **options):  # pylint: disable=redefined-builtin
        self._handle = _Handle(id, options, wrapper, num_envs, threads, autoreset_mode)
        self.num_envs, self.render_mode = num_envs, render_mode
        self.autoreset_mode = autoreset_mode
        self.metadata = {"render_modes": ["rgb_array"], "render_fps": self._handle.frames_per_second,
                         "autoreset_mode": autoreset_mode}
        self.single_observation_space, self.single_action_space = self._handle.observation_space, self._handle.action_space
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._batch = None if copy else self._handle.new_batch()
        self._last = self._handle.new_batch()

    def reset(self, *, seed=None, options=None):
        if isinstance(seed, int):
            seed = [seed + i for i in range(self.num_envs)]
        batch = self._memory()
        mask = (options or {}).get("reset_mask")
        if mask is not None:
            batch[:] = self._last
        self._handle.reset(seed, mask, batch)
        self._last = batch
        return batch, self._infos()[0]

    def step(self, actions):
        batch, handle = self._memory(), self._handle
        handle.step(actions, batch)
        self._last = batch
        infos, returns, lengths = self._infos()
        done = handle.terminated | handle.truncated
        counted = done & ~np.isnan(returns)
        if counted.any():
            infos["episode"] = {"r": np.where(counted, returns, 0.0), "_r": counted, "l": np.where(counted, lengths, 0),
                                "_l": counted}
            infos["_episode"] = counted
        if done.any() and self.autoreset_mode == AutoresetMode.SAME_STEP:
            final = np.empty(self.num_envs, object)
            for i in np.flatnonzero(done):
                final[i] = handle.final_observation(int(i))
            infos["final_obs"], infos["_final_obs"] = final, done
        return batch, handle.rewards.copy(), handle.terminated.copy(), handle.truncated.copy(), infos

    def _memory(self):
        return self._handle.new_batch() if self._batch is None else self._batch

    def _infos(self):
        arrays, returns, lengths = self._handle.infos()
        everywhere = np.ones(self.num_envs, np.bool_)
        infos = dict(arrays)
        infos.update({"_" + name: everywhere for name in arrays})
        return infos, returns, lengths

    def render(self):
        return tuple(self._handle.render(i) for i in range(self.num_envs))

    def close_extras(self, **kwargs):
        if self._handle:
            self._handle.close()

    def __del__(self):
        if self._handle:
            self._handle.close()


def register():
    """Registers every environment of Caudal with Gymnasium as Caudal/ID; a slash of the id becomes '-'."""
    for env_id in environments():
        name = "Caudal/" + env_id.replace("/", "-")
        if name not in gymnasium.registry:
            gymnasium.register(name, entry_point="caudal.rl:Env", vector_entry_point="caudal.rl:VectorEnv",
                               kwargs={"id": env_id})
