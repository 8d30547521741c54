#include "caudal/kernels/scratch.h"

#include <array>
#include <cstdlib>

#include "caudal/base/error.h"

namespace caudal::inline v0::kernels {
namespace {

struct Block {
  void* data = nullptr;
  std::size_t bytes = 0;
  ~Block() { std::free(data); }
};

}  // namespace

void* thread_scratch(ScratchSlot slot, std::size_t bytes) {
  thread_local std::array<Block, static_cast<std::size_t>(ScratchSlot::kCount)> blocks;
  Block& block = blocks[static_cast<std::size_t>(slot)];
  if (bytes > block.bytes) {
    constexpr std::size_t kStep = std::size_t{1} << 16;
    const std::size_t rounded = (bytes + kStep - 1) / kStep * kStep;
    std::free(block.data);
    block.bytes = 0;
    block.data = rounded < bytes ? nullptr : std::aligned_alloc(64, rounded);
    if (block.data == nullptr) throw resource_exhausted("no memory for ", bytes, " bytes of working space");
    block.bytes = rounded;
  }
  return block.data;
}

}  // namespace caudal::inline v0::kernels
