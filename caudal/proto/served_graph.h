// The graph of a session that a client builds over a wire: immutable, extended by making another one.
//
// A client sends its whole graph and later what it added. Steps in progress keep the graph they began with; nobody
// reads a graph that somebody changes. Nodes of ops that are not registered, and all that depends on them, are left out
// and reported when a step needs one: a graph trains although its exotic corner has no op here.
//
// Ownership: shared by whoever runs steps. Thread safety: immutable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "caudal/base/error.h"
#include "caudal/base/export.h"
#include "caudal/graph/graph.h"

namespace caudal::inline v0 {

// What a graph from outside may ask for. Nodes count those of functions too; depth is that of functions that call
// others (recursion counts once); constants count as they are in memory, where one value may stand for many.
struct GraphLimits {
  std::int64_t max_nodes = 500'000;
  int max_depth = 100;
  std::size_t max_constant_bytes = std::size_t{2} << 30;
};

class CAUDAL_API ServedGraph {
 public:
  // `bytes`: a serialized GraphDef; empty for no nodes. Throws INVALID_ARGUMENT for bytes that are none or do not fit
  // together, and what import_graph() throws otherwise; RESOURCE_EXHAUSTED beyond the limits.
  static std::shared_ptr<const ServedGraph> make(std::string_view bytes, const GraphLimits& limits);
  // This graph and the nodes and functions of `bytes`, whose names must be new.
  std::shared_ptr<const ServedGraph> extended(std::string_view bytes, const GraphLimits& limits) const;
  // A copy in which each of `feeds` is received from the step's rendezvous and each of `fetches` is sent to it. A
  // tensor travels between `device` and itself under its own name.
  struct Waiting {
    std::shared_ptr<const ServedGraph> graph;
    std::vector<std::string> senders;  // by position: the _Send node of each fetch
  };
  Waiting with_rendezvous(const std::vector<Output>& feeds, const std::vector<Output>& fetches,
                          std::string_view device) const;
  // A copy in which whoever reads tensor `to` reads `from` instead, for all pairs (from, to). REQUIRES: the tensors
  // exist.
  std::shared_ptr<const ServedGraph> with_connections(const std::vector<std::pair<Output, Output>>& pairs) const;
  ~ServedGraph();

  // For sessions, which add nothing to it.
  Graph& graph() const { return graph_; }
  // Bytes of all constants in memory.
  std::size_t constant_bytes() const { return constant_bytes_; }
  // Why `node` was left out: UNIMPLEMENTED naming the op. Nothing if it was not.
  std::optional<Error> left_out(std::string_view node) const;

  // Some of its nodes, as a serialized GraphDef with `device` in every node.
  std::string bytes_of(const std::vector<Node*>& nodes, std::string_view device) const;

 private:
  struct Definition;
  ServedGraph();
  void import();

  std::unique_ptr<Definition> definition_;
  mutable Graph graph_;
  std::size_t constant_bytes_ = 0;
};

}  // namespace caudal::inline v0
