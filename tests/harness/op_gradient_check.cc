// Gradients against central differences: of the sum over all differentiable outputs of w * y, for fixed weights w.
#include <algorithm>
#include <cmath>
#include <sstream>

#include "caudal/autodiff/gradient.h"
#include "caudal/core/op_registry.h"
#include "caudal/graph/scope.h"
#include "tests/harness/call.h"
#include "tests/harness/compare.h"
#include "tests/harness/op_harness.h"

namespace caudal::inline v0::harness {
namespace {

constexpr std::int64_t kMaxElements = 120;

bool is_narrow(DType dtype) { return dtype == float32 || dtype == complex64; }
bool is_wide(DType dtype) { return dtype == float64 || dtype == complex128; }

// Real numbers as one list: a complex number is two.
std::int64_t num_parts(const Tensor& t) { return t.num_elements() * (is_complex(t.dtype()) ? 2 : 1); }
double part(const Tensor& t, std::int64_t i) {
  return is_wide(t.dtype()) ? reinterpret_cast<const double*>(t.raw())[i]
                            : static_cast<double>(reinterpret_cast<const float*>(t.raw())[i]);
}
void set_part(Tensor& t, std::int64_t i, double value) {
  if (is_wide(t.dtype()))
    reinterpret_cast<double*>(t.raw())[i] = value;
  else
    reinterpret_cast<float*>(t.raw())[i] = static_cast<float>(value);
}

double weight(std::int64_t k) { return static_cast<double>((7 * k + 3) % 11 - 5) / 4; }

Tensor weights_like(const Tensor& y) {
  Tensor w(y.dtype(), y.shape());
  for (std::int64_t k = 0; k < num_parts(w); ++k) set_part(w, k, weight(k));
  return w;
}

// Change of the weighted sum of the outputs. Element by element, so that infinite ones that stay (the maximum of
// nothing) do not spoil it.
double weighted_change(const std::vector<Tensor>& from, const std::vector<Tensor>& to) {
  double sum = 0;
  for (std::size_t y = 0; y < from.size(); ++y) {
    for (std::int64_t k = 0; k < num_parts(from[y]); ++k) {
      const double before = part(from[y], k), after = part(to[y], k);
      if (before != after) sum += weight(k) * (after - before);
    }
  }
  return sum;
}

// The outputs as a function of the inputs to be varied.
struct Function {
  Session& session;
  std::vector<Output> ys;
  Feeds feeds;
  std::vector<Tensor> operator()(const Feeds& changed) const {
    return session.run(Fetches(ys.begin(), ys.end()), changed);
  }
};

struct Tolerance {
  double step, relative;
};
// By the least precise of the types on the way.
Tolerance tolerance_for(const Sample& sample, DType x, const std::vector<Output>& ys) {
  const bool wide = is_wide(x) && std::ranges::all_of(ys, [](const Output& y) { return is_wide(y.dtype()); });
  return {wide ? 1e-5 : 1e-2, sample.gradient_tolerance > 0 ? sample.gradient_tolerance : wide ? 1e-5 : 2e-2};
}

// Compares one input's gradient; an absent one counts as zeros.
std::string compare_with_differences(const Function& function, std::size_t feed, const Tensor* gradient,
                                     const Tolerance& tolerance) {
  const Tensor& x = function.feeds[feed].value;
  if (gradient != nullptr && !(gradient->shape() == x.shape())) {
    return "the gradient is " + gradient->describe() + " for an input " + x.describe();
  }
  double scale = 1;
  for (std::int64_t k = 0; gradient != nullptr && k < num_parts(x); ++k) {
    scale = std::max(scale, std::abs(part(*gradient, k)));
  }
  for (std::int64_t k = 0; k < num_parts(x); ++k) {
    const double h = tolerance.step * std::max(1.0, std::abs(part(x, k)));
    Feeds changed = function.feeds;
    Tensor up = x.clone(), down = x.clone();
    set_part(up, k, part(x, k) + h);
    set_part(down, k, part(x, k) - h);
    changed[feed].value = up;
    const std::vector<Tensor> above = function(changed);
    changed[feed].value = down;
    const double slope = weighted_change(function(changed), above) / (part(up, k) - part(down, k));
    const double got = gradient == nullptr ? 0 : part(*gradient, k);
    if (std::abs(slope - got) <= tolerance.relative * scale) continue;
    std::ostringstream out;
    out << "element " << k << " of " << x.describe() << ": differences say " << slope << ", the gradient "
        << (gradient == nullptr ? "is none" : "says ") << (gradient == nullptr ? "" : std::to_string(got));
    return out.str();
  }
  return {};
}

struct Experiment {
  const Sample& sample;
  Call& call;
  Session& session;
  std::vector<std::size_t> varied;  // positions among the feeds
};

std::vector<Output> differentiable(const Sample& sample, const std::vector<Output>& outputs) {
  std::vector<Output> result;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const bool left_out = std::ranges::count(sample.undifferentiated_outputs, static_cast<int>(i)) > 0;
    if (is_differentiable(outputs[i].dtype()) && !left_out) result.push_back(outputs[i]);
  }
  return result;
}

bool left_out(const Experiment& experiment, std::size_t input) {
  return std::ranges::count(experiment.sample.undifferentiated_inputs, static_cast<int>(input)) > 0;
}

// Flat position among the op's inputs of a feed.
std::size_t input_of(const Experiment& experiment, std::size_t feed) {
  const auto& inputs = experiment.call.inputs();
  return static_cast<std::size_t>(std::ranges::find(inputs, experiment.call.feeds()[feed].output) - inputs.begin());
}

// Gradients of the weighted `ys`: outputs of the graph, none where there is no gradient.
std::vector<Output> build_gradients(const Experiment& check, const std::vector<Output>& ys) {
  const GraphScope scope(check.call.graph());
  const Function function{check.session, ys, check.call.feeds()};
  GradientOptions options;
  for (const Tensor& y : function(function.feeds)) {
    const Tensor w = weights_like(y);
    options.grad_ys.push_back(
        Output(&add_node(check.call.graph(), "Const", {}, {{"value", w}, {"dtype", w.dtype()}}), 0));
  }
  std::vector<Output> xs, result;
  for (std::size_t feed : check.varied) xs.push_back(check.call.feeds()[feed].output);
  for (const Gradient& gradient : gradients(ys, xs, options)) {
    result.push_back(gradient ? gradient.dense() : Output());
  }
  return result;
}

// Empty if the gradients of `ys` agree with differences.
std::string compare_gradients(const Experiment& check, const std::vector<Output>& ys,
                              const std::vector<Output>& grads) {
  const Function function{check.session, ys, check.call.feeds()};
  for (std::size_t i = 0; i < grads.size(); ++i) {
    const std::size_t feed = check.varied[i];
    const std::size_t input = input_of(check, feed);
    const Tensor& x = check.call.feeds()[feed].value;
    Tensor value;
    if (grads[i]) value = check.session.run(grads[i], check.call.feeds());
    if (!grads[i] && left_out(check, input)) continue;
    if (grads[i] && left_out(check, input)) {
      return "input " + std::to_string(input) + " is said to have no gradient and has one";
    }
    const std::string message = compare_with_differences(function, feed, grads[i] ? &value : nullptr,
                                                         tolerance_for(check.sample, x.dtype(), ys));
    if (!message.empty()) return "input " + std::to_string(input) + ": " + message;
  }
  return {};
}

// Whether the sample is one for finite differences.
bool wants_gradient(const std::string& op, const Sample& sample) {
  if (sample.gradient == Check::kNo) return false;
  std::int64_t elements = 0;
  bool varied = false, narrow = false;
  for (const SampleInput& input : sample.inputs) {
    for (const SampleValue& value : input.values) {
      if (value.kind != SampleValue::Kind::kTensor) return false;
      const DType dtype = value.value.dtype();
      if (!is_differentiable(dtype)) continue;
      elements += value.value.num_elements();
      varied |= value.value.num_elements() > 0;
      narrow |= !is_wide(dtype);
      if (dtype == float16 || dtype == bfloat16) return false;
    }
  }
  if (!varied) return false;
  if (sample.gradient == Check::kYes) return true;
  if (elements > kMaxElements) return false;
  // float32 only where the op cannot do better.
  if (!narrow) return true;
  const OpDef& def = lookup_op(op).def;
  return std::ranges::all_of(def.attrs, [](const AttrDef& attr) {
    return attr.kind != "type" || !(attr.allowed_types.empty() || std::ranges::count(attr.allowed_types, float64));
  });
}

void check_second_order(Experiment& check, const std::vector<Output>& grads, const std::string& name,
                        OpReport& report) {
  std::vector<Output> ys;
  std::ranges::copy_if(grads, std::back_inserter(ys), [](const Output& g) { return static_cast<bool>(g); });
  if (check.sample.second_order == Check::kNo || ys.empty()) return;
  try {
    report.judge("second_order", name, compare_gradients(check, ys, build_gradients(check, ys)));
  } catch (const Error& error) {
    if (error.code() == Code::kNotFound && check.sample.second_order == Check::kAuto) return;
    report.add("second_order", name, error.what());
  }
}

}  // namespace

