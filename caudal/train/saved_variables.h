// What a saver saves and restores, and whether a checkpoint has it. Internal.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "caudal/formats/bundle_reader.h"
#include "caudal/graph/graph.h"
#include "caudal/ops/variable.h"

namespace caudal::inline v0::train {

struct SavedVariable {
  std::string key;       // in checkpoints
  std::string slice;     // "10 4 0,5:-" for a part, empty for a whole
  std::string variable;  // name of the node
  DType dtype = DType::kInvalid;
  PartialShape shape;
};

SavedVariable saved_variable(const std::string& key, const Variable& variable);

// What the node `restore` of an imported saver restores: what RestoreV2 nodes before it feed to assignments. Nodes of
// another form are passed over.
std::vector<SavedVariable> variables_restored_by(const Node& restore);

// Throws INVALID_ARGUMENT unless the checkpoint has them all in the right types and shapes, telling what each side has.
void check_fits(const BundleReader& reader, const std::vector<SavedVariable>& variables);

}  // namespace caudal::inline v0::train
