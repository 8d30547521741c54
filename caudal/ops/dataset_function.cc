#include "caudal/ops/dataset_function.h"

#include <utility>

#include "caudal/base/error.h"

namespace caudal::inline v0::ops {

PreparedFunction prepare_function(PrepareContext& c, std::string_view attr) {
  PreparedFunction prepared;
  prepared.function = c.attr<FunctionAttr>(attr);
  FunctionRuntime& functions = c.functions();
  const auto& signature = functions.signature(functions.instantiate(prepared.function));
  prepared.can_wait = signature.can_wait;
  prepared.stateful = signature.stateful;
  prepared.result_types = signature.result_types;
  return prepared;
}

CapturedFunction capture(const RunContext& c, const PreparedFunction& function, int first, int count) {
  CapturedFunction captured{function, {}};
  for (int i = first; i < first + count; ++i) captured.captures.push_back(c.take_input(i));
  return captured;
}

CapturedFunction capture(const RunContext& c, const PreparedFunction& function, std::string_view argument) {
  const ArgRange range = arg_range(c.node().op->def.inputs, c.node().attrs, argument);
  return capture(c, function, range.begin, range.size());
}

BoundFunction::BoundFunction(const Iteration& c, const CapturedFunction& function)
    : states_(&c.host->states().child(function.prepared.function.name)), captures_(function.captures) {
  if (c.step->functions == nullptr) throw failed_precondition("functions are called in a session only");
  handle_ = c.step->functions->instantiate(function.prepared.function);
}

Element BoundFunction::operator()(const Iteration& c, Element arguments) const {
  arguments.insert(arguments.end(), captures_.begin(), captures_.end());
  // What a call leaves behind ends with it, not with the pass over the data.
  ResourceManager step_resources;
  LocalRendezvous rendezvous;
  StepContext step = *c.step;
  step.step_resources = &step_resources;
  step.rendezvous = &rendezvous;
  return step.functions->run(handle_, step, *states_, std::move(arguments));
}

bool call_or_end(const Iteration& c, const BoundFunction& function, Element arguments, bool preserve_cardinality,
                 Element& results) {
  try {
    results = function(c, std::move(arguments));
    return true;
  } catch (const Error& error) {
    if (error.code() != Code::kOutOfRange) throw;
    if (preserve_cardinality) {
      throw invalid_argument("Function invocation produced OutOfRangeError: ", error.detail());
    }
    return false;
  }
}

bool predicate_value(const Element& results) {
  if (results.size() != 1 || results[0].dtype() != DType::kBool || results[0].num_elements() != 1) {
    throw invalid_argument("`predicate` must returns a scalar bool tensor.");
  }
  return results[0].item<bool>();
}

}  // namespace caudal::inline v0::ops
