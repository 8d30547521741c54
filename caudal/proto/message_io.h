// Messages from files, in binary or text form. Internal: needs protobuf's headers.
#pragma once

#include <google/protobuf/message.h>

#include <string>
#include <string_view>

#include "caudal/proto/meta_graph.pb.h"

namespace caudal::inline v0 {

// Text has no control characters but white space; a serialized message of ours has some in its first bytes.
bool looks_like_text(std::string_view bytes);

// Reads one of both forms. Throws DATA_LOSS, naming `what` ("GraphDef") and for text the place.
void parse_message(std::string_view bytes, std::string_view what, google::protobuf::Message& message);

// The text form.
std::string message_text(const google::protobuf::Message& message);

// A file with a graph: a MetaGraphDef, or a GraphDef on its own, which is then all that `meta` holds.
struct GraphFile {
  pb::MetaGraphDef meta;
  bool is_meta_graph = false;
};
// Finds out which of both it is. Throws DATA_LOSS if it is neither.
GraphFile parse_graph_file(std::string_view bytes);

}  // namespace caudal::inline v0
