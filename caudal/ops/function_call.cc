#include "caudal/ops/function_call.h"

#include <algorithm>
#include <atomic>
#include <new>
#include <optional>

#include "caudal/base/env.h"
#include "caudal/base/error.h"
#include "caudal/core/cancellation.h"

namespace caudal::inline v0::ops {
namespace {

void check_types(const std::string& name, std::string_view what, const std::vector<DType>& given,
                 const std::vector<DType>& wanted) {
  if (given == wanted) return;
  throw invalid_argument("function '", name, "' has ", what, " of types ", AttrValue(given), "; the node has ",
                         AttrValue(wanted));
}

FunctionRuntime& functions_of(const RunContext& context) {
  FunctionRuntime* functions = context.step().functions;
  // Folding has no session to run bodies in.
  if (functions == nullptr) throw failed_precondition("functions are called in a session only");
  return *functions;
}

// Bodies without nodes run nothing that would look.
void check_step(const StepContext& step) {
  if (step.cancellation != nullptr) step.cancellation->check();
  if (step.deadline_micros && static_cast<std::int64_t>(step.env->now_micros()) >= *step.deadline_micros) {
    throw deadline_exceeded("the run's time is over");
  }
}

// Makes the calls of a sequence one after another without blocking. A call that is over when run_async returns goes on
// in the same loop, so that the stack does not grow with the calls. Deletes itself at the end.
class AsyncCalls {
 public:
  AsyncCalls(RunContext& context, std::unique_ptr<CallSequence> sequence, Kernel::Done done)
      : context_(context), sequence_(std::move(sequence)), done_(std::move(done)) {}

  void advance() {
    for (;;) {
      FunctionRuntime::Handle handle = 0;
      std::vector<Tensor> arguments;
      std::optional<Error> failure;
      try {
        check_step(context_.step());
        if (!sequence_->next(handle, arguments)) {
          sequence_->finish();
          return end(nullptr);
        }
      } catch (const Error& error) {
        failure = error;
      } catch (const std::bad_alloc&) {
        failure = resource_exhausted("out of memory");
      }
      if (failure) return end(&*failure);
      turn_.store(Turn::kNobody);
      functions_of(context_).run_async(handle, context_.step(), std::move(arguments),
                                       [this](const Error* error, std::vector<Tensor> results) {
                                         keep(error, std::move(results));
                                         if (turn_.exchange(Turn::kCalled) == Turn::kReturned) go_on();
                                       });
      if (turn_.exchange(Turn::kReturned) != Turn::kCalled) return;  // the callback goes on
      if (!accept()) return;
    }
  }

 private:
  enum class Turn { kNobody, kCalled, kReturned };

  void keep(const Error* error, std::vector<Tensor> results) {
    failure_.reset();
    if (error != nullptr) failure_ = *error;
    results_ = std::move(results);
  }

  void go_on() {
    if (accept()) advance();
  }

  // False if that was the end.
  bool accept() {
    if (!failure_) {
      try {
        sequence_->accept(std::move(results_));
        return true;
      } catch (const Error& error) {
        failure_ = error;
      } catch (const std::bad_alloc&) {
        failure_ = resource_exhausted("out of memory");
      }
    }
    const std::optional<Error> failure = std::move(failure_);
    end(&*failure);
    return false;
  }

  void end(const Error* error) {
    const Kernel::Done done = std::move(done_);
    const std::optional<Error> failure = error == nullptr ? std::nullopt : std::optional<Error>(*error);
    delete this;
    done(failure ? &*failure : nullptr);
  }

  RunContext& context_;
  std::unique_ptr<CallSequence> sequence_;
  Kernel::Done done_;
  std::atomic<Turn> turn_{Turn::kNobody};
  std::optional<Error> failure_;
  std::vector<Tensor> results_;
};

template <class T>
bool is_nonzero(const Tensor& value) {
  return value.item<T>() != T(0);
}

}  // namespace

CallSequence::~CallSequence() = default;

CalledFunction instantiate_call(PrepareContext& context, const FunctionAttr& function,
                                const std::vector<DType>& arguments, const std::vector<DType>& results) {
  FunctionRuntime& functions = context.functions();
  const FunctionRuntime::Handle handle = functions.instantiate(function);
  const auto& signature = functions.signature(handle);
  check_types(signature.name, "arguments", signature.argument_types, arguments);
  check_types(signature.name, "results", signature.result_types, results);
  return {handle, signature.can_wait};
}

void CallingKernel::run(RunContext& context) const {
  FunctionRuntime& functions = functions_of(context);
  const auto sequence = start(context);
  FunctionRuntime::Handle handle = 0;
  std::vector<Tensor> arguments;
  while (sequence->next(handle, arguments)) {
    check_step(context.step());
    sequence->accept(functions.run(handle, context.step(), std::move(arguments)));
    arguments.clear();
  }
  sequence->finish();
}

void CallingKernel::run_async(RunContext& context, Done done) const {
  std::optional<Error> failure;
  std::unique_ptr<CallSequence> sequence;
  try {
    functions_of(context);
    sequence = start(context);
  } catch (const Error& error) {
    failure = error;
  }
  if (failure) return done(&*failure);
  (new AsyncCalls(context, std::move(sequence), std::move(done)))->advance();
}

FunctionRuntime::Handle CallingKernel::add(const CalledFunction& function) {
  can_wait_ |= function.can_wait;
  return function.handle;
}

std::vector<Tensor> call_arguments(RunContext& context, int first) {
  std::vector<Tensor> arguments;
  arguments.reserve(static_cast<std::size_t>(context.num_inputs() - first));
  for (int i = first; i < context.num_inputs(); ++i) arguments.push_back(context.pass_input(i));
  return arguments;
}

void allow_hand_over(PrepareContext& context, int first) {
  if (context.num_outputs() == 0) return;
  for (int i = first; i < context.num_inputs(); ++i)
    context.allow_in_place(i, std::min(i - first, context.num_outputs() - 1));
}

void set_call_results(RunContext& context, std::vector<Tensor> results) {
  const AttrValue* attr = find_attr(context.node().attrs, "output_shapes");
  const auto* shapes = attr == nullptr ? nullptr : attr->get_if<std::vector<PartialShape>>();
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (shapes != nullptr && i < shapes->size() && !(*shapes)[i].compatible(results[i].shape())) {
      throw invalid_argument("result ", i, " has shape ", results[i].shape(), "; output_shapes says ", (*shapes)[i]);
    }
    context.set_output(static_cast<int>(i), std::move(results[i]));
  }
}

bool to_bool(const Tensor& value) {
  if (value.rank() != 0) return value.num_elements() > 0;
  switch (value.dtype()) {
    case DType::kBool:
      return value.item<bool>();
    case DType::kFloat:
      return is_nonzero<float>(value);
    case DType::kDouble:
      return is_nonzero<double>(value);
    case DType::kInt8:
      return is_nonzero<std::int8_t>(value);
    case DType::kInt16:
      return is_nonzero<std::int16_t>(value);
    case DType::kInt32:
      return is_nonzero<std::int32_t>(value);
    case DType::kInt64:
      return is_nonzero<std::int64_t>(value);
    case DType::kUint8:
      return is_nonzero<std::uint8_t>(value);
    case DType::kString:
      return !value.item<std::string>().empty();
    default:
      throw invalid_argument("a condition of type ", value.dtype(), ": it cannot be taken as true or false");
  }
}

}  // namespace caudal::inline v0::ops
