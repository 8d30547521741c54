#!/usr/bin/env python3
"""Writes testdata/rl/control_traces.npz: what Gymnasium 1.2.2 does in the classic control tasks over 10,000 steps, actions drawn
from numpy's seeded generator. caudal/rl/control_task_test.cc replays them."""
import pathlib

import gymnasium
import numpy as np

IDS = ["CartPole-v0", "CartPole-v1", "MountainCar-v0", "MountainCarContinuous-v0", "Pendulum-v1", "Acrobot-v1"]
STEPS, FIRST, EVERY = 10_000, 300, 20
OUT = pathlib.Path(__file__).resolve().parents[2] / "testdata" / "rl" / "control_traces.npz"


def choose(env, rng, episode, observation):
    """Random; in odd episodes of the cars and Acrobot along the last velocity, which reaches the goal."""
    along = env.spec.id[0] in "AM" and episode % 2
    if isinstance(env.action_space, gymnasium.spaces.Discrete):
        action = int(rng.integers(0, int(env.action_space.n)))
        return (2 if observation[-1] > 0 else 0) if along else action
    action = rng.uniform(-1.2, 1.2) * env.action_space.high[0]
    if along:
        action = 1.0 if observation[-1] > 0 else -1.0
    return np.array([action], np.float32)


def trace(env_id):
    env, rng = gymnasium.make(env_id), np.random.Generator(np.random.PCG64(np.random.SeedSequence(99)))
    episode = 0
    observation, _ = env.reset(seed=1000)
    kept, rewards, ends = [observation], np.zeros(STEPS), []
    for step in range(STEPS):
        observation, rewards[step], terminated, truncated, _ = env.step(choose(env, rng, episode, observation))
        if step < FIRST or step % EVERY == 0:
            kept.append(observation)
        if terminated or truncated:
            ends.append((step, 2 * int(truncated) + int(terminated)))
            episode += 1
            observation, _ = env.reset(seed=1000 + episode if episode % 3 == 0 else None)
            kept.append(observation)
    return {"observations": np.array(kept, np.float32), "rewards": rewards.astype(np.float32)[::EVERY],
            "total": np.array(rewards.sum()), "ends": np.array(ends, np.int64)}


def main():
    arrays = {f"{env_id}/{name}": value for env_id in IDS for name, value in trace(env_id).items()}
    OUT.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(OUT, **arrays)
    print({name: value.shape for name, value in arrays.items()}, OUT.stat().st_size)


if __name__ == "__main__":
    main()
