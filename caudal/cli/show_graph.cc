#include <algorithm>

#include "caudal/base/env.h"
#include "caudal/base/error.h"
#include "caudal/base/strings.h"
#include "caudal/cli/json.h"
#include "caudal/cli/show.h"
#include "caudal/cli/text_table.h"
#include "caudal/proto/graph_summary.h"

namespace caudal::inline v0::cli {
namespace {

// Elements of a variable; 0 if its shape is not known.
std::int64_t elements(const GraphSummary::VariableFacts& variable) {
  if (!variable.shape.is_fully_known()) return 0;
  return checked_num_elements(variable.shape.dims()).value_or(0);
}

std::string type_name(DType dtype) { return dtype == DType::kInvalid ? "?" : std::string(dtype_name(dtype)); }

std::int64_t bytes_of(const GraphSummary::VariableFacts& variable) {
  return variable.dtype == DType::kInvalid ? 0
                                           : elements(variable) * static_cast<std::int64_t>(dtype_size(variable.dtype));
}

// ---- Text

class Writer {
 public:
  Writer(const std::string& path, const GraphSummary& summary, const ShowOptions& options)
      : path_(path), summary_(summary), options_(options) {}

  std::string str() {
    header();
    if (!summary_.problem.empty()) text_ += "  Cannot be imported: " + summary_.problem + "\n";
    signatures();
    tensors("Inputs", summary_.inputs);
    tensors("Outputs (nothing in the graph takes them)", summary_.outputs);
    if (!summary_.targets.empty()) {
      section("Operations to run", "  " + word_line(summary_.targets, options_.limit) + "\n");
    }
    variables();
    counts("Ops", summary_.ops);
    counts("Not implemented here", summary_.missing);
    functions();
    collections();
    if (summary_.saver) {
      section("Saver", "  " + summary_.saver->filename_tensor + " -> " + summary_.saver->restore_op + ", " +
                           summary_.saver->save_tensor + "\n");
    }
    if (options_.nodes) nodes();
    return text_;
  }

 private:
  void section(const std::string& title, const std::string& body) {
    if (!body.empty()) text_ += "\n" + title + "\n" + body;
  }

  void header() {
    std::int64_t total = 0, size = 0;
    for (const auto& variable : summary_.variables) {
      total += elements(variable);
      size += bytes_of(variable);
    }
    text_ += path_ + "\n  " + (summary_.is_meta_graph ? "meta graph" : "graph");
    if (!summary_.tensorflow_version.empty()) text_ += " of TensorFlow " + summary_.tensorflow_version;
    if (!summary_.tags.empty()) text_ += " [" + join(summary_.tags, ", ") + "]";
    text_ += ": " + counted(static_cast<std::int64_t>(summary_.nodes.size()), "node") + " of " +
             counted(static_cast<std::int64_t>(summary_.ops.size()), "op");
    if (!summary_.variables.empty()) {
      text_ += ", " + counted(static_cast<std::int64_t>(summary_.variables.size()), "variable") + " with " +
               counted(total, "element") + " (" + byte_text(size) + ")";
    }
    if (summary_.constant_bytes >= 1024) text_ += ", constants of " + byte_text(summary_.constant_bytes);
    text_ += "\n";
  }

  void tensors(const std::string& title, const std::vector<GraphSummary::TensorFacts>& facts) {
    TextTable table(options_.limit);
    for (const auto& tensor : facts) {
      table.row({tensor.name, type_name(tensor.dtype) + tensor.shape.to_string(), tensor.op});
    }
    section(title, table.str());
  }

  void signatures() {
    for (const auto& signature : summary_.signatures) {
      TextTable table(options_.limit);
      for (const auto& [label, list] : {std::pair{"in", &signature.inputs}, std::pair{"out", &signature.outputs}}) {
        for (const auto& tensor : *list) {
          table.row({label, tensor.op, type_name(tensor.dtype) + tensor.shape.to_string(), tensor.name});
        }
      }
      section("Signature " + signature.name, table.str());
    }
  }

  void variables() {
    TextTable table(options_.limit);
    table.right(2);
    for (const auto& variable : summary_.variables) {
      std::string remarks = variable.is_resource ? "resource" : "";
      if (variable.trainable && *variable.trainable) remarks += remarks.empty() ? "trainable" : ", trainable";
      table.row({variable.name, type_name(variable.dtype) + variable.shape.to_string(),
                 grouped_digits(elements(variable)), remarks});
    }
    section("Variables", table.str());
  }

  void counts(const std::string& title, const std::vector<std::pair<std::string, int>>& ops) {
    std::vector<std::string> words;
    for (const auto& [op, count] : ops) words.push_back(op + " " + std::to_string(count));
    section(title, words.empty() ? "" : "  " + word_line(words, options_.limit) + "\n");
  }

  void functions() {
    TextTable table(options_.limit);
    for (const auto& [name, count] : summary_.functions) table.row({name, counted(count, "node")});
    section("Functions", table.str());
  }

