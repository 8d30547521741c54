#include "caudal/runtime/dataflow.h"

#include <atomic>
#include <exception>
#include <utility>

#include "caudal/base/error.h"
#include "caudal/runtime/steps.h"

namespace caudal::inline v0 {

// A waiting kernel in flight.
struct Dataflow::Call {
  Dataflow* dataflow;
  Activation* activation;
  int unit;
  std::int64_t start = 0;
  std::optional<Error> failure;
  // Who comes second, the return of run_async or done, goes on with the unit.
  enum Phase { kStarted, kReturned, kDone };
  std::atomic<int> phase{kStarted};
};

// Where values of the unit that is running cross the border of a loop.
class Dataflow::Traffic final : public LoopTraffic {
 public:
  Traffic(Dataflow& dataflow, Activation& activation) : dataflow_(dataflow), activation_(activation) {}

  void enter(const Step& step, Value value) override {
    auto& loop = activation_.loops[step.loop];
    if (loop == nullptr) loop = std::make_unique<LoopRun>(dataflow_, activation_, step.loop);
    loop->enter(step.entry, std::move(value));
    settle_loop(loop);
  }
  void forward(const Step& step, const Value& value) override {
    if (activation_.loop == nullptr) return;
    for (const int head : step.next_heads) activation_.loop->next(activation_.iteration + 1, head, value);
    if (step.exit >= 0) activation_.loop->exit(step.exit, value);
  }

 private:
  // A loop that nothing but dead values entered may have nothing to do.
  static void settle_loop(std::unique_ptr<LoopRun>& loop) {
    if (loop->settle()) loop.reset();
  }

  Dataflow& dataflow_;
  Activation& activation_;
};

Dataflow::Dataflow(RunInstance& instance, const StepContext& step, Done done)
    : step_(step), token_(step.cancellation), done_(std::move(done)), top_(instance, nullptr, 0) {
  step_.cancellation = &token_;
}

void Dataflow::start(RunInstance& instance, const StepContext& step, Done done) {
  auto* dataflow = new Dataflow(instance, step, std::move(done));  // deleted by end()
  const auto& units = instance.program().units;
  for (std::size_t u = 0; u < units.size(); ++u) {
    if (units[u].pending == 0) dataflow->make_ready(dataflow->top_, static_cast<int>(u));
  }
  dataflow->work();
}

void Dataflow::make_ready(Activation& activation, int unit) {
  activation.pending[unit] = -1;
  ++activation.outstanding;
  ready_.push_back({&activation, unit});
}

void Dataflow::work() {
  while (!ready_.empty() && !failure_) {
    const Ready next = ready_.front();
    ready_.pop_front();
    run_unit(*next.activation, next.unit);
  }
  if (failure_ ? in_flight_ == 0 : top_.outstanding == 0) end();
}

void Dataflow::end() {
  const Done done = std::move(done_);
  const std::optional<Error> failure = std::move(failure_);
  delete this;
  done(failure ? &*failure : nullptr);
}

void Dataflow::fail(const Error& error) {
  if (failure_) return;
  failure_ = error;
  token_.cancel(cancelled("another op of the run failed"));
}

void Dataflow::run_unit(Activation& activation, int position) {
  const Unit& unit = activation.instance->program().units[position];
  if (unit.waits) {
    run_waiting(activation, position);
    return;
  }
  Traffic traffic(*this, activation);
  try {
    run_steps(*activation.instance, step_, unit.first, unit.count, &traffic);
  } catch (const Error& error) {
    fail(error);
    return;
  }
  finish_unit(activation, position);
}

void Dataflow::run_waiting(Activation& activation, int position) {
  RunInstance& instance = *activation.instance;
  const Unit& unit = instance.program().units[position];
  const Step& step = instance.program().steps[unit.first];
  RunContext& context = instance.context(unit.first);
  auto call = std::make_unique<Call>(this, &activation, position);
  try {
    check_step(step_);
    if (step.checks_dead) {
      const bool dead = is_dead(instance, step);
      mark(instance, unit.first, dead);
      if (dead) {
        finish_unit(activation, position);
        return;
      }
    }
    context.set_step(&step_);
    if (step.has_ref_inputs) context.start();
  } catch (const Error& error) {
    fail(placed(error, step, instance));
    return;
  }
  Call* raw = call.release();  // deleted by finish_call()
  ++in_flight_;
  try {
    step.kernel->run_async(context, [raw](const Error* error) {
      if (error != nullptr) raw->failure = *error;
      TaskQueue* queue = raw->dataflow->step_.queue;
      if (raw->phase.exchange(Call::kDone) == Call::kReturned) {
        queue->push([raw] {
          Dataflow* dataflow = raw->dataflow;
          dataflow->finish_call(*raw);
          dataflow->work();
        });
      }
    });
  } catch (const Error& error) {  // before it could wait: it will not call back
    raw->failure = error;
    raw->phase = Call::kDone;
  } catch (const std::bad_alloc&) {
    raw->failure = resource_exhausted("out of memory");
    raw->phase = Call::kDone;
  }
  if (raw->phase.exchange(Call::kReturned) == Call::kDone) finish_call(*raw);
}

void Dataflow::finish_call(Call& raw) {
  const std::unique_ptr<Call> call(&raw);
  --in_flight_;
  RunInstance& instance = *call->activation->instance;
  const int position = instance.program().units[call->unit].first;
  const Step& step = instance.program().steps[position];
  if (step.has_ref_inputs) instance.context(position).finish();
  if (call->failure) {
    fail(placed(*call->failure, step, instance));
    return;
  }
  if (failure_) return;
  try {
    if (step_.check_numerics) check_numerics(instance, step, instance.context(position));
  } catch (const Error& error) {
    fail(placed(error, step, instance));
    return;
  }
  release(instance, step);
  finish_unit(*call->activation, call->unit);
}

void Dataflow::deliver(Activation& activation, int slot, int unit, Value value) {
  activation.instance->slot(slot) = std::move(value);
  activation.pending[unit] = -1;
  complete(activation, unit);
}

// Lets go on what waits for a unit.
void Dataflow::complete(Activation& activation, int position) {
  RunInstance& instance = *activation.instance;
  const Program& program = instance.program();
  for (const int follower : program.units[position].followers) {
    int& pending = activation.pending[follower];
    if (pending < 0) continue;  // a Merge that has started
    --pending;
    const Unit& next = program.units[follower];
    if (next.is_merge && pending > 0) {
      const Step& step = program.steps[next.first];
      for (const int input : step.inputs) {
        const Value& value = instance.slot(input);
        if (value.dead || (!value.tensor.valid() && value.ref == nullptr)) continue;
        pending = 0;
        break;
      }
    }
    if (pending == 0) make_ready(activation, follower);
  }
}

void Dataflow::finish_unit(Activation& activation, int position) {
  complete(activation, position);
  --activation.outstanding;
  settle(activation);
}

void Dataflow::settle(Activation& activation) {
  // The activation may be gone after this.
  Activation* here = &activation;
  while (here->outstanding == 0 && here->loop != nullptr) {
    LoopRun* loop = here->loop;
    Activation* around = loop->around();
    const int index = loop->index();
    if (!loop->settle()) return;
    around->loops[index].reset();
    here = around;
  }
}

}  // namespace caudal::inline v0
