// The graph of objects in TensorFlow 2's checkpoints: which variable of which object lies under which key.
//
// tf.train.Checkpoint names tensors by the attributes that lead to them from the root, and puts a TrackableObjectGraph
// message (tensorflow/core/protobuf/trackable_object_graph.proto, encoded by hand here) beside them under
// kObjectGraphKey. Objects may be reached in several ways; an optimiser's slots belong to a variable and the optimiser.
//
// Thread safety: values.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "caudal/base/export.h"

namespace caudal::inline v0 {

inline constexpr std::string_view kObjectGraphKey = "_CHECKPOINTABLE_OBJECT_GRAPH";
inline constexpr std::string_view kValueSuffix = "/.ATTRIBUTES/VARIABLE_VALUE";
inline constexpr std::string_view kSlotInfix = "/.OPTIMIZER_SLOT/";

struct CAUDAL_API ObjectGraph {
  struct Child {
    int object = 0;
    std::string name;  // of the attribute; list items are "0", "1", ...
  };
  struct Attribute {
    std::string name;       // "VARIABLE_VALUE"
    std::string full_name;  // of the variable in a graph: "dense/kernel"
    std::string key;        // in the checkpoint
  };
  struct Slot {
    int variable = 0;  // the one that it belongs to
    std::string name;  // "m"
    int slot = 0;      // the object that holds it
  };
  struct Object {
    std::vector<Child> children;
    std::vector<Attribute> attributes;
    std::vector<Slot> slots;  // of an optimiser
  };
  std::vector<Object> objects;  // the first one is the root

  std::string encode() const;
  // DATA_LOSS if malformed or if it names an object that is not there.
  static ObjectGraph decode(std::string_view bytes);

  // The graph of the variables under `full_names`, by path; slots are "w/.OPTIMIZER_SLOT/optimizer/m". INVALID_ARGUMENT
  // for an empty path or part of one, and for a slot of a variable that is not among them.
  static ObjectGraph of(const std::map<std::string, std::string>& full_names);

  // For each object the shortest way to it, "net/layers/0/kernel"; slots as above; empty for the root and for what
  // nothing leads to. A "/" in a name is written ".S", a "." as "..".
  std::vector<std::string> paths() const;
  // The object at the end of a path (any, not only the shortest), -1 if there is none.
  int find(std::string_view path) const;
};

}  // namespace caudal::inline v0
