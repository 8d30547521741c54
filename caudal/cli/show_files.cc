// Checkpoints and event files.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

#include "caudal/base/env.h"
#include "caudal/base/error.h"
#include "caudal/cli/json.h"
#include "caudal/cli/show.h"
#include "caudal/cli/text_table.h"
#include "caudal/formats/bundle_reader.h"
#include "caudal/formats/events.h"
#include "caudal/formats/object_graph.h"
#include "caudal/proto/master_messages.h"
#include "caudal/train/object_checkpoint.h"

namespace caudal::inline v0::cli {
namespace {

std::int64_t bytes_of(const BundleEntry& entry) {
  return entry.shape.num_elements() * static_cast<std::int64_t>(dtype_size(entry.dtype));
}

std::string part_text(const BundleEntry& entry) {
  return entry.slices.size() < 2 ? "" : counted(static_cast<std::int64_t>(entry.slices.size()), "part");
}

std::string size_line(std::int64_t tensors, std::int64_t elements, std::int64_t bytes) {
  return counted(tensors, "tensor") + " with " + counted(elements, "element") + " (" + byte_text(bytes) + ")";
}

std::string file_kind(const std::string& prefix) {
  return default_env().exists(prefix + ".index") ? "" : " of TensorFlow's old format (V1)";
}

// Variables of objects by path; slots of optimisers last.
std::string show_objects(const std::string& prefix, const ShowOptions& options) {
  std::vector<train::ObjectVariable> variables = train::list_object_variables(prefix);
  std::ranges::stable_sort(variables, {}, &train::ObjectVariable::is_slot);
  TextTable table(options.limit);
  table.right(2);
  table.right(3);
  std::int64_t elements = 0, bytes = 0, slots = 0;
  for (const train::ObjectVariable& variable : variables) {
    const std::int64_t count = variable.shape.num_elements();
    const std::int64_t size = count * static_cast<std::int64_t>(dtype_size(variable.dtype));
    elements += count;
    bytes += size;
    slots += variable.is_slot ? 1 : 0;
    table.row({variable.path, std::string(dtype_name(variable.dtype)) + variable.shape.to_string(),
               grouped_digits(count), byte_text(size), variable.full_name});
  }
  return prefix + "\n  checkpoint of objects (tf.train.Checkpoint): " +
         size_line(static_cast<std::int64_t>(variables.size()), elements, bytes) +
         (slots > 0 ? ", " + grouped_digits(slots) + " of them slots" : "") + "\n\n" + table.str();
}

// What the object graph says about each key.
std::map<std::string, train::ObjectVariable> objects_by_key(const BundleReader& reader) {
  std::map<std::string, train::ObjectVariable> by_key;
  if (!reader.contains(kObjectGraphKey)) return by_key;
  for (train::ObjectVariable& variable : train::list_object_variables(reader.prefix())) {
    by_key.emplace(variable.key, std::move(variable));
  }
  return by_key;
}

std::string checkpoint_json(const BundleReader& reader) {
  const std::map<std::string, train::ObjectVariable> objects = objects_by_key(reader);
  std::vector<std::string> members;
  for (const std::string& name : reader.names()) {
    const BundleEntry& entry = reader.entry(name);
    std::vector<std::string> sizes;
    for (const std::int64_t size : entry.shape.dims()) sizes.push_back(std::to_string(size));
    JsonObject object;
    object.add("name", name).add("dtype", dtype_name(entry.dtype)).add_json("shape", json_list(sizes));
    object.add("parts", static_cast<std::int64_t>(entry.slices.size()));
    if (const auto found = objects.find(name); found != objects.end()) {
      object.add("path", found->second.path).add("full_name", found->second.full_name);
      object.add("slot", found->second.is_slot);
    }
    members.push_back(object.str());
  }
  return JsonObject()
             .add("path", reader.prefix())
             .add("kind", "checkpoint")
             .add_json("tensors", json_list(members))
             .str() +
         "\n";
}

const char* kind_name(SummaryValue::Kind kind) {
  switch (kind) {
    case SummaryValue::Kind::kScalar:
      return "scalar";
    case SummaryValue::Kind::kHistogram:
      return "histogram";
    case SummaryValue::Kind::kImage:
      return "image";
    case SummaryValue::Kind::kAudio:
      return "audio";
    case SummaryValue::Kind::kTensor:
      return "tensor";
    case SummaryValue::Kind::kNone:
      break;
  }
  return "other";
}

// Newer writers put scalars into tensors.
double scalar_of(const SummaryValue& value) {
  if (value.kind == SummaryValue::Kind::kScalar) return value.scalar;
  Tensor tensor;
  try {
    tensor = decode_tensor(value.message, host_allocator());
  } catch (const Error& error) {
    throw data_loss("the tensor of '", value.tag, "' is damaged: ", error.detail());
  }
  return tensor.num_elements() == 1 && is_floating(tensor.dtype()) ? tensor.to_double() : NAN;
}

// What is known of one tag of an event file.
struct Tag {
  std::string kind;
  std::int64_t count = 0, first_step = 0, last_step = 0;
  bool is_scalar = false;
  double last = 0, least = INFINITY, most = -INFINITY;  // of scalars

