#include "tests/harness/golden.h"

#include <cmath>
#include <complex>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "caudal/autodiff/gradient.h"
#include "caudal/graph/scope.h"
#include "caudal/kernels/dispatch.h"
#include "caudal/ops/constant.h"
#include "caudal/runtime/session.h"
#include "tests/harness/compare.h"
#include "tests/harness/random_tensor.h"

namespace caudal::inline v0::harness {
namespace {

using Json = nlohmann::json;

double number(const Json& json) {
  if (!json.is_string()) return json.get<double>();
  const auto text = json.get<std::string>();
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (text == "inf") return std::numeric_limits<double>::infinity();
  if (text == "-inf") return -std::numeric_limits<double>::infinity();
  throw data_loss("'", text, "' is no number");
}

template <class T>
T element(const Json& json) {
  if constexpr (std::is_same_v<T, std::string>) {
    return json.get<std::string>();
  } else if constexpr (std::is_same_v<T, bool>) {
    return json.get<bool>();
  } else if constexpr (std::is_integral_v<T>) {
    return json.get<T>();
  } else if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>) {
    using Part = typename T::value_type;
    return T(static_cast<Part>(number(json[0])), static_cast<Part>(number(json[1])));
  } else if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(number(json));
  } else {
    return T(static_cast<float>(number(json)));
  }
}

Tensor tensor(const Json& json) {
  const DType dtype = dtype_from_name(json.at("t").get<std::string>());
  Tensor out(dtype, Shape(json.at("s").get<std::vector<std::int64_t>>()));
  const Json& values = json.at("v");
  const bool fill = json.value("fill", false);
  using Types = kernels::TypeList<float, double, Half, BFloat16, std::int8_t, std::int16_t, std::int32_t, std::int64_t,
                                  std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t, bool, std::complex<float>,
                                  std::complex<double>, std::string>;
  kernels::dispatch(Types(), dtype, "a golden tensor", [&]<class T>() {
    auto flat = out.flat<T>();
    if (!fill && values.size() != flat.size()) throw data_loss("a tensor has ", values.size(), " values");
    for (std::size_t i = 0; i < flat.size(); ++i) flat[i] = element<T>(values[fill ? 0 : i]);
  });
  return out;
}

AttrValue attr(const Json& json) {
  if (json.is_object() && json.contains("type")) return dtype_from_name(json["type"].get<std::string>());
  if (json.is_object() && json.contains("shape")) return PartialShape(json["shape"].get<std::vector<std::int64_t>>());
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_integer()) return json.get<std::int64_t>();
  if (json.is_number()) return json.get<float>();
  if (json.is_string()) return json.get<std::string>();
  if (json.is_array() && !json.empty() && json[0].is_string()) return json.get<std::vector<std::string>>();
  if (json.is_array() && !json.empty() && json[0].is_number_float()) return json.get<std::vector<float>>();
  if (json.is_array()) return json.get<std::vector<std::int64_t>>();
  throw data_loss("attribute ", json.dump());
}

std::vector<Tensor> tensors(const Json& json) {
  std::vector<Tensor> out;
  for (const Json& item : json) out.push_back(item.is_null() ? Tensor() : tensor(item));
  return out;
}

GoldenCase parse(const Json& json) {
  GoldenCase golden;
  golden.op = json.at("op").get<std::string>();
  golden.id = json.at("id").get<std::string>();
  if (json.contains("attrs")) {
    for (const auto& [name, value] : json["attrs"].items()) golden.attrs.emplace(name, attr(value));
  }
  for (const Json& input : json.at("in")) {
    golden.inputs.push_back(input.is_array() ? tensors(input) : std::vector<Tensor>{tensor(input)});
  }
  if (json.contains("error")) golden.error_code = json["error"].at("code").get<int>();
  if (json.contains("out")) golden.outputs = tensors(json["out"]);
  if (json.contains("out_second_run")) golden.second_outputs = tensors(json["out_second_run"]);
  golden.has_gradients = json.contains("grad");
  if (golden.has_gradients) golden.gradients = tensors(json["grad"]);
  return golden;
}

