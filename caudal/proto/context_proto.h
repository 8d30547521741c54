// Contexts of conditions and loops <-> CondContextDef and WhileContextDef, as the collections "cond_context" and
// "while_context" of a meta graph hold them: with them TensorFlow can take gradients through an exported graph, and
// this library through an imported one. Internal: what users call is meta_graph.h.
#pragma once

#include <string>

#include "caudal/graph/graph.h"

namespace caudal::inline v0 {

// The message of a member of one of both collections.
std::string context_def(const CollectionItem& item);
// The contexts of a message whose names are those of `graph`, as a member of the collection `key`. Throws
// INVALID_ARGUMENT for a damaged message, or one that names what the graph has not.
CollectionItem context_from(std::string_view key, const std::string& bytes, Graph& graph);

}  // namespace caudal::inline v0