void check_gradient(const std::string& op, const Sample& sample, OpReport& report) {
  if (report.gradient != "yes" || !wants_gradient(op, sample)) return;
  const std::string name = sample_name(sample);
  for (const Known known : {Known::kAll, Known::kNothing}) {
    const Mode mode{.name = known == Known::kAll ? "shapes known" : "shapes unknown",
                    .feeding = Feeding::kSmallInts,
                    .known = known,
                    .fold = true,
                    .isa = best_isa()};
    const std::string where = name + ", " + mode.name;
    try {
      Call call(op, sample.inputs, sample.attrs, mode);
      const std::vector<Output> ys = differentiable(sample, call.outputs());
      const bool measurable =
          std::ranges::all_of(ys, [](const Output& y) { return is_wide(y.dtype()) || is_narrow(y.dtype()); });
      if (ys.empty() || !measurable) return;
      const auto session = call.session();
      Experiment check{sample, call, *session, {}};
      for (std::size_t i = 0; i < call.feeds().size(); ++i) {
        if (is_differentiable(call.feeds()[i].value.dtype())) check.varied.push_back(i);
      }
      const std::vector<Output> grads = build_gradients(check, ys);
      report.judge("gradient", where, compare_gradients(check, ys, grads));
      if (!report.found("gradient")) check_second_order(check, grads, where, report);
    } catch (const Error& error) {
      report.add("gradient", where, error.what());
    }
  }
}

}  // namespace caudal::inline v0::harness
