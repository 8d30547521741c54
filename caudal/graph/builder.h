// How op functions make nodes.
//
//   Output relu(Operand features, const OpOptions& options) {
//     return OpBuilder("Relu", options).input(features).build();
//   }
#pragma once

#include <complex>
#include <concepts>
#include <initializer_list>
#include <source_location>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/graph/graph.h"

namespace caudal::inline v0 {

// The last argument of every op function.
struct OpOptions {
  std::string name;  // of the node; default: the op's type
  std::source_location where = std::source_location::current();
};

// An argument of an op function: an output of a node, or a value that becomes a Const of the type that the op wants
// (a plain number next to a float32 tensor is a float32). Remembers the line where it was written.
class CAUDAL_API Operand {
 public:
  using Where = std::source_location;
  Operand(const Output& output, Where where = Where::current())  // NOLINT
      : output_(output), where_(where) {}
  template <class T>
    requires std::is_arithmetic_v<T>
  Operand(T value, Where where = Where::current())  // NOLINT
      : value_(make(value)), is_number_(true), where_(where) {}
  Operand(Tensor value, Where where = Where::current())  // NOLINT
      : value_(std::move(value)), where_(where) {}
  Operand(const char* value, Where where = Where::current())  // NOLINT
      : value_(value), where_(where) {}
  Operand(std::string value, Where where = Where::current())  // NOLINT
      : value_(std::move(value)), where_(where) {}
  // Vectors of numbers, for shapes, axes and paddings; convert to the type wanted, int32 by default.
  Operand(std::initializer_list<int> values, Where where = Where::current())  // NOLINT
      : value_(std::vector<int>(values)), is_number_(true), where_(where) {}
  Operand(const std::vector<int>& values, Where where = Where::current())  // NOLINT
      : value_(values), is_number_(true), where_(where) {}
  Operand(const std::vector<std::int64_t>& values, Where where = Where::current())  // NOLINT
      : value_(values), where_(where) {}
  Operand(const std::vector<float>& values, Where where = Where::current())  // NOLINT
      : value_(values), is_number_(true), where_(where) {}

  // The output; a value becomes a Const first, of type `wanted` where the value is a bare number and `wanted` is valid.
  Output to_output(DType wanted = DType::kInvalid, std::string const_name = {}) const;
  bool is_output() const { return static_cast<bool>(output_); }
  // The element type that is fixed already: of an output or typed value; kInvalid for bare numbers.
  DType fixed_dtype() const;
  // True for a bare number written with a fraction (2.5, 1.0f).
  bool has_fraction() const { return is_number_ && is_floating(value_.dtype()); }
  const std::source_location& where() const { return where_; }
  // The value, if it is none of a node's outputs.
  const Tensor* value() const { return output_ ? nullptr : &value_; }

 private:
  template <class T>
  static Tensor make(T value) {
    if constexpr (std::is_same_v<T, bool>)
      return Tensor(value);
    else if constexpr (std::is_same_v<T, float>)
      return Tensor(value);
    else if constexpr (std::is_floating_point_v<T>)
      return Tensor(static_cast<double>(value));
    else if constexpr (sizeof(T) == 8)
      return Tensor(static_cast<std::int64_t>(value));
    else
      return Tensor(static_cast<std::int32_t>(value));
  }

  Output output_;
  Tensor value_;
  bool is_number_ = false;
  std::source_location where_;
};

// The common element type of operands: the first fixed one; else float32 if a bare number has a fraction type, else
// int32.
CAUDAL_API DType common_dtype(std::initializer_list<const Operand*> operands);

// `value` converted to another number type (exact or by rounding, as static_cast). Strings do not convert.
CAUDAL_API Tensor convert_number(const Tensor& value, DType dtype);

class CAUDAL_API OpBuilder {
 public:
  OpBuilder(std::string_view op, const OpOptions& options);

  // Arguments in the order of the definition.
  OpBuilder& input(const Operand& operand, DType wanted = DType::kInvalid);
  OpBuilder& inputs(std::vector<Output> outputs);
  OpBuilder& attr(std::string_view name, AttrValue value);
  OpBuilder& control_input(Operation operation);
  // Overrides the device of the scopes.
  OpBuilder& device(std::string_view device);

  // Makes the node in the graph of its inputs, or the default graph if it has none. While a function is traced the node
  // belongs to the function's body, and inputs from outside become its arguments.
  Node& build_node();
  // Its first output.
  Output build() { return {&build_node(), 0}; }
  Operation build_operation() { return {&build_node()}; }

 private:
  Graph& choose_graph();

  NodeDraft draft_;
  std::string name_;
  std::source_location where_;
};

// The full name a node asked for as `name` gets: scope applied, made unique. A name that ends with '/' is taken as it
// is.
CAUDAL_API std::string scoped_unique_name(Graph& graph, std::string_view name);

}  // namespace caudal::inline v0