std::string compare(const std::vector<Tensor>& expected, const std::vector<Tensor>& got, const char* what) {
  if (expected.size() > got.size()) return "too few outputs";
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (!expected[i].valid()) continue;
    // TensorFlow rounds partial sums to bfloat16; two ulps more.
    const double slack = expected[i].dtype() == DType::kBFloat16 ? 2 : 1;
    const std::string text = difference(expected[i], got[i], slack * default_tolerance(expected[i].dtype()));
    if (!text.empty()) return std::string(what) + " " + std::to_string(i) + ": " + text;
  }
  return {};
}

Tensor weights_like(const Tensor& output) {
  std::vector<double> values(static_cast<std::size_t>(output.num_elements()));
  for (std::size_t k = 0; k < values.size(); ++k) values[k] = (static_cast<double>((7 * k + 3) % 11) - 5) / 4;
  return tensor_of(output.dtype(), output.shape(), values);
}

struct Built {
  std::vector<Output> inputs, outputs;
  Feeds feeds;
};

Built build(const GoldenCase& golden) {
  Built built;
  OpBuilder builder(golden.op, {});
  for (const auto& argument : golden.inputs) {
    std::vector<Output> group;
    for (const Tensor& value : argument) {
      group.push_back(placeholder(value.dtype(), value.shape()));
      built.inputs.push_back(group.back());
      built.feeds.emplace_back(group.back(), value);
    }
    builder.inputs(group);
  }
  for (const auto& [name, value] : golden.attrs) builder.attr(name, value);
  Node& node = builder.build_node();
  for (int i = 0; i < node.num_outputs(); ++i) built.outputs.push_back(node.output(i));
  return built;
}

std::string check_gradients(const GoldenCase& golden, const Built& built, Session& session) {
  std::vector<Output> ys;
  GradientOptions options;
  for (std::size_t i = 0; i < built.outputs.size(); ++i) {
    if (!golden.outputs[i].valid() || !is_differentiable(built.outputs[i].dtype())) continue;
    ys.push_back(built.outputs[i]);
    options.grad_ys.emplace_back(constant(weights_like(golden.outputs[i])));
  }
  std::vector<Output> xs;
  std::vector<Tensor> expected;
  for (std::size_t i = 0; i < built.inputs.size(); ++i) {
    if (!golden.gradients[i].valid()) continue;
    xs.push_back(built.inputs[i]);
    expected.push_back(golden.gradients[i]);
  }
  if (xs.empty()) return {};
  Fetches fetches;
  for (const Gradient& gradient : gradients(ys, xs, options)) {
    if (gradient.is_none()) return "a gradient is missing";
    fetches.emplace_back(gradient.dense());
  }
  return compare(expected, session.run(fetches, built.feeds), "gradient");
}

}  // namespace

std::vector<GoldenCase> read_golden(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw not_found("no file ", path);
  std::vector<GoldenCase> cases;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty()) cases.push_back(parse(Json::parse(line)));
  }
  return cases;
}

std::string check_golden(const GoldenCase& golden) {
  Graph graph;
  const GraphScope scope(graph);
  try {
    const Built built = build(golden);
    Session session(graph);
    const Fetches fetches(built.outputs.begin(), built.outputs.end());
    const auto first = session.run(fetches, built.feeds);
    if (golden.error_code != 0) return "no error; code " + std::to_string(golden.error_code) + " is wanted";
    std::string text = compare(golden.outputs, first, "output");
    if (text.empty() && !golden.second_outputs.empty()) {
      text = compare(golden.second_outputs, session.run(fetches, built.feeds), "output of the second run");
    }
    if (text.empty() && golden.has_gradients) text = check_gradients(golden, built, session);
    return text;
  } catch (const Error& error) {
    if (static_cast<int>(error.code()) == golden.error_code) return {};
    return error.what();
  }
}

}  // namespace caudal::inline v0::harness
