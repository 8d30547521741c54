#include "caudal/rl/gymnasium_child.h"

namespace caudal::inline v0::rl {

// Messages are documented in gymnasium_child.h. Whatever goes wrong becomes an answer; only the end of the socket ends
// the process.
const char kGymnasiumChild[] = R"python(
import importlib, json, mmap, os, socket, struct, sys

link = socket.socket(fileno=int(sys.argv[1]))


def receive(size):
    parts = b""
    while len(parts) < size:
        part = link.recv(size - len(parts))
        if not part:
            os._exit(0)
        parts += part
    return parts


def answer(status, payload=b""):
    link.sendall(struct.pack("<BI", status, len(payload)) + payload)


def fail(error):
    answer(1, (type(error).__name__ + ": " + str(error)).encode("utf-8", "replace")[:4000])


def bounds(space, np):
    low = np.asarray(space.low, np.float64).ravel()
    high = np.asarray(space.high, np.float64).ravel()
    if low.size and (low == low[0]).all() and (high == high[0]).all():
        low, high = low[:1], high[:1]
    return low, high


def described(kind, dtype, shape, low, high, count):
    out = struct.pack("<B8sB", kind, str(dtype).encode()[:8].ljust(8, b"\0"), len(shape))
    out += struct.pack("<%dq" % len(shape), *shape)
    out += struct.pack("<qI", count, len(low)) + b"".join(struct.pack("<d", x) for x in (*low, *high))
    return out


class World:
    def __init__(self, env_id, modules, options):
        import gymnasium
        import numpy
        self.np, self.spaces = numpy, gymnasium.spaces
        for name in modules:
            module = importlib.import_module(name)
            if name == "ale_py":
                gymnasium.register_envs(module)
        try:
            env = gymnasium.make(env_id, render_mode="rgb_array", **options)
        except TypeError:
            env = gymnasium.make(env_id, **options)
        if not isinstance(env.observation_space, (self.spaces.Box, self.spaces.Discrete)):
            env = gymnasium.wrappers.FlattenObservation(env)
        self.env, self.observed, self.acted = env, env.observation_space, env.action_space

    def describe(self):
        return (self.describe_space(self.observed) + self.describe_space(self.acted) +
                struct.pack("<d", float(self.env.metadata.get("render_fps") or 30)))

    def describe_space(self, space):
        np = self.np
        if isinstance(space, self.spaces.Discrete):
            return described(1, "int64", (), (), (), int(space.n))
        if isinstance(space, self.spaces.MultiDiscrete):
            return described(0, "int64", space.shape, np.zeros(space.nvec.size), space.nvec.ravel() - 1.0, 0)
        if isinstance(space, self.spaces.MultiBinary):
            return described(0, "int8", space.shape, [0.0], [1.0], 0)
        if not isinstance(space, self.spaces.Box):
            space = self.spaces.flatten_space(space)
        return described(0, "int8" if space.dtype == bool else space.dtype, space.shape, *bounds(space, np), 0)

    def share(self, descriptor, size, offset):
        self.memory = mmap.mmap(descriptor, size)
        self.offset = offset

    def write(self, observation):
        np, space = self.np, self.observed
        if isinstance(space, self.spaces.Discrete):
            value = np.asarray(int(observation) - int(space.start), np.int64)
        else:
            value = np.asarray(observation)
            if value.shape != space.shape:
                raise ValueError("an observation of shape %s where the space has %s" % (value.shape, space.shape))
            value = np.ascontiguousarray(value, np.int8 if space.dtype == bool else space.dtype)
        self.memory[:value.nbytes] = value.tobytes()

    def action(self):
        np, space = self.np, self.acted
        if isinstance(space, self.spaces.Discrete):
            return int(np.frombuffer(self.memory, np.int64, 1, self.offset)[0]) + int(space.start)
        flat = space if hasattr(space, "dtype") and space.dtype is not None and space.shape else self.spaces.flatten_space(space)
        count = int(np.prod(flat.shape))
        values = np.array(np.frombuffer(self.memory, np.float32, count, self.offset)).reshape(flat.shape)
        if isinstance(space, (self.spaces.Box, self.spaces.MultiDiscrete, self.spaces.MultiBinary)):
            return values.astype(space.dtype)
        return self.spaces.unflatten(space, values.astype(flat.dtype))

    def told(self, reward, terminated, truncated, info):
        text = json.dumps(info, default=str).encode() if info else b""
        lives = info.get("lives", 0) if isinstance(info.get("lives", 0), int) else 0
        return struct.pack("<dBBi", float(reward), bool(terminated), bool(truncated), lives) + text[:60000]

    def reset(self, payload):
        known, seed = struct.unpack("<BQ", payload)
        observation, info = self.env.reset(seed=seed if known else None)
        self.write(observation)
        return self.told(0, False, False, info)

    def step(self):
        observation, reward, terminated, truncated, info = self.env.step(self.action())
        self.write(observation)
        return self.told(reward, terminated, truncated, info)

    def render(self):
        picture = self.np.ascontiguousarray(self.env.render(), self.np.uint8)
        if picture.ndim != 3 or picture.shape[2] != 3:
            raise ValueError("a picture of shape %s" % (picture.shape,))
        return struct.pack("<II", *picture.shape[:2]) + picture.tobytes()


world = None
while True:
    kind, size = struct.unpack("<BI", receive(5))
    payload = receive(size)
    try:
        if kind == 0:
            wanted = json.loads(payload)
            world = World(wanted["id"], wanted["modules"], json.loads(wanted["kwargs"] or "{}"))
            answer(0, world.describe())
        elif kind == 1:
            world.share(int(sys.argv[2]), *struct.unpack("<QQ", payload))
            answer(0)
        elif kind == 2:
            answer(0, world.reset(payload))
        elif kind == 3:
            answer(0, world.step())
        elif kind == 4:
            answer(0, world.render())
    except Exception as error:
        fail(error)
)python";

}  // namespace caudal::inline v0::rl