  void collections() {
    TextTable table(options_.limit);
    table.right(1);
    for (const auto& collection : summary_.collections) {
      table.row({collection.key, std::to_string(collection.members.size()), collection.kind,
                 word_line(collection.members, 4)});
    }
    section("Collections", table.str());
  }

  void nodes() {
    TextTable table(options_.limit);
    for (const auto& node : summary_.nodes) {
      table.row({node.name, node.op, join(node.outputs, " "), join(node.inputs, " ")});
    }
    section("Nodes", table.str());
  }

  const std::string& path_;
  const GraphSummary& summary_;
  const ShowOptions& options_;
  std::string text_;
};

// ---- JSON

std::string shape_json(const PartialShape& shape) {
  if (!shape.has_rank()) return "null";
  std::vector<std::string> sizes;
  for (const std::int64_t size : shape.dims()) sizes.push_back(size < 0 ? "null" : std::to_string(size));
  return json_list(sizes);
}

std::string tensors_json(const std::vector<GraphSummary::TensorFacts>& facts) {
  std::vector<std::string> members;
  for (const auto& tensor : facts) {
    members.push_back(JsonObject()
                          .add("name", tensor.name)
                          .add("op", tensor.op)
                          .add("dtype", type_name(tensor.dtype))
                          .add_json("shape", shape_json(tensor.shape))
                          .str());
  }
  return json_list(members);
}

std::string variables_json(const GraphSummary& summary) {
  std::vector<std::string> members;
  for (const auto& variable : summary.variables) {
    JsonObject object;
    object.add("name", variable.name).add("dtype", type_name(variable.dtype));
    object.add_json("shape", shape_json(variable.shape)).add("resource", variable.is_resource);
    if (variable.trainable) object.add("trainable", *variable.trainable);
    members.push_back(object.str());
  }
  return json_list(members);
}

std::string counts_json(const std::vector<std::pair<std::string, int>>& counts) {
  JsonObject object;
  for (const auto& [name, count] : counts) object.add(name, std::int64_t{count});
  return object.str();
}

std::string nodes_json(const GraphSummary& summary) {
  std::vector<std::string> members;
  for (const auto& node : summary.nodes) {
    members.push_back(JsonObject()
                          .add("name", node.name)
                          .add("op", node.op)
                          .add("device", node.device)
                          .add_json("inputs", json_strings(node.inputs))
                          .add_json("outputs", json_strings(node.outputs))
                          .str());
  }
  return json_list(members);
}

std::string collections_json(const GraphSummary& summary) {
  JsonObject object;
  for (const auto& collection : summary.collections) {
    object.add_json(
        collection.key,
        JsonObject().add("kind", collection.kind).add_json("members", json_strings(collection.members)).str());
  }
  return object.str();
}

std::string signatures_json(const GraphSummary& summary) {
  JsonObject object;
  for (const auto& signature : summary.signatures) {
    object.add_json(signature.name, JsonObject()
                                        .add("method", signature.method)
                                        .add_json("inputs", tensors_json(signature.inputs))
                                        .add_json("outputs", tensors_json(signature.outputs))
                                        .str());
  }
  return object.str();
}

std::string graph_json(const std::string& path, const GraphSummary& summary, const ShowOptions& options) {
  JsonObject object;
  object.add("path", path).add("kind", summary.is_meta_graph ? "meta_graph" : "graph");
  object.add("tensorflow_version", summary.tensorflow_version).add_json("tags", json_strings(summary.tags));
  object.add("producer", std::int64_t{summary.producer}).add("problem", summary.problem);
  object.add("nodes", static_cast<std::int64_t>(summary.nodes.size())).add_json("ops", counts_json(summary.ops));
  object.add_json("missing", counts_json(summary.missing)).add_json("inputs", tensors_json(summary.inputs));
  object.add_json("outputs", tensors_json(summary.outputs)).add_json("targets", json_strings(summary.targets));
  object.add_json("variables", variables_json(summary)).add_json("functions", counts_json(summary.functions));
  object.add("constant_bytes", summary.constant_bytes).add_json("collections", collections_json(summary));
  object.add_json("signatures", signatures_json(summary));
  if (summary.saver) {
    object.add_json("saver", JsonObject()
                                 .add("filename_tensor", summary.saver->filename_tensor)
                                 .add("save_tensor", summary.saver->save_tensor)
                                 .add("restore_op", summary.saver->restore_op)
                                 .str());
  }
  if (options.nodes) object.add_json("node_list", nodes_json(summary));
  return object.str() + "\n";
}

}  // namespace

std::string show_graph(const std::string& path, const ShowOptions& options) {
  const std::string bytes = read_file(default_env(), path);
  GraphSummary summary;
  try {
    summary = summarize_graph(bytes);
  } catch (const Error& error) {
    throw error.in(path);
  }
  return options.json ? graph_json(path, summary, options) : Writer(path, summary, options).str();
}

}  // namespace caudal::inline v0::cli
