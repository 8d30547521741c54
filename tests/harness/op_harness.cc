#include "tests/harness/op_harness.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <sstream>

#include "caudal/core/op_registry.h"
#include "caudal/graph/scope.h"
#include "tests/harness/call.h"
#include "tests/harness/compare.h"

namespace caudal::inline v0::harness {
namespace {

std::string describe(const AttrMap& attrs) {
  std::ostringstream out;
  for (const auto& [name, value] : attrs) out << ", " << name << "=" << value;
  return out.str();
}

std::vector<Tensor> values_of(const Sample& sample) {
  std::vector<Tensor> values;
  for (const SampleInput& input : sample.inputs) {
    for (const SampleValue& value : input.values) values.push_back(value.value);
  }
  return values;
}

// What a call gave: tensors, or the error it ended with.
struct Outcome {
  std::vector<Tensor> outputs;
  std::string error;
  bool failed() const { return !error.empty(); }
};

Outcome attempt(const std::string& op, const Sample& sample, const Mode& mode) {
  try {
    Call call(op, sample.inputs, sample.attrs, mode);
    return {call.run(), {}};
  } catch (const Error& error) {
    return {{}, error.what()};
  }
}

bool is_opaque(const Sample& sample, std::size_t output) {
  return std::ranges::find(sample.opaque_outputs, static_cast<int>(output)) != sample.opaque_outputs.end();
}

// tolerance < 0: bit by bit.
std::string compare(const Sample& sample, const Outcome& expected, const Outcome& got, double tolerance) {
  if (got.failed()) return "fails: " + got.error;
  if (expected.outputs.size() != got.outputs.size()) return "another number of outputs";
  for (std::size_t i = 0; i < expected.outputs.size(); ++i) {
    const Tensor &want = expected.outputs[i], &have = got.outputs[i];
    if (is_opaque(sample, i)) continue;
    const double allowed = tolerance > 0 ? tolerance : default_tolerance(want.dtype());
    const std::string message = tolerance < 0 ? bit_difference(want, have) : difference(want, have, allowed);
    if (!message.empty()) return "output " + std::to_string(i) + ": " + message;
  }
  return {};
}

std::string check_expected(const Sample& sample, const Outcome& got) {
  for (std::size_t i = 0; i < sample.expected.size(); ++i) {
    const Tensor& want = sample.expected[i];
    if (!want.valid()) continue;
    if (i >= got.outputs.size()) return "output " + std::to_string(i) + " is missing";
    const double tolerance = sample.tolerance > 0 ? sample.tolerance : default_tolerance(want.dtype());
    const std::string message = difference(want, got.outputs[i], tolerance);
    if (!message.empty()) return "output " + std::to_string(i) + ": " + message;
  }
  return sample.verify ? sample.verify(got.outputs) : "";
}

// Memory that the next run will probably get holds `pattern` then.
void soil_heap(const std::vector<Tensor>& like, char pattern) {
  std::vector<BufferRef> buffers;
  for (const Tensor& tensor : like) {
    if (!tensor.valid() || tensor.byte_size() == 0) continue;
    for (int i = 0; i < 4; ++i) {
      buffers.push_back(host_allocator().allocate(tensor.byte_size()));
      std::memset(buffers.back()->data(), pattern, tensor.byte_size());
    }
  }
}

std::string repeated_run(const std::string& op, const Sample& sample, const Mode& mode) {
  Call call(op, sample.inputs, sample.attrs, mode);
  if (call.node().op().def.stateful || call.has_variables()) return {};
  const auto session = call.session();
  const Outcome first{call.run(*session), {}};
  for (const char pattern : {'\x7f', '\x01'}) {
    soil_heap(first.outputs, pattern);
    const std::string message = compare(sample, first, {call.run(*session), {}}, -1);
    if (!message.empty()) return message;
  }
  return {};
}

void note_types(const std::string& op, const Sample& sample, OpReport& report) {
  Call call(op, sample.inputs, sample.attrs, {.name = "types"});
  for (const AttrDef& attr : call.node().op().def.attrs) {
    if (attr.kind == "type") report.dtypes[attr.name].insert(call.node().attr<DType>(attr.name));
    if (attr.kind == "list(type)") {
      for (DType type : call.node().attr<std::vector<DType>>(attr.name)) report.dtypes[attr.name].insert(type);
    }
  }
}

// Everything that is run and compared for one sample.
struct Comparison {
  std::string check;
  Mode base, other;
  bool exact = false;
};

std::vector<Comparison> comparisons() {
  const Isa isa = best_isa();
  const Mode plain{.name = "dynamic, plain"};
  Mode dynamic = plain;
  dynamic.name = "dynamic", dynamic.isa = isa;
  Mode two_threads = dynamic;
  two_threads.name = "dynamic, two threads", two_threads.threads = 2;
  Mode copies = dynamic;
  copies.name = "specialised, inputs copied", copies.copies = true, copies.specialise = true,
  copies.known = Known::kAll;
  Mode in_place = copies;
  in_place.name = "specialised, in place", in_place.in_place = true;
  Mode in_place_dynamic = dynamic;
  in_place_dynamic.name = "dynamic, in place", in_place_dynamic.copies = in_place_dynamic.in_place = true;
  Mode in_place_threads = in_place;
  in_place_threads.name = "specialised, in place, two threads", in_place_threads.threads = 2;
  Mode view = dynamic;
  view.name = "inputs not at their buffer's start", view.offset_inputs = true;
  Mode constant = dynamic;
  constant.name = "constant inputs", constant.feeding = Feeding::kConstant;
  Mode folded = constant;
  folded.name = "folded", folded.fold = true;
  Mode usual = dynamic;
  usual.name = "batch size unknown, small integers constant, specialised", usual.feeding = Feeding::kSmallInts;
  usual.known = Known::kAllButFirst, usual.specialise = usual.in_place = usual.fold = true;
  std::vector<Comparison> list = {
      {"isa", plain, dynamic},     {"threads", dynamic, two_threads, true},
      {"path", dynamic, copies},   {"in_place", copies, in_place, true},
      {"view", dynamic, view},     {"in_place", dynamic, in_place_dynamic, true},
      {"path", dynamic, constant}, {"threads", in_place, in_place_threads, true},
      {"path", constant, folded},  {"path", dynamic, usual},
  };
  if (isa == Isa::kAvx512) {
    Mode avx2 = dynamic;
    avx2.name = "dynamic, avx2", avx2.isa = Isa::kAvx2;
    list.push_back({"isa", plain, avx2});
  }
  return list;
}

// Inputs that somebody else needs must be there unchanged after the op; so must the tensors that were fed.
std::string inputs_stay(const std::string& op, const Sample& sample, const std::vector<Tensor>& pristine) {
  const Mode mode{.name = "copies fetched",
                  .known = Known::kAll,
                  .specialise = true,
                  .in_place = true,
                  .copies = true,
                  .fetch_copies = true,
                  .isa = best_isa()};
  const std::vector<Tensor> values = values_of(sample);
  Call call(op, sample.inputs, sample.attrs, mode);
  const bool all_copied = !call.has_variables() && call.feeds().size() == values.size();
  const std::vector<Tensor> results = call.run();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::string input = "input " + std::to_string(i);
    if (std::string message = bit_difference(pristine[i], values[i]); !message.empty()) {
      return "the tensor fed as " + input + " was changed: " + message;
    }
    if (!all_copied) continue;
    const Tensor& copy = results[results.size() - values.size() + i];
    if (std::string message = bit_difference(pristine[i], copy); !message.empty()) {
      return input + " was overwritten though it is needed: " + message;
    }
  }
  return {};
}

bool runs_elsewhere(const std::string& test) {
  const ::testing::UnitTest& all = *::testing::UnitTest::GetInstance();
  for (int s = 0; s < all.total_test_suite_count(); ++s) {
    const ::testing::TestSuite& suite = *all.GetTestSuite(s);
    for (int t = 0; t < suite.total_test_count(); ++t) {
      if (std::string(suite.name()) + "." + suite.GetTestInfo(t)->name() == test) return true;
    }
  }
  return false;
}

std::string gradient_kind(const OpSpec& spec) {
  if (spec.gradient == not_differentiable) return "not differentiable";
  return spec.gradient == no_gradient ? "none" : "yes";
}

bool has_complex_input(const Sample& sample) {
  return std::ranges::any_of(values_of(sample), [](const Tensor& value) { return is_complex(value.dtype()); });
}

void check_sample(const std::string& op, const Sample& sample, bool complex_gradient, OpReport& report) {
  if (sample.code != Code::kOk) return check_error(op, sample, report);
  check_values(op, sample, report);
  // What does not run has no shapes or gradients worth a further message.
  if (!report.findings.empty() && report.findings.back().check == "value") return;
  check_shapes(op, sample, report);
  if (complex_gradient || !has_complex_input(sample)) check_gradient(op, sample, report);
}

}  // namespace

