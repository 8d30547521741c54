// What TensorFlow 2.21 says of an op (testdata/interop), and checks of the registered op against it.
#pragma once

#include <map>
#include <set>
#include <string>

#include "caudal/core/op_registry.h"
#include "tests/harness/op_harness.h"

namespace caudal::inline v0::harness {

class OpFacts {
 public:
  // Reads op_defs.json, op_kernels.tsv and op_gradients.tsv. Throws NOT_FOUND if one is not in `folder`.
  explicit OpFacts(const std::string& folder);

  // Null for an op that TensorFlow has not.
  const OpDef* definition(const std::string& op) const;
  // By type attribute: the types of TensorFlow's CPU kernels; an attribute that any type fits is not there.
  std::map<std::string, std::set<DType>> kernel_types(const std::string& op) const;
  // "yes"; "returns_none" (a gradient function that gives none to every input); "none_by_design"; "no"; "" if unknown.
  std::string gradient(const std::string& op) const;

  // Adds the findings of checks "definition", "types" and "gradient" (kind) to what check_op() reported.
  void check(const Samples& samples, OpReport& report) const;

 private:
  std::map<std::string, OpDef> definitions_;
  std::map<std::string, std::string> kernels_, gradients_;
};

// Empty if both say the same; else what differs first. Allowed types count as sets; order of arguments and attributes
// matters.
std::string definition_difference(const OpDef& tensorflow, const OpDef& ours);

}  // namespace caudal::inline v0::harness