  void add(const SummaryValue& value, std::int64_t step) {
    if (count++ == 0) {
      first_step = step;
      kind = value.plugin.empty() ? kind_name(value.kind) : value.plugin;
      is_scalar = value.kind == SummaryValue::Kind::kScalar || value.plugin == "scalars";
    }
    last_step = step;
    if (!is_scalar) return;
    last = scalar_of(value);
    least = std::fmin(least, last);
    most = std::fmax(most, last);
  }
};

struct EventFacts {
  std::map<std::string, Tag> tags;
  std::int64_t events = 0, graphs = 0, traces = 0, last_step = 0;
  std::string damage;  // why reading ended early
};

EventFacts read_events(const std::string& path) {
  EventFacts facts;
  EventReader reader(default_env(), path);
  Event event;
  try {
    while (reader.next(&event)) {
      ++facts.events;
      facts.last_step = std::max<std::int64_t>(facts.last_step, event.step);
      if (event.what == Event::What::kGraphDef || event.what == Event::What::kMetaGraphDef) ++facts.graphs;
      if (event.what == Event::What::kRunMetadata) ++facts.traces;
      if (event.what != Event::What::kSummary) continue;
      for (const SummaryValue& value : event.summary()) facts.tags[value.tag].add(value, event.step);
    }
  } catch (const Error& error) {
    if (error.code() != Code::kDataLoss || facts.events == 0) throw;
    facts.damage = error.what();
  }
  return facts;
}

std::string number_text(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

std::string events_json(const std::string& path, const EventFacts& facts) {
  std::vector<std::string> members;
  for (const auto& [name, tag] : facts.tags) {
    JsonObject object;
    object.add("tag", name).add("kind", tag.kind).add("count", tag.count);
    object.add("first_step", tag.first_step).add("last_step", tag.last_step);
    if (tag.is_scalar) object.add("last", tag.last).add("min", tag.least).add("max", tag.most);
    members.push_back(object.str());
  }
  return JsonObject()
             .add("path", path)
             .add("kind", "events")
             .add("events", facts.events)
             .add("graphs", facts.graphs)
             .add("traces", facts.traces)
             .add("last_step", facts.last_step)
             .add("damage", facts.damage)
             .add_json("tags", json_list(members))
             .str() +
         "\n";
}

}  // namespace

std::string show_checkpoint(const std::string& prefix, const ShowOptions& options) {
  const BundleReader reader(default_env(), prefix);
  if (options.json) return checkpoint_json(reader);
  if (reader.contains(kObjectGraphKey)) return show_objects(prefix, options);
  TextTable table(options.limit);
  table.right(2);
  table.right(3);
  std::int64_t elements = 0, bytes = 0;
  for (const std::string& name : reader.names()) {
    const BundleEntry& entry = reader.entry(name);
    elements += entry.shape.num_elements();
    bytes += bytes_of(entry);
    table.row({name, std::string(dtype_name(entry.dtype)) + entry.shape.to_string(),
               grouped_digits(entry.shape.num_elements()), byte_text(bytes_of(entry)), part_text(entry)});
  }
  return prefix + "\n  checkpoint" + file_kind(prefix) + ": " +
         size_line(static_cast<std::int64_t>(reader.names().size()), elements, bytes) + "\n\n" + table.str();
}

std::string show_events(const std::string& path, const ShowOptions& options) {
  const EventFacts facts = read_events(path);
  if (options.json) return events_json(path, facts);
  TextTable table(options.limit);
  table.right(2);
  for (const auto& [name, tag] : facts.tags) {
    std::string values;
    if (tag.is_scalar) {
      values = "last " + number_text(tag.last) + ", from " + number_text(tag.least) + " to " + number_text(tag.most);
    }
    table.row({name, tag.kind, std::to_string(tag.count),
               "steps " + std::to_string(tag.first_step) + " to " + std::to_string(tag.last_step), values});
  }
  std::string text = path + "\n  " + counted(facts.events, "event") + " up to step " + grouped_digits(facts.last_step);
  if (facts.graphs > 0) text += ", with a graph";
  if (facts.traces > 0) text += ", with " + counted(facts.traces, "traced step");
  text += "\n";
  if (!facts.damage.empty()) text += "  Reading ended early: " + facts.damage + "\n";
  return text + (table.empty() ? "" : "\n" + table.str());
}

}  // namespace caudal::inline v0::cli
