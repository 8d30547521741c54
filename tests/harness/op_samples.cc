#include "tests/harness/op_samples.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <sstream>

#include "tests/harness/compare.h"

namespace caudal::inline v0::harness {
namespace {

std::multimap<std::string, SamplesFn, std::less<>>& registry() {
  static std::multimap<std::string, SamplesFn, std::less<>> blocks;
  return blocks;
}

// More than the grain of any elementwise loop, and not a multiple of anything.
constexpr std::int64_t kLarge = 70001;

using Verify = std::function<std::string(const std::vector<Tensor>&)>;

bool is_real(DType dtype) { return is_floating(dtype) || is_integer(dtype) || dtype == boolean; }

// Compares output 0 with `want`. Integers that the reference leaves beyond 2^53 or the type cannot hold are skipped.
std::string compare_doubles(const std::vector<double>& want, const Tensor& got, double tolerance) {
  if (!is_real(got.dtype())) return {};
  const std::vector<double> have = to_doubles(got);
  if (have.size() != want.size()) return "expected " + std::to_string(want.size()) + " elements, got " + got.describe();
  if (tolerance == 0) tolerance = default_tolerance(got.dtype());
  for (std::size_t i = 0; i < want.size(); ++i) {
    const bool fine = std::isnan(want[i]) || std::isinf(want[i])
                          ? (std::isnan(want[i]) ? std::isnan(have[i]) : want[i] == have[i])
                          : std::abs(want[i] - have[i]) <= tolerance * std::max(1.0, std::abs(want[i]));
    if (fine) continue;
    std::ostringstream out;
    out.precision(17);
    out << "element " << i << " of " << got.describe() << " is " << have[i] << ", the reference says " << want[i];
    return out.str();
  }
  return {};
}

// Output 0 is NaN wherever one of the inputs, broadcast to it, is.
Verify nan_rule(std::vector<Tensor> inputs) {
  return [inputs = std::move(inputs)](const std::vector<Tensor>& outputs) -> std::string {
    if (outputs.empty() || !is_floating(outputs[0].dtype())) return {};
    const std::vector<double> have = to_doubles(outputs[0]);
    for (const Tensor& input : inputs) {
      if (!is_floating(input.dtype()) || input.num_elements() != outputs[0].num_elements()) continue;
      const std::vector<double> in = to_doubles(input);
      for (std::size_t i = 0; i < in.size(); ++i) {
        if (std::isnan(in[i]) && !std::isnan(have[i])) {
          return "element " + std::to_string(i) + " is NaN in the input and " + std::to_string(have[i]) +
                 " in the output (nan_propagates = false if that is right)";
        }
      }
    }
    return {};
  };
}

Verify elementwise_reference(const Tensor& x, const ElementwiseOptions& options) {
  if (!options.reference || !is_real(x.dtype())) return {};
  return [x, f = options.reference, tolerance = options.tolerance](const std::vector<Tensor>& outputs) {
    std::vector<double> want = to_doubles(x);
    for (double& value : want) value = f(value);
    return compare_doubles(want, outputs.at(0), tolerance);
  };
}

// Element `flat` of an array of shape `out` in a tensor of shape `in` that is broadcast to it.
std::int64_t broadcast_index(const Shape& out, const Shape& in, std::int64_t flat) {
  std::int64_t index = 0, stride = 1;
  for (int i = out.rank() - 1, j = in.rank() - 1; i >= 0; --i, --j) {
    const std::int64_t at = flat % out.dim(i);
    flat /= out.dim(i);
    if (j < 0) continue;
    if (in.dim(j) != 1) index += at * stride;
    stride *= in.dim(j);
  }
  return index;
}

Verify broadcast_reference(const Tensor& x, const Tensor& y, const ElementwiseOptions& options) {
  if (!options.reference2 || !is_real(x.dtype()) || !is_real(y.dtype())) return {};
  return [x, y, f = options.reference2, tolerance = options.tolerance](const std::vector<Tensor>& outputs) {
    const std::vector<double> a = to_doubles(x), b = to_doubles(y);
    const Shape shape = broadcast(x.shape(), y.shape()).to_shape().value();
    if (!(outputs.at(0).shape() == shape))
      return "expected shape " + shape.to_string() + ", got " + outputs[0].describe();
    std::vector<double> want(static_cast<std::size_t>(shape.num_elements()));
    for (std::size_t i = 0; i < want.size(); ++i) {
      const auto flat = static_cast<std::int64_t>(i);
      want[i] = f(a[broadcast_index(shape, x.shape(), flat)], b[broadcast_index(shape, y.shape(), flat)]);
    }
    return compare_doubles(want, outputs[0], tolerance);
  };
}

Sample elementwise_sample(std::vector<SampleInput> inputs, const ElementwiseOptions& options) {
  return {.inputs = std::move(inputs),
          .attrs = options.attrs,
          .gradient = options.gradient,
          .second_order = options.second_order,
          .tolerance = options.tolerance,
          .gradient_tolerance = options.gradient_tolerance};
}

// Shapes that every type sees, and those that one type is enough for.
const std::vector<Shape>& few_shapes() {
  static const std::vector<Shape> shapes = {{}, {2, 3}, {33}, {0}};
  return shapes;
}
const std::vector<Shape>& more_shapes() {
  static const std::vector<Shape> shapes = {{5}, {2, 3, 2}, {2, 1, 3, 2}, {2, 0, 3}, {7}, {16}, {kLarge}};
  return shapes;
}

std::vector<Shape> shapes_for(const std::vector<DType>& dtypes, DType dtype) {
  std::vector<Shape> shapes = few_shapes();
  const auto floating = std::find_if(dtypes.begin(), dtypes.end(), is_floating);
  const DType main = floating == dtypes.end() ? dtypes.front() : *floating;
  if (dtype == main) {
    shapes.insert(shapes.end(), more_shapes().begin(), more_shapes().end());
  } else if (dtype == float64) {
    shapes.insert(shapes.end(), {{5}, {2, 1, 3, 2}, {kLarge}});
  }
  return shapes;
}

struct ShapePair {
  Shape x, y;
};
std::vector<ShapePair> pairs_for(const std::vector<DType>& dtypes, DType dtype) {
  std::vector<ShapePair> pairs = {{{2, 3}, {2, 3}}, {{}, {}}, {{33}, {}}, {{2, 3}, {3}}, {{2, 1}, {1, 3}}, {{0}, {1}}};
  const auto floating = std::find_if(dtypes.begin(), dtypes.end(), is_floating);
  const DType main = floating == dtypes.end() ? dtypes.front() : *floating;
  if (dtype == main || dtype == float64) {
    pairs.insert(pairs.end(), {{{}, {5}},
                               {{2, 3}, {2, 1}},
                               {{3}, {2, 3}},
                               {{2, 1, 3, 2}, {4, 1, 2}},
                               {{2, 3, 2}, {1, 3, 1}},
                               {{2, 0, 3}, {1, 3}}});
  }
  if (dtype == main) {
    pairs.insert(pairs.end(), {{{kLarge}, {kLarge}}, {{kLarge}, {}}, {{300, 257}, {257}}, {{300, 257}, {300, 1}}});
  }
  return pairs;
}

// Groups of a reduction over `axes`, as lists of flat input positions, in the order of the outputs.
std::vector<std::vector<std::int64_t>> reduction_groups(const Shape& shape, const std::vector<int>& axes) {
  std::vector<bool> reduced(static_cast<std::size_t>(shape.rank()));
  for (int axis : axes) reduced[static_cast<std::size_t>(axis < 0 ? axis + shape.rank() : axis)] = true;
  std::int64_t count = 1;
  for (int i = 0; i < shape.rank(); ++i) count *= reduced[i] ? 1 : shape.dim(i);
  std::vector<std::vector<std::int64_t>> groups(static_cast<std::size_t>(count));
  const std::vector<std::int64_t> strides = shape.strides();
  for (std::int64_t flat = 0; flat < shape.num_elements(); ++flat) {
    std::int64_t group = 0, rest = flat;
    for (int i = 0; i < shape.rank(); ++i) {
      if (!reduced[i]) group = group * shape.dim(i) + rest / strides[i];
      rest %= strides[i];
    }
    groups[static_cast<std::size_t>(group)].push_back(flat);
  }
  return groups;
}

Verify reduction_reference(const Tensor& x, const std::vector<int>& axes, const ReductionOptions& options) {
  if (!options.reference || !is_real(x.dtype())) return {};
  return [x, axes, f = options.reference, tolerance = options.tolerance](const std::vector<Tensor>& outputs) {
    const std::vector<double> values = to_doubles(x);
    std::vector<double> want;
    for (const auto& group : reduction_groups(x.shape(), axes)) {
      std::vector<double> members;
      for (std::int64_t flat : group) members.push_back(values[static_cast<std::size_t>(flat)]);
      want.push_back(f(members));
    }
    return compare_doubles(want, outputs.at(0), tolerance);
  };
}

}  // namespace

SamplesRegistrar::SamplesRegistrar(std::string_view op, SamplesFn fill) { registry().emplace(op, fill); }

Samples samples_of(std::string_view op) {
  Samples samples{std::string(op)};
  const auto [begin, end] = registry().equal_range(op);
  for (auto it = begin; it != end; ++it) it->second(samples);
  return samples;
}

std::vector<std::string> sampled_ops() {
  std::vector<std::string> names;
  for (const auto& [name, fill] : registry()) {
    if (names.empty() || names.back() != name) names.push_back(name);
  }
  return names;
}

Tensor Samples::random(DType dtype, const Shape& shape, const ValueRange& range) {
  std::uint64_t seed = 0xcbf29ce484222325U;  // FNV-1a of the op's name: one op's samples do not move another's
  for (char letter : op_) seed = (seed ^ static_cast<unsigned char>(letter)) * 0x100000001b3U;
  return random_tensor(dtype, shape, seed + ++drawn_, range);
}

void Samples::error(std::vector<SampleInput> inputs, Code code, AttrMap attrs, std::string message) {
  add({.inputs = std::move(inputs), .attrs = std::move(attrs), .code = code, .message = std::move(message)});
}

void Samples::golden_exception(const std::string& id, const std::string& reason) {
  if (reason.empty()) throw invalid_argument("samples of ", op_, ": why is ", id, " an exception?");
  golden_exceptions_.push_back(id);
}

void Samples::unsupported(const std::vector<DType>& dtypes, const std::string& reason) {
  if (reason.empty()) throw invalid_argument("samples of ", op_, ": why are types not supported?");
  unsupported_.insert(unsupported_.end(), dtypes.begin(), dtypes.end());
}

void Samples::unary_elementwise(const std::vector<DType>& dtypes, const ElementwiseOptions& options) {
  for (DType dtype : dtypes) {
    for (const Shape& shape : shapes_for(dtypes, dtype)) {
      const Tensor x = random(dtype, shape, options.range);
      Sample sample = elementwise_sample({x}, options);
      sample.verify = elementwise_reference(x, options);
      add(std::move(sample));
    }
    if (!options.special || !(is_floating(dtype) || is_integer(dtype))) continue;
    const Tensor x = special_values(dtype);
    Sample sample = elementwise_sample({x}, options);
    sample.gradient = Check::kNo;
    sample.name = "special values of " + std::string(dtype_name(dtype));
    if (options.nan_propagates) sample.verify = nan_rule({x});
    add(std::move(sample));
  }
}

void Samples::binary_broadcasting(const std::vector<DType>& dtypes, const ElementwiseOptions& options) {
  for (DType dtype : dtypes) {
    for (const ShapePair& pair : pairs_for(dtypes, dtype)) {
      const Tensor x = random(dtype, pair.x, options.range), y = random(dtype, pair.y, options.second);
      Sample sample = elementwise_sample({x, y}, options);
      sample.verify = broadcast_reference(x, y, options);
      add(std::move(sample));
    }
    if (!options.special || !is_floating(dtype)) continue;
    const Tensor x = special_values(dtype), y = random(dtype, x.shape(), options.second);
    Sample sample = elementwise_sample({x, y}, options);
    sample.gradient = Check::kNo;
    sample.name = "special values of " + std::string(dtype_name(dtype));
    if (options.nan_propagates) sample.verify = nan_rule({x});
    add(std::move(sample));
  }
}

void Samples::same_shape(int count, const std::vector<DType>& dtypes, const ElementwiseOptions& options) {
  for (DType dtype : dtypes) {
    for (const Shape& shape : shapes_for(dtypes, dtype)) {
      std::vector<Tensor> tensors;
      for (int i = 0; i < count; ++i) tensors.push_back(random(dtype, shape, i == 1 ? options.second : options.range));
      Sample sample = elementwise_sample({tensors.begin(), tensors.end()}, options);
      if (count == 2) sample.verify = broadcast_reference(tensors[0], tensors[1], options);
      if (count == 1) sample.verify = elementwise_reference(tensors[0], options);
      add(std::move(sample));
    }
  }
}

void Samples::reductions(const std::vector<DType>& dtypes, const ReductionOptions& options) {
  struct Case {
    Shape shape;
    std::vector<int> axes;
    bool keep_dims = false;
    bool wide_axes = false;  // int64
  };
  const auto floating = std::find_if(dtypes.begin(), dtypes.end(), is_floating);
  const DType main = floating == dtypes.end() ? dtypes.front() : *floating;
  for (DType dtype : dtypes) {
    std::vector<Case> cases = {{{2, 3, 4}, {1}}, {{2, 3}, {0, 1}}, {{3, 17}, {-1}, true, true}, {{}, {}}};
    if (dtype == main || dtype == float64) {
      cases.insert(cases.end(), {{{5}, {0}}, {{2, 3, 4}, {0, 2}, true}, {{2, 3, 2, 2}, {-1, -3}}, {{2, 3}, {}}});
      cases.insert(cases.end(), {{{0, 3}, {1}}, {{2, 3, 4}, {2}, false, true}, {{2, 3, 4}, {0}}});
      if (options.empty_groups) cases.push_back({{2, 0, 3}, {1}});
    }
    if (dtype == main) {
      cases.insert(cases.end(), {{{kLarge}, {0}}, {{257, 300}, {0}}, {{300, 257}, {1}}, {{40, 50, 37}, {0, 2}}});
    }
    for (const Case& c : cases) {
      const Tensor x = random(dtype, c.shape, options.range);
      std::vector<double> axes(c.axes.begin(), c.axes.end());
      Sample sample{.attrs = options.attrs,
                    .gradient = options.gradient,
                    .second_order = options.second_order,
                    .tolerance = options.tolerance,
                    .gradient_tolerance = options.gradient_tolerance};
      sample.inputs = {x, tensor_of(c.wide_axes ? int64 : int32, {static_cast<std::int64_t>(axes.size())}, axes)};
      sample.attrs["keep_dims"] = c.keep_dims;
      sample.verify = reduction_reference(x, c.axes, options);
      add(std::move(sample));
    }
    if (!options.nan_propagates || !is_floating(dtype)) continue;
    Tensor x = tensor_of(dtype, {4, 3}, {1, 2, 3, NAN, 1, 2, 2, NAN, 1, 1, 2, NAN});
    Sample sample{.inputs = {x, Tensor(std::vector<int>{1})}, .attrs = options.attrs, .gradient = Check::kNo};
    sample.name = "NaN in " + std::string(dtype_name(dtype));
    sample.verify = [](const std::vector<Tensor>& outputs) -> std::string {
      const std::vector<double> y = to_doubles(outputs.at(0));
      if (std::isnan(y[0])) return "a group without NaN gives NaN";
      if (std::isnan(y[1]) && std::isnan(y[2]) && std::isnan(y[3])) return {};
      return "a group with NaN gives a number (nan_propagates = false if that is right)";
    };
    add(std::move(sample));
  }
  error({random(main, {2, 3}), Tensor(std::vector<int>{2})}, Code::kInvalidArgument, options.attrs);
}

}  // namespace caudal::inline v0::harness
