"""Vectors of environments of others: CAUDAL_BENCH_ENVIRONMENTS is ale (ale_py's AtariVectorEnv), envpool or gymnasium."""
import os

import numpy as np

import common

ENVIRONMENTS = 16
GAMES = {"env/pong": "pong", "env/breakout": "breakout"}


def vector_of(kind, case, threads):
    if kind == "ale":
        from ale_py.vector_env import AtariVectorEnv
        return AtariVectorEnv(GAMES[case], num_envs=ENVIRONMENTS, num_threads=threads)
    if kind == "envpool":
        import envpool
        name = "CartPole-v1" if case == "env/cartpole" else GAMES[case].capitalize() + "-v5"
        return envpool.make_gymnasium(name, num_envs=ENVIRONMENTS, num_threads=threads)
    import gymnasium
    return gymnasium.vector.SyncVectorEnv([lambda: gymnasium.make("CartPole-v1")] * ENVIRONMENTS)


def run(case, settings):
    environments = vector_of(os.environ["CAUDAL_BENCH_ENVIRONMENTS"], case, settings.threads)
    environments.reset()
    space = getattr(environments, "single_action_space", environments.action_space)
    choices = np.random.default_rng(1).integers(int(space.n), size=(1000, ENVIRONMENTS))
    count = 0

    def step():
        nonlocal count
        count += 1
        environments.step(choices[count % len(choices)])

    return common.rates(step, ENVIRONMENTS, settings)


if __name__ == "__main__":
    common.main(run)
