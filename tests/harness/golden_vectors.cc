#include "tests/harness/golden_vectors.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>

#include "caudal/autodiff/gradient.h"
#include "caudal/core/op_registry.h"
#include "caudal/graph/scope.h"
#include "tests/harness/call.h"
#include "tests/harness/compare.h"
#include "tests/harness/json_data.h"

namespace caudal::inline v0::harness {
namespace {

// The value of `"key":"..."` in a line of JSON, where it stands first.
std::string first_text(const std::string& line, const std::string& key) {
  const std::string start = "\"" + key + "\":\"";
  const auto at = line.find(start);
  if (at == std::string::npos) return {};
  return line.substr(at + start.size(), line.find('"', at + start.size()) - at - start.size());
}

std::vector<SampleInput> sample_inputs(const GoldenCall& golden) {
  std::vector<SampleInput> inputs;
  for (const std::vector<Tensor>& group : golden.inputs) inputs.emplace_back(group);
  return inputs;
}

std::string compare_all(const std::vector<Tensor>& want, const std::vector<Tensor>& have) {
  if (want.size() > have.size()) return internal::concat(want.size(), " outputs expected, got ", have.size());
  for (std::size_t i = 0; i < want.size(); ++i) {
    if (!want[i].valid()) continue;
    const std::string message = difference(want[i], have[i], default_tolerance(want[i].dtype()));
    if (!message.empty()) return internal::concat("output ", i, ": ", message);
  }
  return {};
}

// TensorFlow's inference refuses some calls that its kernels accept; a graph of known shapes then may, too.
std::string run_case(const GoldenCall& golden, const Mode& mode, bool may_refuse) {
  try {
    Call call(golden.op, sample_inputs(golden), golden.attrs, mode);
    const auto session = call.session();
    const std::vector<Tensor> outputs = call.run(*session);
    if (golden.error) return "no error; " + code_name(*golden.error) + " was expected (" + golden.why + ")";
    if (std::string message = compare_all(golden.outputs, outputs); !message.empty()) return message;
    if (golden.second_outputs.empty()) return {};
    const std::string message = compare_all(golden.second_outputs, call.run(*session));
    return message.empty() ? "" : "second run: " + message;
  } catch (const Error& error) {
    if (golden.error == error.code()) return {};
    if (may_refuse && error.code() == Code::kInvalidArgument) return {};
    const std::string wanted = golden.error ? code_name(*golden.error) + " (" + golden.why + ")" : "no error";
    return wanted + " was expected, not " + error.what();
  }
}

// w[k] = ((7k + 3) mod 11 - 5) / 4, in y's type.
Tensor weights_like(const Tensor& y) {
  std::vector<double> w(static_cast<std::size_t>(y.num_elements()));
  for (std::size_t k = 0; k < w.size(); ++k) w[k] = static_cast<double>(static_cast<int>((7 * k + 3) % 11) - 5) / 4;
  return tensor_of(y.dtype(), y.shape(), w);
}

std::string gradient_case(const GoldenCall& golden, const Mode& mode) {
  try {
    Call call(golden.op, sample_inputs(golden), golden.attrs, mode);
    const GraphScope scope(call.graph());
    std::vector<Output> ys, xs;
    GradientOptions options;
    for (std::size_t i = 0; i < golden.outputs.size(); ++i) {
      if (!golden.outputs[i].valid() || !is_floating(golden.outputs[i].dtype())) continue;
      ys.push_back(call.outputs()[i]);
      const Tensor w = weights_like(golden.outputs[i]);
      options.grad_ys.push_back(Output(&add_node(call.graph(), "Const", {}, {{"value", w}, {"dtype", w.dtype()}}), 0));
    }
    std::vector<std::size_t> positions;
    for (std::size_t i = 0; i < call.inputs().size(); ++i) {
      if (!is_floating(call.inputs()[i].dtype())) continue;
      positions.push_back(i);
      xs.push_back(call.inputs()[i]);
    }
    const std::vector<Gradient> grads = gradients(ys, xs, options);
    const auto session = call.session();
    for (std::size_t i = 0; i < grads.size(); ++i) {
      const auto& want = golden.gradient[positions[i]];
      const std::string input = internal::concat("gradient of input ", positions[i], ": ");
      if (want.has_value() != static_cast<bool>(grads[i])) {
        return input + (want ? "TensorFlow has one, here is none" : "TensorFlow has none, here is one");
      }
      if (!want) continue;
      const Tensor have = session->run(grads[i].dense(), call.feeds());
      // The rounding of every step of the backward pass adds up.
      const std::string message = difference(*want, have, 4 * default_tolerance(want->dtype()));
      if (!message.empty()) return input + message;
    }
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

std::string show(const GoldenShapes::Shapes& shapes) {
  if (!shapes) return "a refusal";
  std::string text;
  for (const PartialShape& shape : *shapes) text += (text.empty() ? "" : ", ") + shape.to_string();
  return text.empty() ? "no outputs" : text;
}

bool was_constant(const std::optional<std::vector<int>>& constants, int position, const Tensor& value) {
  if (constants) return std::ranges::count(*constants, position) > 0;
  return (value.dtype() == int32 || value.dtype() == int64) && value.rank() <= 1 && value.num_elements() <= 16;
}

GoldenShapes::Shapes infer(const GoldenCall& golden, const std::optional<std::vector<int>>& constants, Known known,
                           std::string& error) {
  Graph graph;
  std::vector<std::vector<Output>> groups;
  int position = 0;
  try {
    for (const std::vector<Tensor>& group : golden.inputs) {
      std::vector<Output>& outputs = groups.emplace_back();
      for (const Tensor& value : group) {
        const DType dtype = value.dtype();
        PartialShape shape = known == Known::kNothing ? PartialShape() : PartialShape(value.shape());
        if (known == Known::kAllButFirst && value.rank() > 0) shape = shape.with_dim(0, PartialShape::kUnknown);
        Node& node = was_constant(constants, position++, value)
                         ? add_node(graph, "Const", {}, {{"value", value}, {"dtype", dtype}})
                         : add_node(graph, "Placeholder", {}, {{"dtype", dtype}, {"shape", shape}});
        outputs.emplace_back(&node, 0);
      }
    }
    Node& node = add_node(graph, golden.op, std::move(groups), golden.attrs);
    std::vector<PartialShape> shapes;
    for (int i = 0; i < node.num_outputs(); ++i) shapes.push_back(node.output_shape(i));
    return shapes;
  } catch (const Error& failure) {
    error = failure.what();
    return std::nullopt;
  }
}

// Ours must tell at least what TensorFlow's tells, and fit the real outputs.
std::string shape_case(const GoldenCall& golden, const GoldenShapes& shapes, Known known,
                       const GoldenShapes::Shapes& want) {
  std::string error;
  const GoldenShapes::Shapes have = infer(golden, shapes.constants, known, error);
  if (!want) return have ? "TensorFlow refuses to build this, here it gives " + show(have) : "";
  if (!have) return golden.error ? "" : "TensorFlow infers " + show(want) + ", refused here: " + error;
  for (std::size_t i = 0; i < want->size(); ++i) {
    const bool fits =
        i >= golden.outputs.size() || !golden.outputs[i].valid() || (*have)[i].compatible(golden.outputs[i].shape());
    if (!fits) return "inferred " + show(have) + ", the output is " + golden.outputs[i].describe();
    if ((*have)[i].merge((*want)[i]) != (*have)[i]) return "TensorFlow infers " + show(want) + ", here " + show(have);
  }
  return {};
}

void check_case(const GoldenCall& golden, const std::optional<GoldenShapes>& shapes, OpReport& report) {
  const Mode fed{.name = "fed", .isa = best_isa()};
  const Mode constant{.name = "constant", .feeding = Feeding::kConstant, .fold = true, .isa = best_isa()};
  Mode known{.name = "shapes known", .feeding = Feeding::kSmallInts, .known = Known::kAll, .isa = best_isa()};
  known.specialise = known.in_place = known.copies = true;
  const bool may_refuse = shapes && !shapes->known;
  report.judge("golden", golden.id + " fed", run_case(golden, fed, false));
  report.judge("golden", golden.id + " constant", run_case(golden, constant, may_refuse));
  report.judge("golden", golden.id + " specialised", run_case(golden, known, may_refuse));
  if (!golden.gradient.empty()) {
    known.copies = known.in_place = false;
    Mode unknown = known;
    unknown.name = "shapes unknown", unknown.known = Known::kNothing;
    report.judge("golden_gradient", golden.id + " shapes unknown", gradient_case(golden, unknown));
    report.judge("golden_gradient", golden.id + " shapes known", gradient_case(golden, known));
  }
  if (!shapes) return;
  const std::string id = golden.id;
  report.judge("golden_shape", id + " known", shape_case(golden, *shapes, Known::kAll, shapes->known));
  report.judge("golden_shape", id + " first size unknown",
               shape_case(golden, *shapes, Known::kAllButFirst, shapes->first_dim_unknown));
  report.judge("golden_shape", id + " rank unknown",
               shape_case(golden, *shapes, Known::kNothing, shapes->rank_unknown));
}

// Every line of the folder's *.jsonl files; none if there is no such folder.
template <class Fn>
void each_line(const std::string& folder, Fn use) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().extension() != ".jsonl") continue;
    std::ifstream file(entry.path());
    for (std::string line; std::getline(file, line);) use(line);
  }
}

}  // namespace

