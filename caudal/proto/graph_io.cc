#include "caudal/proto/graph_io.h"

#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>

#include <algorithm>

#include "caudal/base/env.h"
#include "caudal/base/error.h"
#include "caudal/proto/graph_def.h"

namespace caudal::inline v0 {
namespace {

// Text has no control characters but white space; a serialized GraphDef has: the tag of a node's op (0x12) is one.
bool looks_like_text(std::string_view bytes) {
  const auto head = bytes.substr(0, 256);
  return !head.empty() && std::ranges::all_of(head, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 32 || byte == '\n' || byte == '\t' || byte == '\r';
  });
}

class FirstError final : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, int column, const std::string& message) override {
    if (text_.empty()) text_ = internal::concat("line ", line + 1, ", column ", column + 1, ": ", message);
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

pb::GraphDef parse_text(std::string_view bytes) {
  pb::GraphDef def;
  FirstError errors;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&errors);
  parser.SetRecursionLimit(100);
  if (!parser.ParseFromString(std::string(bytes), &def)) {
    throw data_loss("this is no GraphDef in text form: ", errors.text());
  }
  return def;
}

pb::GraphDef parse(std::string_view bytes) {
  if (looks_like_text(bytes)) return parse_text(bytes);
  pb::GraphDef def;
  if (!def.ParseFromArray(bytes.data(), static_cast<int>(std::min<std::size_t>(bytes.size(), INT32_MAX)))) {
    throw data_loss("these ", bytes.size(), " bytes are no GraphDef");
  }
  return def;
}

}  // namespace

void import_graph(std::string_view bytes, Graph& graph, const ImportGraphOptions& options) {
  import_graph_def(parse(bytes), {options.prefix, options.input_map}, graph);
}

void import_graph_file(const std::string& path, Graph& graph, const ImportGraphOptions& options) {
  try {
    import_graph(read_file(default_env(), path), graph, options);
  } catch (const Error& error) {
    if (error.detail().find(path) != std::string::npos) throw;
    throw error.in(path);
  }
}

std::string graph_to_bytes(const Graph& graph) { return deterministic_bytes(export_graph_def(graph)); }

std::string graph_to_text(const Graph& graph) {
  std::string text;
  google::protobuf::TextFormat::PrintToString(export_graph_def(graph), &text);
  return text;
}

void write_graph(const std::string& path, const Graph& graph) {
  write_file_atomically(default_env(), path, path.ends_with("txt") ? graph_to_text(graph) : graph_to_bytes(graph));
}

}  // namespace caudal::inline v0
