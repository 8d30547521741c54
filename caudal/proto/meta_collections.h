// Collections <-> CollectionDef. Internal: what users call is meta_graph.h.
#pragma once

#include <string>
#include <string_view>
#include <unordered_set>

#include "caudal/graph/graph.h"
#include "caudal/proto/meta_graph.pb.h"

namespace caudal::inline v0 {

// All collections of `graph`; only `wanted` unless that is empty.
void export_collections(const Graph& graph, const std::vector<std::string>& wanted, pb::MetaGraphDef& meta);

// Throws INVALID_ARGUMENT if a collection of `meta` is malformed or names a node that `meta` has not.
void check_collections(const pb::MetaGraphDef& meta);

// Adds them to a graph that has the nodes of `meta` below `scope` (empty: as they are called there).
void import_collections(const pb::MetaGraphDef& meta, const std::string& scope, Graph& graph);

// "a/b:0", "^a/b", "loc:@a/b" below a scope.
std::string in_scope(std::string_view name, const std::string& scope);

}  // namespace caudal::inline v0
