#include "caudal/ops/string_ops.h"

#include <algorithm>
#include <complex>
#include <cstdio>
#include <memory>

#include "caudal/base/env.h"
#include "caudal/base/error.h"
#include "caudal/core/kernel.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"
#include "caudal/core/step_context.h"
#include "caudal/graph/scope.h"
#include "caudal/kernels/dispatch.h"

namespace caudal::inline v0 {
namespace {

// ---- Shape functions

void join_shape(ShapeContext& c) {
  PartialShape shape = PartialShape::scalar();
  bool open = false;  // an input may turn out to be a scalar or not
  for (int i = 0; i < c.num_inputs(); ++i) {
    const PartialShape& input = c.input(i);
    if (input.rank() == 0) continue;
    open |= !input.has_rank();
    if (!input.has_rank()) continue;
    const auto merged = shape.rank() == 0 ? input : shape.merge(input);
    if (!merged) throw invalid_argument("shapes differ: ", shape, " and ", c.input_name(i), ' ', input);
    shape = *merged;
  }
  c.set_output(0, open && shape.rank() == 0 ? PartialShape::unknown() : shape);
}

void read_file_shape(ShapeContext& c) {
  c.with_rank(0, 0);
  scalar_shape(c);
}

void write_file_shape(ShapeContext& c) {
  c.with_rank(0, 0);
  c.with_rank(1, 0);
}

// ---- Kernels

void run_join(RunContext& c) {
  const std::string& separator = c.node().attr<std::string>("separator");
  Shape shape;
  for (int i = 0; i < c.num_inputs(); ++i) {
    const Shape& input = c.input(i).shape();
    if (input.rank() == 0) continue;
    if (shape.rank() > 0 && shape != input) throw invalid_argument("shapes differ: ", shape, " and ", input);
    shape = input;
  }
  Tensor& out = c.allocate_output(0, shape);
  for (std::int64_t k = 0; k < shape.num_elements(); ++k) {
    std::string joined;
    for (int i = 0; i < c.num_inputs(); ++i) {
      if (i > 0) joined += separator;
      const Tensor& input = c.input(i);
      joined += input.data<std::string>()[input.rank() == 0 ? 0 : k];
    }
    out.data<std::string>()[k] = std::move(joined);
  }
}

// printf with one argument, to a string of any length.
template <class... Args>
std::string format(const std::string& pattern, Args... args) {
  char small[64];
  const int length = std::snprintf(small, sizeof small, pattern.c_str(), args...);
  if (length < static_cast<int>(sizeof small)) return {small, static_cast<std::size_t>(std::max(length, 0))};
  std::string text(static_cast<std::size_t>(length) + 1, '\0');
  std::snprintf(text.data(), text.size(), pattern.c_str(), args...);
  text.pop_back();
  return text;
}

class AsStringKernel final : public Kernel {
 public:
  explicit AsStringKernel(PrepareContext& c) {
    const auto precision = c.attr<std::int64_t>("precision"), width = c.attr<std::int64_t>("width");
    const bool scientific = c.attr<bool>("scientific"), shortest = c.attr<bool>("shortest");
    const std::string& fill = c.attr<std::string>("fill");
    const DType type = c.input_type(0);
    const bool real = is_differentiable(type);
    if (fill.size() > 1 || fill.find_first_not_of(" +-0#") != std::string::npos) {
      throw invalid_argument("fill is '", fill, "'; one of ' ', '+', '-', '0' and '#' is wanted");
    }
    if (scientific && shortest) throw invalid_argument("a number cannot be both scientific and shortest");
    constexpr std::int64_t kWidest = 1 << 16;
    if (width > kWidest || precision > kWidest) throw invalid_argument("width and precision end at ", kWidest);
    width_ = static_cast<std::size_t>(std::max(width, std::int64_t{0}));
    fills_behind_ = fill == "-";
    if (type == string) return;  // the rest is for numbers, and ignored as TensorFlow does
    if ((scientific || shortest) && !real)
      throw invalid_argument("scientific and shortest are for fractions, not ", type);
    if (precision > -1 && !real) throw invalid_argument("a precision is for fractions, not ", type);
    format_ = "%" + fill;
    if (width > -1) format_ += std::to_string(width);
    if (precision > -1) format_ += "." + std::to_string(precision);
    if (real) format_ += scientific ? "e" : shortest ? "g" : "f";
  }

  void run(RunContext& c) const override {
    const Tensor& in = c.input(0);
    Tensor& out = c.allocate_output(0, in.shape());
    std::string* to = out.data<std::string>();
    const auto each = [&](auto type, auto&& text) {
      for (const auto& value : in.flat<decltype(type)>()) *to++ = text(value);
    };
    if (in.dtype() == boolean) return each(bool{}, [](bool b) { return b ? "true" : "false"; });
    if (in.dtype() == string) {
      return each(std::string{}, [&](const std::string& text) { return padded(text); });
    }
    kernels::dispatch(kernels::NumberTypes{}, in.dtype(), "AsString",
                      [&]<class T>() { each(T{}, [&](const T& value) { return number(value); }); });
  }

