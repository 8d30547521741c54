// What kernels, shape functions and messages know of a node: everything but its edges.
#pragma once

#include <string>
#include <vector>

#include "caudal/core/attr.h"
#include "caudal/core/op_registry.h"

namespace caudal::inline v0 {

struct NodeInfo {
  std::string name;
  const Op* op = nullptr;
  AttrMap attrs;        // complete: defaults filled in
  std::string device;   // as the user asked, may be partial or empty
  std::string made_at;  // "train.cc:14", empty for nodes from files
  std::vector<DType> input_types, output_types;
  std::vector<bool> input_refs, output_refs;

  int num_inputs() const { return static_cast<int>(input_types.size()); }
  int num_outputs() const { return static_cast<int>(output_types.size()); }
  const std::string& type() const;  // op name
  template <class T>
  const T& attr(std::string_view name) const {
    return attr_as<T>(attrs, name);
  }
};

}  // namespace caudal::inline v0
