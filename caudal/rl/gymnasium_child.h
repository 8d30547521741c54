// The Python program that runs a Gymnasium environment for the bridge (gymnasium_bridge.cc), started as
// `python3 -c PROGRAM SOCKET MEMORY` with two inherited file descriptors.
//
// Requests over the socket: kind (byte), size (uint32), payload; little-endian throughout. The answer to each: status
// (byte, 0 fine), size, payload; with status 1 the payload is the error's text.
//   0 make      {"id", "modules", "kwargs"} -> observation space, action space, frames per second (double)
//   1 share     size, offset of actions (uint64 each): maps MEMORY; observations lie at its beginning
//   2 reset     has a seed (byte), seed (uint64) -> outcome
//   3 step      -> outcome; the action lies in the memory, float32 values or one int64
//   4 render    -> height, width (uint32 each), pixels
// A space: kind (byte, 1 discrete), dtype name (8 bytes), rank (byte), sizes (int64 each), count (int64), number of
// bounds (uint32), lower and upper bounds (double each). An outcome: reward (double), terminated, truncated (bytes),
// lives (int32), the info as JSON.
#pragma once

namespace caudal::inline v0::rl {

extern const char kGymnasiumChild[];

}  // namespace caudal::inline v0::rl
