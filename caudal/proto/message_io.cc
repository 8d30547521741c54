#include "caudal/proto/message_io.h"

#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/stubs/logging.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <cctype>
#include <cstdint>

#include "caudal/base/error.h"
#include "caudal/formats/wire.h"

namespace caudal::inline v0 {
namespace {

constexpr int kMaxDepth = 100;

// Fields of TensorFlow's messages that nothing here needs: derived types, stack traces, objects of SavedModels.
constexpr std::string_view kPassedOver[] = {
    "experimental_full_type", "experimental_type", "handle_data",      "debug_info", "object_graph_def",
    "function_aliases",       "defaults",          "composite_tensor", "float8_val", "registered_gradients"};

class FirstError final : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, int column, const std::string& message) override {
    if (text_.empty()) text_ = internal::concat("line ", line + 1, ", column ", column + 1, ": ", message);
  }
  // An unknown field.
  void AddWarning(int line, int column, const std::string& message) override {
    const bool known = std::ranges::any_of(
        kPassedOver, [&](auto field) { return message.find(internal::concat('"', field, '"')) != std::string::npos; });
    if (!known) AddError(line, column, message);
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

bool parse_binary(std::string_view bytes, google::protobuf::Message& message) {
  const google::protobuf::LogSilencer silence;  // what is wrong is thrown, not printed
  return bytes.size() <= INT32_MAX && message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

bool parse_text(std::string_view bytes, google::protobuf::Message& message, FirstError& errors) {
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&errors);
  parser.SetRecursionLimit(kMaxDepth);
  parser.AllowUnknownField(true);
  return parser.ParseFromString(std::string(bytes), &message) && errors.text().empty();
}

// The payload of the first field `number`; empty if there is none.
std::string_view first_field(std::string_view bytes, int number) {
  WireReader reader(bytes, "graph");
  while (reader.next()) {
    if (reader.field() == number && reader.type() == WireType::kBytes) return reader.bytes();
  }
  return {};
}

// Whether the bytes have a name and an op where a NodeDef has them. Other messages have other messages there.
bool looks_like_node(std::string_view bytes) {
  const std::string_view op = first_field(bytes, 2);
  return !first_field(bytes, 1).empty() && !op.empty() &&
         std::ranges::all_of(op, [](unsigned char c) { return std::isgraph(c) != 0; });
}

// Nodes are field 1 of a GraphDef, which is field 2 of a MetaGraphDef.
bool looks_like_meta_graph(std::string_view bytes) {
  try {
    if (looks_like_node(first_field(bytes, 1))) return false;
    const std::string_view second = first_field(bytes, 2);
    return looks_like_node(first_field(second, 1)) || !first_field(bytes, 3).empty();
  } catch (const Error&) {
    return false;
  }
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
  file.is_meta_graph = looks_like_meta_graph(bytes);
  google::protobuf::Message& message =
      file.is_meta_graph ? static_cast<google::protobuf::Message&>(file.meta) : *file.meta.mutable_graph_def();
  if (bytes.empty() || !parse_binary(bytes, message)) {
    throw data_loss("these ", bytes.size(), " bytes are neither a GraphDef nor a MetaGraphDef");
  }
  return file;
}

}  // namespace caudal::inline v0
