#include "caudal/rl/recording.h"

#include <gtest/gtest.h>

#include "caudal/base/error.h"
#include "caudal/base/memory_env.h"
#include "caudal/formats/npy.h"
#include "caudal/formats/png.h"
#include "caudal/rl/registry.h"

namespace caudal::inline v0::rl {
namespace {

void play(Environment& env, int episodes) {
  for (int episode = 0; episode < episodes; ++episode) {
    env.reset(episode, {});
    while (!env.step(1, {}).done()) {
    }
  }
}

TEST(RecordVideo, WritesEveryNthEpisode) {
  MemoryEnv files;
  auto env = record_video(make("CaudalPong-v0", {{"max_episode_steps", "30"}}),
                          {.folder = "/videos", .every = 2, .sheet = true}, files);
  play(*env, 4);
  EXPECT_EQ(files.list("/videos"),
            (std::vector<std::string>{"CaudalPong-v0-episode-0.gif", "CaudalPong-v0-episode-0.png",
                                      "CaudalPong-v0-episode-2.gif", "CaudalPong-v0-episode-2.png"}));
  const std::string gif = read_file(files, "/videos/CaudalPong-v0-episode-2.gif");
  EXPECT_TRUE(gif.starts_with("GIF89a") && gif.ends_with(";"));
  const Tensor sheet = decode_png(read_file(files, "/videos/CaudalPong-v0-episode-2.png"));
  EXPECT_EQ(sheet.shape(), (Shape{4 * 212 - 2, 5 * 162 - 2, 3}));
}

TEST(RecordVideo, FinishesAFileThatIsCutShort) {
  MemoryEnv files;
  auto env = record_video(make("CaudalPong-v0"), {.folder = "/videos"}, files);
  env->reset(0, {});
  env->step(0, {});
  env.reset();
  EXPECT_TRUE(read_file(files, "/videos/CaudalPong-v0-episode-0.gif").ends_with(";"));
  EXPECT_THROW(record_video(make("CartPole-v1"), {.every = 0}, files), Error);
}

TEST(VideoWriter, SpreadsTheSheetOverTheEpisode) {
  MemoryEnv files;
  VideoWriter video(files, "", "/sheet.png", 30, 2, 2);
  Tensor frame = Tensor::zeros(uint8, {1, 1, 3});
  for (int i = 0; i < 200; ++i) {
    frame.data<std::uint8_t>()[0] = static_cast<std::uint8_t>(i);
    video.add(frame);
  }
  video.close();
  const Tensor sheet = decode_png(read_file(files, "/sheet.png"));
  EXPECT_EQ(sheet.shape(), (Shape{4, 4, 3}));
  const auto red = [&](int y, int x) { return static_cast<int>(sheet.at<std::uint8_t>(y, x, 0)); };
  EXPECT_EQ(red(0, 0), 0);
  EXPECT_NEAR(red(0, 3), 64, 40);
  EXPECT_NEAR(red(3, 0), 128, 40);
  EXPECT_GT(red(3, 3), 150);
}

TEST(LogSteps, KeepsActionsAndObservations) {
  MemoryEnv files;
  auto env = log_steps(make("CartPole-v1", {{"max_episode_steps", "3"}}), "/logs/run", files);
  Tensor observation = env->observation_space().empty_value();
  env->reset(1, {});
  env->step(1, bytes_of(observation));
  env->step(0, {});
  env->step(1, {});
  env->reset({}, {});
  env.reset();
  EXPECT_EQ(read_file(files, "/logs/run.steps.csv"),
            "episode,step,action,reward,terminated,truncated\n0,0,,0,0,0\n0,1,1,1,0,0\n0,2,0,1,0,0\n0,3,1,1,0,1\n1,0,,"
            "0,0,0\n");
  const std::string records = read_file(files, "/logs/run.observations.npy");
  const std::size_t record = npy_bytes(observation).size();
  ASSERT_EQ(records.size(), 5 * record);
  EXPECT_EQ(records.substr(record, record), npy_bytes(observation));
}

TEST(LogSteps, WritesValuesOfBoxes) {
  MemoryEnv files;
  auto env = log_steps(make("Pendulum-v1"), "/run", files);
  env->reset(1, {});
  env->step(std::vector<float>{0.25f}, {});
  env.reset();
  EXPECT_NE(read_file(files, "/run.steps.csv").find("\n0,1,0.25,-"), std::string::npos);
}

}  // namespace
}  // namespace caudal::inline v0::rl