GoldenVectors::GoldenVectors(const std::string& folder) {
  each_line(folder + "/ops", [&](const std::string& line) { cases_[first_text(line, "op")].push_back(line); });
  if (cases_.empty()) throw not_found("no golden vectors in '", folder, "/ops'");
  each_line(folder + "/ops_shapes", [&](const std::string& line) { shapes_[first_text(line, "id")] = line; });
  if (shapes_.empty()) throw not_found("no shapes in '", folder, "/ops_shapes'");
}

std::vector<std::string> GoldenVectors::ops() const {
  std::vector<std::string> names;
  for (const auto& [op, lines] : cases_) names.push_back(op);
  return names;
}

int GoldenVectors::count(const std::string& op) const {
  const auto found = cases_.find(op);
  return found == cases_.end() ? 0 : static_cast<int>(found->second.size());
}

void GoldenVectors::check(const std::string& op, const std::vector<std::string>& exceptions, OpReport& report) const {
  const auto found = cases_.find(op);
  if (found == cases_.end()) return;
  for (const std::string& line : found->second) {
    GoldenCall golden;
    try {
      golden = parse_golden_case(line);
    } catch (const Error& error) {
      report.add("golden", first_text(line, "id"), error.what());
      continue;
    }
    const auto line_of_shapes = shapes_.find(golden.id);
    std::optional<GoldenShapes> shapes;
    if (line_of_shapes != shapes_.end()) shapes = parse_golden_shapes(line_of_shapes->second);
    if (std::ranges::count(exceptions, golden.id) == 0) {
      check_case(golden, shapes, report);
      continue;
    }
    OpReport excepted;
    check_case(golden, shapes, excepted);
    if (excepted.findings.empty()) report.add("golden", golden.id, "agrees, and is said to be an exception");
  }
}

}  // namespace caudal::inline v0::harness