bool OpReport::found(const std::string& check) const {
  return std::ranges::any_of(findings, [&](const Finding& finding) { return finding.check == check; });
}

std::string sample_name(const Sample& sample) {
  if (!sample.name.empty()) return sample.name;
  std::ostringstream out;
  bool first = true;
  for (const SampleInput& input : sample.inputs) {
    for (const SampleValue& value : input.values) {
      out << (first ? "" : ", ") << value.value.describe();
      const bool tells = value.value.rank() <= 1 && value.value.num_elements() <= 4 && is_integer(value.value.dtype());
      if (tells) out << "=" << value.value;
      first = false;
    }
  }
  out << describe(sample.attrs);
  return out.str().empty() ? "no inputs" : out.str();
}

void check_values(const std::string& op, const Sample& sample, OpReport& report) {
  const std::string name = sample_name(sample);
  std::vector<Tensor> pristine;
  for (const Tensor& value : values_of(sample)) pristine.push_back(value.clone());

  std::map<std::string, Outcome> outcomes;
  const auto outcome = [&](const Mode& mode) -> const Outcome& {
    const auto found = outcomes.find(mode.name);
    return found != outcomes.end() ? found->second : outcomes[mode.name] = attempt(op, sample, mode);
  };
  const std::vector<Comparison> list = comparisons();
  const Outcome& plain = outcome(list[0].base);
  if (plain.failed()) return report.add("value", name, "fails: " + plain.error);
  report.judge("value", name, check_expected(sample, plain));
  note_types(op, sample, report);
  for (const Comparison& c : list) {
    if (outcome(c.base).failed() && c.base.name != list[0].base.name) continue;  // said where it is the other side
    const std::string message = compare(sample, outcome(c.base), outcome(c.other), c.exact ? -1 : sample.tolerance);
    report.judge(c.check, name, message.empty() ? "" : c.other.name + ", against " + c.base.name + ": " + message);
  }
  try {
    report.judge("repeat", name, repeated_run(op, sample, list[0].other));
    report.judge("in_place", name, inputs_stay(op, sample, pristine));
  } catch (const Error& error) {
    report.add("repeat", name, error.what());
  }
}

