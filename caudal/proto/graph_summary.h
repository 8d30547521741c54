// What is in a graph file, for people and tools: inputs, outputs, variables, ops and what of them is not there,
// functions, collections, saver, signatures. Reads GraphDef and MetaGraphDef in both forms, also graphs with unknown
// ops, which cannot be imported.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/proto/meta_graph.h"
#include "caudal/tensor/shape.h"

namespace caudal::inline v0 {

struct GraphSummary {
  struct TensorFacts {
    std::string name, op;
    DType dtype = DType::kInvalid;
    PartialShape shape;  // unknown too where the graph cannot be imported
  };
  struct VariableFacts {
    std::string name;
    DType dtype = DType::kInvalid;
    PartialShape shape;
    bool is_resource = false;
    std::optional<bool> trainable;  // where the file says
  };
  struct NodeFacts {
    std::string name, op, device;
    std::vector<std::string> inputs;   // as the file has them
    std::vector<std::string> outputs;  // "float32[?,10]"; empty where the graph cannot be imported
  };
  struct CollectionFacts {
    std::string key, kind;             // "variables", "nodes", "messages", "bytes", "int64", "float", "any"
    std::vector<std::string> members;  // names or values; bytes by their number
  };
  struct SignatureFacts {
    std::string name, method;
    std::vector<TensorFacts> inputs, outputs;  // op: the key in the signature
  };

  bool is_meta_graph = false;
  std::string tensorflow_version;
  std::vector<std::string> tags;
  int producer = 0, min_consumer = 0;
  std::vector<NodeFacts> nodes;
  std::vector<std::pair<std::string, int>> ops;      // how often, most frequent first
  std::vector<std::pair<std::string, int>> missing;  // those that are not registered here
  std::vector<TensorFacts> inputs;                   // placeholders
  std::vector<TensorFacts> outputs;                  // results that nothing but gradients takes
  std::vector<std::string> targets;                  // operations without results that nothing waits for
  std::vector<VariableFacts> variables;
  std::vector<std::pair<std::string, int>> functions;  // with their numbers of nodes
  std::int64_t constant_bytes = 0;
  std::vector<CollectionFacts> collections;
  std::optional<SaverNodes> saver;
  std::vector<SignatureFacts> signatures;
  std::string problem;  // why the graph cannot be imported; empty if it can
};

// Throws DATA_LOSS if the bytes are no graph.
CAUDAL_API GraphSummary summarize_graph(std::string_view bytes);

}  // namespace caudal::inline v0
