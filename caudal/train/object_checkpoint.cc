#include "caudal/train/object_checkpoint.h"

#include <algorithm>

#include "caudal/base/error.h"
#include "caudal/base/strings.h"
#include "caudal/formats/bundle_reader.h"
#include "caudal/formats/bundle_writer.h"
#include "caudal/formats/object_graph.h"
#include "caudal/graph/builder.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/train/saved_variables.h"
#include "caudal/train/saver.h"

namespace caudal::inline v0::train {
namespace {

constexpr char kCounterPath[] = "save_counter";
constexpr std::string_view kValueName = "VARIABLE_VALUE";

ObjectGraph read_objects(const BundleReader& reader) {
  if (!reader.contains(kObjectGraphKey)) {
    throw invalid_argument("checkpoint '", reader.prefix(),
                           "' was not written by tf.train.Checkpoint: it has no objects")
        .hint("Variables go by their names there: use train::Saver.");
  }
  const Tensor bytes = reader.read(kObjectGraphKey, string);
  if (bytes.num_elements() != 1) throw data_loss(reader.prefix(), ": the object graph is ", bytes.describe());
  try {
    return ObjectGraph::decode(bytes.item<std::string>());
  } catch (const Error& error) {
    throw error.in(reader.prefix());
  }
}

std::vector<ObjectVariable> variables_of(const BundleReader& reader, const ObjectGraph& graph) {
  const std::vector<std::string> paths = graph.paths();
  std::vector<ObjectVariable> found;
  for (std::size_t i = 0; i < graph.objects.size(); ++i) {
    for (const auto& attribute : graph.objects[i].attributes) {
      if (!reader.contains(attribute.key)) {
        throw data_loss(reader.prefix(), ": there is no '", attribute.key, "', which the object graph names");
      }
      const BundleEntry& entry = reader.entry(attribute.key);
      const bool is_value = attribute.name == kValueName;
      found.push_back({.path = is_value ? paths[i] : internal::concat(paths[i], "/.ATTRIBUTES/", attribute.name),
                       .key = attribute.key,
                       .full_name = attribute.full_name,
                       .is_slot = paths[i].find(kSlotInfix) != std::string::npos,
                       .dtype = entry.dtype,
                       .shape = entry.shape});
    }
  }
  std::ranges::sort(found, {}, &ObjectVariable::path);
  return found;
}

// The key of the value at the end of a path, or of the only variable with that full name or key; empty if there is
// none.
std::string key_of(const ObjectGraph& graph, const std::vector<ObjectVariable>& variables, const std::string& path) {
  if (const int object = graph.find(path); object >= 0) {
    for (const auto& attribute : graph.objects[object].attributes) {
      if (attribute.name == kValueName) return attribute.key;
    }
  }
  const auto named = [&](const ObjectVariable& v) { return v.path == path || v.key == path || v.full_name == path; };
  const auto found = std::ranges::find_if(variables, named);
  return std::ranges::count_if(variables, named) == 1 ? found->key : std::string();
}

}  // namespace

bool is_object_checkpoint(const std::string& prefix) {
  return BundleReader(default_env(), prefix).contains(kObjectGraphKey);
}

std::vector<ObjectVariable> list_object_variables(const std::string& prefix) {
  const BundleReader reader(default_env(), prefix);
  return variables_of(reader, read_objects(reader));
}

Tensor load_object_variable(const std::string& prefix, const std::string& path) {
  const BundleReader reader(default_env(), prefix);
  const ObjectGraph graph = read_objects(reader);
  const std::vector<ObjectVariable> variables = variables_of(reader, graph);
  if (const std::string key = key_of(graph, variables, path); !key.empty()) return reader.read(key);
  std::vector<std::string> paths;
  for (const ObjectVariable& variable : variables) paths.push_back(variable.path);
  const Error error = not_found("checkpoint '", prefix, "' has no variable '", path, "'");
  const std::string near = did_you_mean(path, paths);
  throw near.empty() ? error : error.hint(near);
}

std::string slot_path(const std::string& variable, const std::string& optimizer, const std::string& slot) {
  return internal::concat(variable, kSlotInfix, optimizer, "/", slot);
}

Checkpoint::Checkpoint(const std::map<std::string, Variable>& variables, const CheckpointOptions& options)
    : max_to_keep_(options.max_to_keep) {
  const LocationScope location(options.where);
  const std::string where = short_location(options.where);
  if (variables.empty()) throw invalid_argument("a Checkpoint needs variables; there are none").made_at(where);
  std::map<std::string, std::string> names;
  for (const auto& [path, variable] : variables) {
    names[path] = variable.op_name();
    if (variable.slice() != nullptr) {
      throw invalid_argument("'", path, "' is a part of the variable '", variable.slice()->full_name,
                             "'; checkpoints of objects hold whole ones")
          .made_at(where)
          .hint("Use train::Saver.");
    }
  }
  try {
    ObjectGraph::of(names);
  } catch (const Error& error) {
    throw error.made_at(where);
  }
  const GraphScope graph(variables.begin()->second.handle().graph());
  const ControlDependencies none({}, /*clear=*/true);
  const NameScope scope(options.name);
  for (const auto& [path, variable] : variables) {
    const Output value = placeholder(variable.dtype(), variable.shape(), {.name = "value"});
    OpBuilder assign(variable.is_resource() ? "AssignVariableOp" : "Assign", {});
    entries_.push_back({path, variable, value, assign.input(variable.handle()).input(value).build_operation()});
  }
}

void Checkpoint::write(Session& session, const std::string& prefix) { write_with(session, prefix, std::nullopt); }

void Checkpoint::write_with(Session& session, const std::string& prefix, std::optional<std::int64_t> counter) {
  Fetches fetches;
  std::map<std::string, std::string> names;
  bool own_counter = false;
  for (const Entry& entry : entries_) {
    fetches.emplace_back(entry.variable);
    names[entry.path] = entry.variable.op_name();
    own_counter |= entry.path == kCounterPath;
  }
  const std::vector<Tensor> values = session.run(fetches);
  const bool add_counter = counter && !own_counter;
  if (add_counter) names[kCounterPath] = kCounterPath;
  BundleWriter writer(session.env(), prefix);
  writer.add(kObjectGraphKey, Tensor(ObjectGraph::of(names).encode()));
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    writer.add(internal::concat(entries_[i].path, kValueSuffix), values[i]);
  }
  if (add_counter) writer.add(internal::concat(kCounterPath, kValueSuffix), Tensor(*counter));
  writer.finish();
}

