#include "caudal/runtime/run_instance.h"

#include <algorithm>
#include <cstdio>

#include "caudal/base/error.h"

namespace caudal::inline v0 {

// A part of the arena, lent to one slot.
class RunInstance::ArenaSlice final : public Buffer {
 public:
  ArenaSlice(const BufferRef& arena, std::size_t offset, std::size_t bytes)
      : Buffer(static_cast<char*>(arena->data()) + offset, bytes, MemorySpace{}), arena_(arena) {
    set_lent();
  }

 private:
  BufferRef arena_;
};

RunInstance::RunInstance(std::shared_ptr<const Program> program, Allocator& allocator)
    : program_(std::move(program)), values_(program_->slots.size()), scratch_(program_->scratch_bytes) {
  const auto& steps = program_->steps;
  if (program_->arena_bytes > 0) arena_ = allocator.allocate(program_->arena_bytes);
  if (!program_->placements.empty()) {
    planned_.resize(program_->slots.size());
    for (std::size_t i = 0; i < planned_.size(); ++i) {
      const auto& placement = program_->placements[i];
      if (!placement) continue;
      const std::size_t bytes =
          static_cast<std::size_t>(placement->shape.num_elements()) * dtype_size(program_->slots[i].source.dtype());
      if (arena_) planned_[i] = {placement->shape, BufferRef(new ArenaSlice(arena_, placement->offset, bytes))};
    }
  }
  std::size_t total = 0;
  for (const Step& step : steps) total += step.inputs.size();
  inputs_.reserve(total);
  contexts_.reserve(steps.size());
  for (const Step& step : steps) {
    const std::size_t begin = inputs_.size();
    for (const int input : step.inputs) inputs_.push_back(&values_[input]);
    const auto outputs = static_cast<std::size_t>(step.num_outputs());
    RunContext::Frame frame;
    frame.inputs = std::span<Value* const>(inputs_).subspan(begin, step.inputs.size());
    frame.outputs = std::span(values_).subspan(step.first_output, outputs);
    if (!planned_.empty()) frame.planned = std::span(planned_).subspan(step.first_output, outputs);
    frame.in_place = step.in_place;
    frame.aliases = step.aliases;
    frame.scratch = std::span(scratch_).first(step.scratch_bytes);
    contexts_.emplace_back(step.node->info(), frame, nullptr);
  }
  reset();
}

RunInstance::~RunInstance() = default;

void RunInstance::reset() {
  for (std::size_t i = 0; i < values_.size(); ++i) {
    values_[i] = Value{};
    values_[i].tensor = program_->slots[i].constant;
  }
  for (RunContext& context : contexts_) context.finish();
}

std::string RunInstance::largest_live(std::size_t count) const {
  std::vector<std::size_t> live;
  for (std::size_t i = 0; i < values_.size(); ++i) {
    if (values_[i].tensor.valid() && values_[i].tensor.byte_size() > 0) live.push_back(i);
  }
  const auto bytes = [&](std::size_t i) { return values_[i].tensor.byte_size(); };
  std::ranges::stable_sort(live, [&](std::size_t a, std::size_t b) { return bytes(a) > bytes(b); });
  if (live.size() > count) live.resize(count);
  std::string text;
  for (const std::size_t i : live) {
    char size[32];
    std::snprintf(size, sizeof size, " %.1f MB", static_cast<double>(bytes(i)) / 1e6);
    text += internal::concat(text.empty() ? "" : ", ", "'", program_->slots[i].source.name(), "' ",
                             values_[i].tensor.describe(), size);
  }
  return text;
}

std::unique_ptr<RunInstance> InstancePool::take(Allocator& allocator) {
  {
    std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      auto instance = std::move(idle_.back());
      idle_.pop_back();
      return instance;
    }
  }
  return std::make_unique<RunInstance>(program_, allocator);
}

void InstancePool::give_back(std::unique_ptr<RunInstance> instance) {
  instance->reset();
  std::lock_guard lock(mutex_);
  if (idle_.size() < kMaxIdle) idle_.push_back(std::move(instance));
}

}  // namespace caudal::inline v0
