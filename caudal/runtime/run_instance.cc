#include "caudal/runtime/run_instance.h"

#include <algorithm>
#include <cstdio>

#include "caudal/base/error.h"
#include "caudal/core/variable_storage.h"

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

namespace {

struct SizedName {
  std::size_t bytes;
  std::string text;
};

// "'conv1/Relu:0' float32[32,28,28,6] 0.6 MB, ...", largest first.
std::string list_largest(std::vector<SizedName> tensors, std::size_t count) {
  std::ranges::stable_sort(tensors, std::ranges::greater(), &SizedName::bytes);
  if (tensors.size() > count) tensors.resize(count);
  // What is small beside the largest is not where the memory went.
  std::erase_if(tensors, [&](const SizedName& tensor) { return tensor.bytes < tensors[0].bytes / 100; });
  std::string text;
  for (const SizedName& tensor : tensors) {
    char size[32];
    if (tensor.bytes < 100'000) {
      std::snprintf(size, sizeof size, " %zu bytes", tensor.bytes);
    } else {
      std::snprintf(size, sizeof size, " %.1f MB", static_cast<double>(tensor.bytes) / 1e6);
    }
    text += (text.empty() ? "" : ", ") + tensor.text + size;
  }
  return text;
}

BufferRef allocate_arena(const Program& program, Allocator& allocator) {
  if (program.arena_bytes == 0) return {};
  try {
    return allocator.allocate(program.arena_bytes);
  } catch (const Error& error) {
    std::vector<SizedName> planned;
    for (std::size_t i = 0; i < program.placements.size(); ++i) {
      if (!program.placements[i]) continue;
      const Slot& slot = program.slots[i];
      const Shape& shape = program.placements[i]->shape;
      planned.push_back({static_cast<std::size_t>(shape.num_elements()) * dtype_size(slot.dtype),
                         internal::concat("'", slot.source.name(), "' ", slot.dtype, shape)});
    }
    throw error.hint("The run's largest tensors: " + list_largest(std::move(planned), 5) + ".");
  }
}

}  // namespace

RunInstance::RunInstance(std::shared_ptr<const Program> program, Allocator& allocator)
    : program_(std::move(program)),
      arena_(allocate_arena(*program_, allocator)),
      values_(program_->slots.size()),
      scratch_(program_->scratch_bytes) {
  const auto& steps = program_->steps;
  if (!program_->placements.empty()) {
    planned_.resize(program_->slots.size());
    for (std::size_t i = 0; i < planned_.size(); ++i) {
      const auto& placement = program_->placements[i];
      if (!placement) continue;
      const std::size_t bytes =
          static_cast<std::size_t>(placement->shape.num_elements()) * dtype_size(program_->slots[i].dtype);
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
    const auto outputs = static_cast<std::size_t>(step.num_outputs);
    RunContext::Frame frame;
    frame.inputs = std::span<Value* const>(inputs_).subspan(begin, step.inputs.size());
    frame.outputs = std::span(values_).subspan(step.first_output, outputs);
    if (!planned_.empty()) frame.planned = std::span(planned_).subspan(step.first_output, outputs);
    frame.in_place = step.in_place;
    frame.aliases = step.aliases;
    frame.scratch = std::span(scratch_).first(step.scratch_bytes);
    if (step.waits && step.scratch_bytes > 0) frame.scratch = own_scratch_.emplace_back(step.scratch_bytes);
    contexts_.emplace_back(*step.info, frame, nullptr);
  }
  dead_.resize(steps.size());
  loop_bodies_.resize(program_->loops.size());
  loop_pools_.resize(program_->loops.size());
  std::vector<bool> forgotten(values_.size());
  for (const Step& step : steps) {
    for (const int s : step.release) forgotten[s] = true;
  }
  for (std::size_t s = 0; s < values_.size(); ++s) {
    const bool constant = program_->slots[s].constant.valid() && !program_->slots[s].may_be_dead;
    if (!forgotten[s] && !constant) kept_.push_back(static_cast<int>(s));
  }
  reset(true);
}

RunInstance::~RunInstance() = default;

RunInstance& RunInstance::loop_body(int loop, Allocator& allocator) {
  auto& body = loop_bodies_[loop];
  if (body == nullptr) body = std::make_unique<RunInstance>(program_->loops[loop].body, allocator);
  return *body;
}

InstancePool& RunInstance::loop_pool(int loop) {
  auto& pool = loop_pools_[loop];
  if (pool == nullptr) pool = std::make_unique<InstancePool>(program_->loops[loop].body);
  return *pool;
}

void RunInstance::reset_slot(int s) {
  values_[s] = Value{};
  // One that may be dead comes with its step.
  if (!program_->slots[s].may_be_dead) values_[s].tensor = program_->slots[s].constant;
}

void RunInstance::reset(bool whole) {
  if (!whole) {
    for (const int s : kept_) reset_slot(s);
    return;
  }
  for (std::size_t s = 0; s < values_.size(); ++s) reset_slot(static_cast<int>(s));
  for (RunContext& context : contexts_) context.finish();
  for (const auto& body : loop_bodies_) {
    if (body != nullptr) body->reset(true);
  }
}

std::string RunInstance::largest_live(std::size_t count) const {
  std::vector<SizedName> live;
  for (std::size_t i = 0; i < values_.size(); ++i) {
    const Tensor tensor = values_[i].ref != nullptr ? values_[i].ref->read_if_initialized() : values_[i].tensor;
    if (!tensor.valid() || tensor.byte_size() == 0) continue;
    live.push_back(
        {tensor.byte_size(), internal::concat("'", program_->slots[i].source.name(), "' ", tensor.describe())});
  }
  return list_largest(std::move(live), count);
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

void InstancePool::give_back(std::unique_ptr<RunInstance> instance, bool finished) {
  instance->reset(!finished);
  std::lock_guard lock(mutex_);
  if (idle_.size() < kMaxIdle) idle_.push_back(std::move(instance));
}

}  // namespace caudal::inline v0
