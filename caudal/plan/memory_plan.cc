#include "caudal/plan/memory_plan.h"

#include <algorithm>
#include <numeric>

namespace caudal::inline v0 {
namespace {

// Slots that share memory form a block: an output, what aliases it, and what overwrites it in place.
struct Block {
  std::size_t bytes = 0;
  int first = 0;  // steps, both inclusive
  int last = 0;
  bool placeable = true;
  std::size_t offset = 0;
};

class MemoryPlanner {
 public:
  explicit MemoryPlanner(Program& program) : program_(program), block_of_(program.slots.size(), -1) {}

  void run() {
    for (std::size_t s = 0; s < program_.steps.size(); ++s) add_outputs(static_cast<int>(s));
    for (std::size_t i = 0; i < program_.slots.size(); ++i) {
      const Slot& slot = program_.slots[i];
      if (block_of_[i] >= 0 && (slot.is_fetch || slot.escapes)) blocks_[block_of_[i]].placeable = false;
    }
    assign_offsets();
    program_.placements.assign(program_.slots.size(), std::nullopt);
    for (std::size_t i = 0; i < program_.slots.size(); ++i) {
      if (block_of_[i] < 0 || !blocks_[block_of_[i]].placeable) continue;
      // What shares a block may have a shape that only the run knows; it needs no place of its own.
      if (const auto shape = program_.slots[i].shape.to_shape()) {
        program_.placements[i] = Placement{*shape, blocks_[block_of_[i]].offset};
      }
    }
  }

 private:
  static constexpr std::size_t kAlign = Allocator::kAlignment;
  // Larger outputs stay out of the arena: offsets must not overflow, and one that cannot be had is then reported at its
  // node.
  static constexpr std::size_t kMostBytes = std::size_t{1} << 36;

  void add_outputs(int position) {
    const Step& step = program_.steps[position];
    for (int i = 0; i < step.num_outputs; ++i) {
      const int s = step.first_output + i;
      if (const int shared = shared_block(step, i, position); shared >= 0) {
        block_of_[s] = shared;
        blocks_[shared].last = std::max(blocks_[shared].last, program_.slots[s].last_use);
      } else if (!is_alias(step, i)) {
        add_block(s, position);
      }
    }
  }

  static bool is_alias(const Step& step, int output) {
    return std::ranges::any_of(step.aliases, [&](const auto& pair) { return pair.output == output; });
  }

  void add_block(int s, int position) {
    const Slot& slot = program_.slots[s];
    const auto shape = slot.shape.to_shape();
    if (!shape || !is_plain(slot.dtype) || slot.source.is_ref() || slot.constant.valid()) return;
    std::size_t bytes;
    if (__builtin_mul_overflow(static_cast<std::size_t>(shape->num_elements()), dtype_size(slot.dtype), &bytes) ||
        bytes > kMostBytes) {
      return;  // whoever runs it gets the error of an allocation
    }
    Block block;
    block.bytes = (bytes + kAlign - 1) / kAlign * kAlign;
    block.first = position;
    block.last = std::max(position, slot.last_use);
    block_of_[s] = static_cast<int>(blocks_.size());
    blocks_.push_back(block);
  }

  // The block that output `i` lies in because it is an input's memory, or takes it over.
  int shared_block(const Step& step, int i, int position) {
    for (const auto& pair : step.aliases) {
      if (pair.output == i) return block_of_[step.inputs[pair.input]];
    }
    const Slot& output = program_.slots[step.first_output + i];
    const auto shape = output.shape.to_shape();
    if (!shape) return -1;
    for (const auto& pair : step.in_place) {
      const int input = step.inputs[pair.input];
      const int block = block_of_[input];
      if (pair.output != i || block < 0 || blocks_[block].last != position || taken_over_at_[block] == position + 1) {
        continue;
      }
      const Slot& source = program_.slots[input];
      if (dtype_size(source.dtype) != dtype_size(output.dtype) ||
          source.shape.num_elements() != shape->num_elements() || !is_plain(output.dtype)) {
        continue;
      }
      taken_over_at_[block] = position + 1;  // by one output only
      return block;
    }
    return -1;
  }

  // Largest first, each at the lowest offset that is free during its life.
  void assign_offsets() {
    std::vector<int> order(blocks_.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, [&](int a, int b) { return blocks_[a].bytes > blocks_[b].bytes; });
    std::vector<const Block*> placed;  // by offset
    for (const int index : order) {
      Block& block = blocks_[index];
      if (!block.placeable) continue;
      std::size_t offset = 0;
      for (const Block* other : placed) {
        if (other->last < block.first || block.last < other->first) continue;
        if (offset + block.bytes <= other->offset) break;
        offset = std::max(offset, other->offset + other->bytes);
      }
      block.offset = offset;
      const auto where = std::ranges::upper_bound(placed, offset, {}, [](const Block* b) { return b->offset; });
      placed.insert(where, &block);
      program_.arena_bytes = std::max(program_.arena_bytes, offset + block.bytes);
    }
  }

  struct TakenOver {
    std::vector<int> steps;
    int& operator[](int block) {
      if (steps.size() <= static_cast<std::size_t>(block)) steps.resize(block + 1);
      return steps[block];
    }
  };

  Program& program_;
  std::vector<int> block_of_;  // by slot; -1: not in the arena
  std::vector<Block> blocks_;
  TakenOver taken_over_at_;
};

}  // namespace

void plan_memory(Program& program) { MemoryPlanner(program).run(); }

}  // namespace caudal::inline v0
