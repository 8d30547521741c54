#include "caudal/runtime/steps.h"

#include <chrono>
#include <cmath>
#include <new>
#include <stdexcept>

#include "caudal/base/env.h"
#include "caudal/core/cancellation.h"
#include "caudal/core/device.h"
#include "caudal/core/resource_manager.h"
#include "caudal/core/variable_storage.h"
#include "caudal/runtime/numerics.h"

namespace caudal::inline v0 {
namespace {

std::int64_t steady_nanos() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// The value for an edge that is a reference or is not: a variable is read where it becomes a value.
Value transferred(const Value& value, bool as_ref) {
  if (value.ref == nullptr || as_ref) return value;
  return Value{.tensor = value.ref->read()};
}

// Leaves nothing behind. Cheaper than assigning an empty value where there is none.
void clear(Value& value, bool dead) {
  if (value.tensor.valid()) value.tensor = Tensor();
  if (value.ref != nullptr) value.ref.reset();
  value.dead = dead;
}

// Input 0 of a step that passes it on to `slot`.
void pass_on(RunInstance& instance, const Step& step, int slot) {
  Value& from = instance.slot(step.inputs[0]);
  Value& to = instance.slot(slot);
  if (step.takes_input && from.ref == nullptr) {
    to.tensor = std::move(from.tensor);
    if (to.ref != nullptr) to.ref.reset();
    to.dead = false;
  } else {
    to = transferred(from, instance.program().slots[slot].source.is_ref());
  }
}

bool predicate(const Value& value) {
  const auto read = [](const Tensor& pred) {
    if (pred.dtype() != DType::kBool || pred.num_elements() != 1) {
      throw invalid_argument("the predicate must be one bool, not ", pred.describe());
    }
    return *pred.data<bool>();
  };
  return read(value.ref != nullptr ? value.ref->read() : value.tensor);
}

void run_switch(RunInstance& instance, const Step& step) {
  const bool taken = predicate(instance.slot(step.inputs[1]));
  pass_on(instance, step, step.first_output + (taken ? 1 : 0));
  clear(instance.slot(step.first_output + (taken ? 0 : 1)), true);
}

void run_kernel(RunInstance& instance, const Step& step, int position, StepContext& step_context) {
  RunContext& context = instance.context(position);
  context.set_step(&step_context);
  const std::int64_t start = step_context.tracer != nullptr ? steady_nanos() : 0;
  if (step.has_ref_inputs) context.start();
  step.kernel->run(context);
  if (step.has_ref_inputs) context.finish();
  if (step_context.tracer != nullptr) {
    step_context.tracer->record(step.node->name(), step.info->type(), start, steady_nanos());
  }
  if (step_context.check_numerics) check_numerics(instance, step, context);
}

class LoopDriver {
 public:
  LoopDriver(RunInstance& around, const Step& step, StepContext& step_context)
      : around_(around),
        step_(step),
        loop_(around.program().loops[step.loop]),
        body_(around.loop_body(step.loop, step_context.device->allocator())),
        step_context_(step_context) {}

  void run() {
    for (const Loop::Exit& exit : loop_.exits) around_.slot(exit.slot) = Value{.dead = true};
    enter();
    const int count = static_cast<int>(body_.program().steps.size());
    do {
      check_step(step_context_);
      run_steps(body_, step_context_, 0, count, nullptr);
      leave();
    } while (go_on());
  }

 private:
  Value entering(int entry) const {
    const bool as_ref = body_.program().slots[loop_.entries[entry].body_slot].source.is_ref();
    return transferred(around_.slot(step_.inputs[entry]), as_ref);
  }

  void enter() {
    for (std::size_t i = 0; i < loop_.entries.size(); ++i) {
      body_.slot(loop_.entries[i].body_slot) = entering(static_cast<int>(i));
    }
    for (const Loop::Head& head : loop_.heads) {
      body_.slot(head.body_slot) = head.entries.empty() ? Value{.dead = true} : entering(head.entries[0]);
      set_index(head, head.enter_index);
    }
  }

  void set_index(const Loop::Head& head, int index) {
    if (head.index_slot >= 0) body_.slot(head.index_slot) = Value{.tensor = Tensor::scalar<std::int32_t>(index)};
  }

  void leave() {
    for (const Loop::Exit& exit : loop_.exits) {
      Value& value = body_.slot(exit.body_slot);
      if (!value.dead) around_.slot(exit.slot) = std::move(value);
      clear(value, true);
    }
  }

  // Hands the variables over to the next iteration; false if none goes on.
  bool go_on() {
    bool any = false;
    for (const Loop::Next& next : loop_.nexts) any |= !body_.slot(next.body_slot).dead;
    for (const Loop::Head& head : loop_.heads) {
      clear(body_.slot(head.body_slot), any);
      if (any) set_index(head, head.next_index);
    }
    for (const Loop::Next& next : loop_.nexts) {
      Value& value = body_.slot(next.body_slot);
      if (any && !value.dead) body_.slot(loop_.heads[next.head].body_slot) = value;
    }
    for (const Loop::Next& next : loop_.nexts) clear(body_.slot(next.body_slot), false);
    for (const Loop::Entry& entry : loop_.entries) {
      if (!any || !entry.constant) clear(body_.slot(entry.body_slot), any);
    }
    return any;
  }

