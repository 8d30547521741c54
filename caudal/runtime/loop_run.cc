#include "caudal/runtime/loop_run.h"

#include "caudal/core/device.h"
#include "caudal/runtime/dataflow.h"

namespace caudal::inline v0 {

Activation::Activation(RunInstance& run_instance, LoopRun* loop_run, std::int64_t iteration_number)
    : instance(&run_instance), loop(loop_run), iteration(iteration_number) {
  const Program& program = run_instance.program();
  pending.reserve(program.units.size());
  for (const Unit& unit : program.units) pending.push_back(unit.pending);
  loops.resize(program.loops.size());
}

Activation::~Activation() = default;

LoopRun::LoopRun(Dataflow& dataflow, Activation& around, int loop_index)
    : dataflow_(dataflow),
      around_(around),
      index_(loop_index),
      loop_(around.instance->program().loops[loop_index]),
      constants_(loop_.entries.size()),
      left_(loop_.exits.size()) {
  ++around_.outstanding;
}

LoopRun::~LoopRun() {
  for (auto& [number, iteration] : iterations_) {
    iteration.activation.reset();
    if (iteration.instance == nullptr) continue;  // there was no memory for it
    around_.instance->loop_pool(index_).give_back(std::move(iteration.instance));
  }
}

Activation& LoopRun::iteration(std::int64_t number) {
  auto& [instance, activation] = iterations_[number];
  if (activation == nullptr) {
    instance = around_.instance->loop_pool(index_).take(dataflow_.step().device->allocator());
    activation = std::make_unique<Activation>(*instance, this, number);
    deliver_constants(*activation);
  }
  return *activation;
}

void LoopRun::deliver_constants(Activation& activation) {
  for (std::size_t i = 0; i < constants_.size(); ++i) {
    if (constants_[i]) dataflow_.deliver(activation, loop_.entries[i].body_slot, loop_.entries[i].unit, *constants_[i]);
  }
}

void LoopRun::enter(int entry, Value value) {
  ++entered_;
  const Loop::Entry& where = loop_.entries[entry];
  if (where.constant) {
    constants_[entry] = value;
    for (auto& [number, it] : iterations_) dataflow_.deliver(*it.activation, where.body_slot, where.unit, value);
    if (iterations_.empty()) iteration(0);
    return;
  }
  Activation& first = iteration(0);
  dataflow_.deliver(first, where.body_slot, where.unit, value);
  for (const Loop::Head& head : loop_.heads) {
    for (const int from : head.entries) {
      if (from != entry || first.pending[head.unit] < 0) continue;
      if (head.index_slot >= 0) {
        first.instance->slot(head.index_slot).tensor = Tensor::scalar<std::int32_t>(head.enter_index);
      }
      dataflow_.deliver(first, head.body_slot, head.unit, value);
    }
  }
}

void LoopRun::next(std::int64_t number, int head, const Value& value) {
  if (!iterations_.contains(number) && static_cast<int>(iterations_.size()) >= loop_.parallel_iterations) {
    parked_[number].emplace_back(head, value);
    return;
  }
  Activation& activation = iteration(number);
  const Loop::Head& where = loop_.heads[head];
  if (activation.pending[where.unit] < 0) return;
  if (where.index_slot >= 0) {
    activation.instance->slot(where.index_slot).tensor = Tensor::scalar<std::int32_t>(where.next_index);
  }
  dataflow_.deliver(activation, where.body_slot, where.unit, value);
}

void LoopRun::exit(int exit, const Value& value) {
  if (left_[exit]) return;
  left_[exit] = true;
  dataflow_.deliver(around_, loop_.exits[exit].slot, loop_.exits[exit].unit, value);
}

void LoopRun::end_iteration() {
  const auto oldest = iterations_.begin();
  oldest->second.activation.reset();
  around_.instance->loop_pool(index_).give_back(std::move(oldest->second.instance));
  iterations_.erase(oldest);
  if (parked_.empty()) return;
  auto waiting = parked_.extract(parked_.begin());
  for (const auto& [head, value] : waiting.mapped()) next(waiting.key(), head, value);
}

bool LoopRun::settle() {
  if (!all_entered()) return false;
  while (!iterations_.empty() && iterations_.begin()->second.activation->outstanding == 0) end_iteration();
  if (!iterations_.empty()) return false;
  end();
  return true;
}

void LoopRun::end() {
  for (std::size_t i = 0; i < left_.size(); ++i) {
    if (!left_[i]) dataflow_.deliver(around_, loop_.exits[i].slot, loop_.exits[i].unit, Value{.dead = true});
  }
  --around_.outstanding;
}

}  // namespace caudal::inline v0