void check_error(const std::string& op, const Sample& sample, OpReport& report) {
  const std::string name = sample_name(sample);
  std::vector<Mode> modes = {{.name = "shapes known", .feeding = Feeding::kSmallInts, .known = Known::kAll},
                             {.name = "constant inputs", .feeding = Feeding::kConstant, .fold = true}};
  if (!sample.refused_by_inference) modes.push_back({.name = "shapes unknown before the run"});
  for (const Mode& mode : modes) {
    std::string message;
    try {
      Call call(op, sample.inputs, sample.attrs, mode);
      call.run();
      message = "no error; " + code_name(sample.code) + " was expected";
    } catch (const Error& error) {
      if (error.code() != sample.code) {
        message = code_name(sample.code) + " was expected, not " + error.what();
      } else if (std::string(error.what()).find(sample.message) == std::string::npos) {
        message = "the message lacks \"" + sample.message + "\": " + error.what();
      } else if (error.node().empty()) {
        message = std::string("the error names no node: ") + error.what();
      }
    }
    report.judge("error", name, message.empty() ? "" : mode.name + ": " + message);
  }
}

void check_graph_sample(const GraphSample& sample, OpReport& report) {
  std::optional<Outcome> first;
  for (const Comparison& c : comparisons()) {
    for (const Mode& mode : {c.base, c.other}) {
      std::string message;
      try {
        Graph graph;
        const GraphScope scope(graph);
        const std::vector<Output> outputs = sample.build();
        const kernels::IsaCap cap(mode.isa);
        SessionOptions options;
        options.intra_op_threads = mode.threads;
        options.plan.in_place = mode.in_place;
        options.plan.fold_constants = mode.fold;
        Session session(graph, options);
        Outcome got{session.run(Fetches(outputs.begin(), outputs.end())), {}};
        const Sample expectation{.expected = sample.expected, .tolerance = sample.tolerance};
        message = first ? compare(expectation, *first, got, sample.tolerance) : check_expected(expectation, got);
        if (!first) first = std::move(got);
      } catch (const Error& error) {
        message = error.what();
      }
      report.judge(c.check, sample.name, message.empty() ? "" : mode.name + ": " + message);
      if (!message.empty()) return;
    }
  }
}

OpReport check_op(const std::string& op, const Samples& samples) {
  OpReport report{.op = op};
  const Op* registered = find_op(op);
  if (registered == nullptr) {
    report.add("samples", "", "there is no such op");
    return report;
  }
  report.gradient = gradient_kind(*registered->spec);
  if (samples.empty()) {
    report.add("samples", "", "no samples: write CAUDAL_OP_SAMPLES(" + op + ") in its family's test");
    return report;
  }
  for (const Sample& sample : samples.samples()) check_sample(op, sample, samples.has_complex_gradient(), report);
  for (const GraphSample& sample : samples.graphs()) check_graph_sample(sample, report);
  for (const std::string& test : samples.covered_by()) {
    report.judge("samples", "", runs_elsewhere(test) ? "" : "no test '" + test + "' in this program");
  }
  const bool tried = report.passed.contains("gradient") || report.found("gradient") || !samples.covered_by().empty();
  if (report.gradient == "yes" && !tried) {
    report.add("samples", "", "no sample tries the gradient: small ones with float64 inputs do, unless they say kNo");
  }
  return report;
}

}  // namespace caudal::inline v0::harness
