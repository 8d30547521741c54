// Wrappers that keep what happens: videos and logs.
//
//   auto env = rl::record_video(rl::make("CartPole-v1"), {.folder = "videos", .every = 10});
//   auto env = rl::log_steps(rl::make("CartPole-v1"), "logs/run1");
//
// Files are written while the episode runs, so memory does not grow with its length. Thread safety: as an Environment.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "caudal/base/env.h"
#include "caudal/base/export.h"
#include "caudal/rl/environment.h"

namespace caudal::inline v0::rl {

// Pictures of an episode as an animated GIF, and some of them on one PNG sheet.
class CAUDAL_API VideoWriter {
 public:
  // An empty path writes no such file. `sheet_columns` x `sheet_rows` pictures, spread over the whole episode.
  VideoWriter(Env& env, std::string gif_path, std::string sheet_path, double frames_per_second, int sheet_columns = 5,
              int sheet_rows = 4);
  ~VideoWriter();
  // uint8 [height, width, 3], all of one size.
  void add(const Tensor& frame);
  // Writes what is left. Without any frame no file is written.
  void close();
  std::int64_t frames() const { return frames_; }

 private:
  struct Gif;
  void keep_for_sheet(const Tensor& frame);

  Env& env_;
  std::string gif_path_, sheet_path_;
  double frames_per_second_;
  int columns_, rows_;
  std::unique_ptr<Gif> gif_;
  std::int64_t frames_ = 0;
  std::int64_t stride_ = 1;  // every stride-th frame is kept for the sheet; doubles when there are too many
  std::vector<Tensor> kept_;
};

struct VideoOptions {
  std::string folder = ".";
  std::int64_t every = 1;  // episodes: the first, and every so many
  bool gif = true;
  bool sheet = false;
};

// Writes FOLDER/ID-episode-N.gif and .png (slashes of the id become '-').
CAUDAL_API std::unique_ptr<Environment> record_video(std::unique_ptr<Environment> inner, const VideoOptions& options,
                                                     Env& files = default_env());

// Writes PREFIX.steps.csv with a line per step (episode, step, action, reward, terminated, truncated; step 0 is the
// reset) and PREFIX.observations.npy with as many consecutive .npy records, which numpy.load reads one by one from an
// open file.
CAUDAL_API std::unique_ptr<Environment> log_steps(std::unique_ptr<Environment> inner, const std::string& prefix,
                                                  Env& files = default_env());

}  // namespace caudal::inline v0::rl
