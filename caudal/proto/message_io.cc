#include "caudal/proto/message_io.h"

#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <cctype>
#include <cstdint>

#include "caudal/base/error.h"

namespace caudal::inline v0 {
namespace {

constexpr int kMaxDepth = 100;

class FirstError final : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, int column, const std::string& message) override {
    if (text_.empty()) text_ = internal::concat("line ", line + 1, ", column ", column + 1, ": ", message);
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

bool parse_binary(std::string_view bytes, google::protobuf::Message& message) {
  return bytes.size() <= INT32_MAX && message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

bool parse_text(std::string_view bytes, google::protobuf::Message& message, FirstError& errors) {
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&errors);
  parser.SetRecursionLimit(kMaxDepth);
  return parser.ParseFromString(std::string(bytes), &message);
}

// Other messages read as a GraphDef have nodes without a name or with bytes in the place of an op's name.
bool is_graph(const pb::GraphDef& def) {
  return std::ranges::all_of(def.node(), [](const pb::NodeDef& node) {
    return !node.name().empty() && !node.op().empty() &&
           std::ranges::all_of(node.op(), [](unsigned char c) { return std::isgraph(c) != 0; });
  });
}

}  // namespace

bool looks_like_text(std::string_view bytes) {
  const auto head = bytes.substr(0, 256);
  return !head.empty() && std::ranges::all_of(head, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 32 || byte == '\n' || byte == '\t' || byte == '\r';
  });
}

void parse_message(std::string_view bytes, std::string_view what, google::protobuf::Message& message) {
  if (looks_like_text(bytes)) {
    FirstError errors;
    if (!parse_text(bytes, message, errors)) throw data_loss("this is no ", what, " in text form: ", errors.text());
  } else if (!parse_binary(bytes, message)) {
    throw data_loss("these ", bytes.size(), " bytes are no ", what);
  }
}

std::string message_text(const google::protobuf::Message& message) {
  std::string text;
  google::protobuf::TextFormat::PrintToString(message, &text);
  return text;
}

GraphFile parse_graph_file(std::string_view bytes) {
  GraphFile file;
  if (looks_like_text(bytes)) {
    FirstError graph_errors, meta_errors;
    if (parse_text(bytes, *file.meta.mutable_graph_def(), graph_errors)) return file;
    file.meta.Clear();
    file.is_meta_graph = true;
    if (parse_text(bytes, file.meta, meta_errors)) return file;
    throw data_loss("this text is no graph: as a GraphDef, ", graph_errors.text(), "; as a MetaGraphDef, ",
                    meta_errors.text());
  }
  if (!bytes.empty() && parse_binary(bytes, *file.meta.mutable_graph_def()) && is_graph(file.meta.graph_def()) &&
      (file.meta.graph_def().node_size() > 0 || file.meta.graph_def().has_library())) {
    return file;
  }
  file.meta.Clear();
  file.is_meta_graph = true;
  if (!bytes.empty() && parse_binary(bytes, file.meta) && file.meta.has_graph_def() && is_graph(file.meta.graph_def()))
    return file;
  throw data_loss("these ", bytes.size(), " bytes are neither a GraphDef nor a MetaGraphDef");
}

}  // namespace caudal::inline v0
