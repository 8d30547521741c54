// A list of tensors of one type, as an argument: outputs, numbers and tensors may be mixed.
//
//   stack({rows, 10})   concat({a, b}, 1)   concat(parts, 0)     // parts: std::vector<Output>
//
// A value; thread-compatible.
#pragma once

#include <initializer_list>
#include <vector>

#include "caudal/graph/builder.h"

namespace caudal::inline v0 {

class CAUDAL_API OperandList {
 public:
  OperandList(std::initializer_list<Operand> items) : items_(items) {}   // NOLINT: reads as a list
  OperandList(std::vector<Operand> items) : items_(std::move(items)) {}  // NOLINT
  OperandList(const std::vector<Output>& outputs, Operand::Where where = Operand::Where::current()) {  // NOLINT
    for (const Output& output : outputs) items_.emplace_back(output, where);
  }

  std::size_t size() const { return items_.size(); }
  const Operand& operator[](std::size_t i) const { return items_[i]; }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }

  // All as outputs; bare numbers take the type of the first item that has one.
  std::vector<Output> to_outputs() const;

 private:
  std::vector<Operand> items_;
};

}  // namespace caudal::inline v0
