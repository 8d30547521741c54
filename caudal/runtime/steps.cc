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

bool predicate(const Value& value) {
  const Tensor pred = value.ref != nullptr ? value.ref->read() : value.tensor;
  if (pred.dtype() != DType::kBool || pred.num_elements() != 1) {
    throw invalid_argument("the predicate must be one bool, not ", pred.describe());
  }
  return pred.flat<bool>()[0];
}

void run_switch(RunInstance& instance, const Step& step) {
  const bool taken = predicate(instance.slot(step.inputs[1]));
  Value& live = instance.slot(step.first_output + (taken ? 1 : 0));
  live = transferred(instance.slot(step.inputs[0]), instance.program().slots[step.first_output].source.is_ref());
  instance.slot(step.first_output + (taken ? 0 : 1)) = Value{.dead = true};
}

void run_kernel(RunInstance& instance, const Step& step, int position, StepContext& step_context) {
  RunContext& context = instance.context(position);
  context.set_step(&step_context);
  const std::int64_t start = step_context.tracer != nullptr ? steady_nanos() : 0;
  if (step.has_ref_inputs) context.start();
  step.kernel->run(context);
  if (step.has_ref_inputs) context.finish();
  if (step_context.tracer != nullptr) {
    step_context.tracer->record(step.node->name(), step.node->type(), start, steady_nanos());
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
      value = Value{.dead = true};
    }
  }

  // Hands the variables over to the next iteration; false if none goes on.
  bool go_on() {
    auto& carried = body_.carried();
    carried.assign(loop_.heads.size(), Value{.dead = true});
    bool any = false;
    for (const Loop::Next& next : loop_.nexts) {
      Value& value = body_.slot(next.body_slot);
      if (value.dead) continue;
      any = true;
      carried[next.head] = value;
    }
    for (const Loop::Next& next : loop_.nexts) body_.slot(next.body_slot) = Value{};
    for (std::size_t h = 0; h < loop_.heads.size(); ++h) {
      body_.slot(loop_.heads[h].body_slot) = any ? std::move(carried[h]) : Value{};
      if (any) set_index(loop_.heads[h], loop_.heads[h].next_index);
    }
    for (const Loop::Entry& entry : loop_.entries) {
      if (!any) {
        body_.slot(entry.body_slot) = Value{};
      } else if (!entry.constant) {
        body_.slot(entry.body_slot) = Value{.dead = true};
      }
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
      Value& out = instance.slot(step.first_output);
      out = transferred(instance.slot(step.inputs[0]), instance.program().slots[step.first_output].source.is_ref());
      if (traffic != nullptr && (!step.next_heads.empty() || step.exit >= 0)) traffic->forward(step, out);
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
      value = Value{.dead = true};
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
    Value& value = instance.slot(s);
    value.tensor = Tensor();
    if (value.ref != nullptr) value.ref.reset();
    value.dead = false;
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