std::string Checkpoint::save(Session& session, const std::string& prefix) {
  const std::int64_t number = save_counter_ + 1;
  const std::string numbered = internal::concat(prefix, "-", number);
  const std::string directory = directory_of(numbered);
  session.env().mkdirs(directory);
  write_with(session, numbered, number);
  save_counter_ = number;
  std::vector<std::string> all;
  if (const auto state = get_checkpoint_state(directory)) {
    for (const std::string& old : state->all) {
      if (old != numbered && checkpoint_exists(old)) all.push_back(old);
    }
  }
  all.push_back(numbered);
  const std::size_t kept = max_to_keep_ > 0 ? static_cast<std::size_t>(max_to_keep_) : all.size();
  const auto first_kept = all.end() - static_cast<std::ptrdiff_t>(std::min(kept, all.size()));
  update_checkpoint_state(directory, numbered, {first_kept, all.end()});
  std::for_each(all.begin(), first_kept, remove_checkpoint);
  return numbered;
}

void Checkpoint::restore(Session& session, const std::string& prefix) {
  const BundleReader reader(session.env(), prefix);
  const ObjectGraph graph = read_objects(reader);
  const std::vector<ObjectVariable> theirs = variables_of(reader, graph);
  std::vector<SavedVariable> wanted;
  for (const Entry& entry : entries_) {
    const std::string key = key_of(graph, theirs, entry.path);
    wanted.push_back(saved_variable(key.empty() ? internal::concat(entry.path, kValueSuffix) : key, entry.variable));
  }
  check_fits(reader, wanted);
  Feeds feeds;
  Fetches assigns;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    feeds.emplace_back(entries_[i].value, reader.read(wanted[i].key));
    assigns.emplace_back(entries_[i].assign);
  }
  const std::string counter = key_of(graph, theirs, kCounterPath);
  const Tensor count = counter.empty() ? Tensor(save_counter_) : reader.read(counter, int64);
  session.run(assigns, feeds);
  save_counter_ = count.item<std::int64_t>();
}

}  // namespace caudal::inline v0::train
