// Damaged checkpoints: whatever byte is flipped and wherever a file ends, a restore gives the right values or an error
// that names the file, and then nothing has changed.
#include "caudal/base/env.h"
#include "caudal/base/error.h"
#include "gate_checkpoint.h"

namespace caudal {
namespace {

class GateDamage : public ::testing::TestWithParam<const char*> {
 protected:
  GateDamage() {
    gate::SteppedModel model;
    for (int i = 0; i < 5; ++i) model.advance();
    prefix_ = model.save(directory_.file("m"));
    path_ = prefix_ + GetParam();
    bytes_ = read_file(default_env(), path_);
  }

  // Puts `bytes` in the file's place; true if the checkpoint can still be restored.
  bool restores_with(const std::string& bytes) {
    const auto file = default_env().create(path_);
    file->append(bytes);
    file->close();
    try {
      EXPECT_EQ(reader_.restore(prefix_, /*state_needed=*/false), 5);
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(prefix_), std::string::npos) << error.what();
      EXPECT_EQ(reader_.step(), step_before_) << "something was restored";
      return false;
    }
    reader_.advance();
    step_before_ = reader_.step();
    return true;
  }

  TempDir directory_;
  std::string prefix_, path_, bytes_;
  gate::SteppedModel reader_;
  std::int64_t step_before_ = 0;
};

TEST_P(GateDamage, FlippedBits) {
  int noticed = 0, flips = 0;
  for (std::size_t i = 0; i < bytes_.size(); i += bytes_.size() / 200 + 1, ++flips) {
    SCOPED_TRACE(testing::Message() << "byte " << i);
    std::string damaged = bytes_;
    damaged[i] = static_cast<char>(damaged[i] ^ (1 << (i % 8)));
    if (!restores_with(damaged)) ++noticed;
  }
  // What no checksum covers: in the index, the footer's padding and the block of meta data, which is empty.
  EXPECT_GE(noticed, std::string(GetParam()) == ".index" ? flips - 60 : flips);
}

TEST_P(GateDamage, CutFiles) {
  for (std::size_t size = 0; size < bytes_.size(); size += bytes_.size() / 100 + 1) {
    SCOPED_TRACE(testing::Message() << size << " bytes");
    EXPECT_FALSE(restores_with(bytes_.substr(0, size)));
  }
}

TEST_P(GateDamage, TheWholeFileIsFine) { EXPECT_TRUE(restores_with(bytes_)); }

INSTANTIATE_TEST_SUITE_P(Files, GateDamage, ::testing::Values(".index", ".data-00000-of-00001", ".caudal-state"),
                         [](const auto& info) {
                           const std::string name = info.param;
                           return name[1] == 'i' ? "Index" : name[1] == 'd' ? "Data" : "State";
                         });

}  // namespace
}  // namespace caudal