  RunInstance& around_;
  const Step& step_;
  const Loop& loop_;
  RunInstance& body_;
  StepContext& step_context_;
};

// True if the step is live afterwards.
bool run_step(RunInstance& instance, StepContext& step_context, const Step& step, int position, LoopTraffic* traffic) {
  switch (step.kind) {
    case StepKind::kKernel:
      run_kernel(instance, step, position, step_context);
      return true;
    case StepKind::kConstant:
      instance.slot(step.first_output).tensor = instance.program().slots[step.first_output].constant;
      return true;
    case StepKind::kSwitch:
      run_switch(instance, step);
      return true;
    case StepKind::kMerge:
      return merge(instance, step);
    case StepKind::kForward: {
      pass_on(instance, step, step.first_output);
      if (traffic != nullptr && (!step.next_heads.empty() || step.exit >= 0)) {
        traffic->forward(step, instance.slot(step.first_output));
        clear(instance.slot(step.first_output), false);  // nobody in this iteration reads it
      }
      return true;
    }
    case StepKind::kLoop:
      LoopDriver(instance, step, step_context).run();
      return true;
    case StepKind::kEnter: {
      const auto& loop = instance.program().loops[step.loop];
      const bool as_ref = loop.body->slots[loop.entries[step.entry].body_slot].source.is_ref();
      traffic->enter(step, transferred(instance.slot(step.inputs[0]), as_ref));
      return true;
    }
  }
  return true;
}

void set_outputs_dead(RunInstance& instance, const Step& step, bool dead) {
  for (int i = 0; i < step.num_outputs; ++i) {
    Value& value = instance.slot(step.first_output + i);
    if (dead) {
      clear(value, true);
    } else {
      value.dead = false;
    }
  }
}

}  // namespace

bool is_dead(RunInstance& instance, const Step& step) {
  if (step.kind == StepKind::kMerge) return false;  // decides for itself
  for (const int input : step.inputs) {
    if (instance.slot(input).dead) return true;
  }
  for (const int before : step.control_inputs) {
    if (instance.dead(before) != 0) return true;
  }
  return false;
}

void mark(RunInstance& instance, int position, bool dead) {
  instance.dead(position) = dead ? 1 : 0;
  set_outputs_dead(instance, instance.program().steps[position], dead);
}

bool merge(RunInstance& instance, const Step& step) {
  for (std::size_t i = 0; i < step.inputs.size(); ++i) {
    const Value& value = instance.slot(step.inputs[i]);
    if (value.dead || (!value.tensor.valid() && value.ref == nullptr)) continue;
    instance.slot(step.first_output) = transferred(value, instance.program().slots[step.first_output].source.is_ref());
    instance.slot(step.first_output + 1).tensor = Tensor::scalar<std::int32_t>(static_cast<std::int32_t>(i));
    return true;
  }
  return false;
}

void check_step(const StepContext& step) {
  if (step.cancellation != nullptr) step.cancellation->check();
  if (step.deadline_micros && static_cast<std::int64_t>(step.env->now_micros()) >= *step.deadline_micros) {
    throw deadline_exceeded("the run's time is over");
  }
}

Error placed(const Error& error, const Step& step, const RunInstance& instance) {
  const Node& node = *step.node;
  const Error at_node = error.at_node(node.type(), node.name(), node.info().made_at);
  // A full disk is RESOURCE_EXHAUSTED too.
  if (error.code() != Code::kResourceExhausted || !error.detail().starts_with("out of memory")) return at_node;
  const std::string live = instance.largest_live(5);
  return live.empty() ? at_node : at_node.hint("Largest live tensors: " + live + ".");
}

void release(RunInstance& instance, const Step& step) {
  for (const int s : step.release) {
    clear(instance.slot(s), false);
  }
}

void check_numerics(RunInstance& instance, const Step& step, const RunContext& context) {
  for (int i = 0; i < step.num_outputs; ++i) {
    const Value& value = instance.slot(step.first_output + i);
    check_finite(value.ref != nullptr ? value.ref->read_if_initialized() : value.tensor, "output", i);
  }
  if (!step.node->op().def.stateful) return;
  for (int i = 0; i < context.num_inputs(); ++i) {  // an update leaves its result in a variable
    if (step.node->info().input_types[i] != DType::kResource) continue;
    const Value& value = instance.slot(step.inputs[i]);
    if (!value.tensor.valid() || value.tensor.num_elements() != 1) continue;
    const ResourceHandle& handle = value.tensor.item<ResourceHandle>();
    const auto variable = handle.owned != nullptr
                              ? std::dynamic_pointer_cast<VariableStorage>(handle.owned)
                              : context.step().resources->find<VariableStorage>(handle.container, handle.name);
    if (variable != nullptr) check_finite(variable->read_if_initialized(), "variable of input", i);
  }
}

void run_steps(RunInstance& instance, StepContext& step_context, int first, int count, LoopTraffic* traffic) {
  const Program& program = instance.program();
  for (int s = first; s < first + count; ++s) {
    const Step& step = program.steps[s];
    try {
      check_step(step_context);
      if (!step.checks_dead) {
        run_step(instance, step_context, step, s, traffic);
      } else if (is_dead(instance, step)) {
        mark(instance, s, true);
        if (step.kind == StepKind::kEnter) traffic->enter(step, Value{.dead = true});
      } else {
        set_outputs_dead(instance, step, false);
        const bool live = run_step(instance, step_context, step, s, traffic);
        instance.dead(s) = live ? 0 : 1;
        if (!live) set_outputs_dead(instance, step, true);
      }
    } catch (const Error& error) {
      throw placed(error, step, instance);
    } catch (const std::bad_alloc&) {
      throw placed(resource_exhausted("out of memory"), step, instance);
    } catch (const std::length_error&) {  // a container that no memory could hold
      throw placed(resource_exhausted("out of memory"), step, instance);
    } catch (const std::exception& error) {
      throw placed(internal_error(error.what()), step, instance);
    }
    release(instance, step);
  }
}

}  // namespace caudal::inline v0
