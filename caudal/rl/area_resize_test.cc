#include "caudal/rl/area_resize.h"

#include <gtest/gtest.h>

#include "caudal/base/error.h"
#include "caudal/formats/npy.h"
#include "caudal/kernels/isa.h"

namespace caudal::inline v0::rl {
namespace {

const NamedTensors& recorded() {
  static const NamedTensors all = read_npz(default_env(), CAUDAL_SOURCE_DIR "/testdata/rl/resize.npz");
  return all;
}

Tensor resized(const Tensor& source, std::int64_t height, std::int64_t width) {
  const AreaResizer resizer(static_cast<int>(source.dim(0)), static_cast<int>(source.dim(1)), static_cast<int>(height),
                            static_cast<int>(width));
  Tensor out(uint8, {height, width});
  resizer.resize(source.data<std::uint8_t>(), {}, out.data<std::uint8_t>());
  return out;
}

void expect_opencv() {
  int compared = 0;
  for (const auto& [name, expected] : recorded()) {
    if (name.find('x') == std::string::npos) continue;
    EXPECT_EQ(resized(recorded().at("source"), expected.dim(0), expected.dim(1)).raw_bytes(), expected.raw_bytes())
        << name;
    ++compared;
  }
  EXPECT_EQ(compared, 9);
}

TEST(AreaResizer, EqualsOpenCv) { expect_opencv(); }

TEST(AreaResizer, EqualsOpenCvWithOlderInstructions) {
  for (const Isa isa : {Isa::kPlain, Isa::kAvx2}) {
    const kernels::IsaCap cap(isa);
    expect_opencv();
  }
}

TEST(AreaResizer, ComputesOnlyWhatChanged) {
  for (const int size : {84, 168}) {
    Tensor source = Tensor::from(recorded().at("source").shape(), recorded().at("source").to_vector<std::uint8_t>());
    const AreaResizer resizer(210, 160, size, size);
    Tensor out(uint8, {size, size});
    resizer.resize(source.data<std::uint8_t>(), {}, out.data<std::uint8_t>());
    std::vector<std::uint8_t> changed(210, 0);
    for (const int row : {0, 77, 209}) {
      changed[static_cast<std::size_t>(row)] = 1;
      for (int x = 0; x < 160; ++x) source.data<std::uint8_t>()[row * 160 + x] ^= 0x55;
    }
    resizer.resize(source.data<std::uint8_t>(), changed, out.data<std::uint8_t>());
    EXPECT_EQ(out.raw_bytes(), resized(source, size, size).raw_bytes());
    out.data<std::uint8_t>()[20 * size] ^= 1;  // of source rows near 50
    const auto touched = out.to_vector<std::uint8_t>();
    resizer.resize(source.data<std::uint8_t>(), changed, out.data<std::uint8_t>());
    EXPECT_EQ(out.to_vector<std::uint8_t>(), touched) << "rows that nothing changed in are not written";
  }
}

TEST(AreaResizer, RefusesSizesBeyondReason) {
  EXPECT_THROW(AreaResizer(210, 160, 0, 84), Error);
  EXPECT_THROW(AreaResizer(210, 160, 84, 5000), Error);
}

}  // namespace
}  // namespace caudal::inline v0::rl