 private:
  std::string padded(const std::string& text) const {
    if (text.size() >= width_) return text;
    const std::string blanks(width_ - text.size(), ' ');
    return fills_behind_ ? text + blanks : blanks + text;
  }

  template <class T>
  std::string number(const T& value) const {
    if constexpr (std::is_integral_v<T>) {
      if constexpr (std::is_signed_v<T>) return format(format_ + "lld", static_cast<long long>(value));
      return format(format_ + "llu", static_cast<unsigned long long>(value));
    } else if constexpr (requires { value.imag(); }) {
      return format("(" + format_ + "," + format_ + ")", static_cast<double>(value.real()),
                    static_cast<double>(value.imag()));
    } else {
      // half and bfloat16 convert to float only.
      if constexpr (std::is_floating_point_v<T>) return format(format_, static_cast<double>(value));
      return format(format_, static_cast<double>(static_cast<float>(value)));
    }
  }

  std::string format_;  // without the length of integers and their letter
  std::size_t width_ = 0;
  bool fills_behind_ = false;
};

std::unique_ptr<Kernel> prepare_as_string(PrepareContext& c) { return std::make_unique<AsStringKernel>(c); }

const std::string& one_string(RunContext& c, int i) {
  const Tensor& value = c.input(i);
  if (value.num_elements() != 1) {
    throw invalid_argument(c.node().op->def.inputs[i].name, " must be one string, not ", value.describe());
  }
  return value.item<std::string>();
}

void run_read_file(RunContext& c) {
  // Constants are folded without a file system: what a file holds is only known in a run.
  if (c.step().env == nullptr) throw failed_precondition("files are read in runs only");
  std::string bytes = read_file(*c.step().env, one_string(c, 0));
  c.allocate_output(0, {}).data<std::string>()[0] = std::move(bytes);
}

void run_write_file(RunContext& c) {
  Env& env = *c.step().env;
  const std::string& path = one_string(c, 0);
  env.mkdirs(directory_of(path));
  write_file_atomically(env, path, one_string(c, 1));
}

// ---- Registrations

CAUDAL_REGISTER_OP({
    .name = "StringJoin",
    .inputs = "inputs: N * string",
    .outputs = "output: string",
    .attrs = "N: int >= 0; separator: string = ''",
    .shape = join_shape,
    .gradient = not_differentiable,
    .cpu = kernel_of<run_join>,
});
CAUDAL_REGISTER_OP({
    .name = "AsString",
    .inputs = "input: T",
    .outputs = "output: string",
    .attrs = "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64, complex64, "
             "complex128, bool, variant, string}; precision: int = -1; scientific: bool = false; "
             "shortest: bool = false; width: int = -1; fill: string = ''",
    .shape = unchanged_shape,
    .gradient = not_differentiable,
    .cpu = prepare_as_string,
});
CAUDAL_REGISTER_OP({
    .name = "ReadFile",
    .inputs = "filename: string",
    .outputs = "contents: string",
    .shape = read_file_shape,
    .gradient = no_gradient,
    .cpu = kernel_of<run_read_file>,
});
CAUDAL_REGISTER_OP({
    .name = "WriteFile",
    .inputs = "filename: string; contents: string",
    .stateful = true,
    .shape = write_file_shape,
    .gradient = no_gradient,
    .cpu = kernel_of<run_write_file>,
});

}  // namespace

// ---- Public functions

Output strings::join(const std::vector<Operand>& inputs, const StringJoinOptions& options) {
  const LocationScope where(options.where);
  std::vector<Output> outputs;
  for (const Operand& input : inputs) outputs.push_back(input.to_output(string));
  return OpBuilder("StringJoin", {.name = options.name, .where = options.where})
      .inputs(std::move(outputs))
      .attr("separator", options.separator)
      .build();
}

Output as_string(const Operand& input, const AsStringOptions& options) {
  return OpBuilder("AsString", {.name = options.name, .where = options.where})
      .input(input)
      .attr("precision", options.precision)
      .attr("scientific", options.scientific)
      .attr("shortest", options.shortest)
      .attr("width", options.width)
      .attr("fill", options.fill)
      .build();
}

Output read_file(const Operand& filename, const OpOptions& options) {
  return OpBuilder("ReadFile", options).input(filename).build();
}

Operation write_file(const Operand& filename, const Operand& contents, const OpOptions& options) {
  return OpBuilder("WriteFile", options).input(filename).input(contents).build_operation();
}

}  // namespace caudal::inline v0
