#include "caudal/train/saver.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <set>
#include <span>

#include "caudal/base/crc32c.h"
#include "caudal/base/env.h"
#include "caudal/base/error.h"
#include "caudal/core/node_state.h"
#include "caudal/formats/bundle_reader.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/checkpoint_ops.h"
#include "caudal/ops/constant.h"
#include "caudal/proto/meta_graph.h"
#include "caudal/train/saved_variables.h"
#include "caudal/train/state_file.h"

namespace caudal::inline v0::train {
namespace {

constexpr char kNodeStatePrefix[] = "node/";
// The checksum of the index file that a sidecar was written for. A crash while a checkpoint is overwritten under its
// own name may leave the new tensors beside the old sidecar, which must not be believed then.
constexpr char kIndexKey[] = "checkpoint/index";

bool is_v2(Env& env, const std::string& prefix) { return env.exists(prefix + ".index"); }
bool is_v1(Env& env, const std::string& prefix) {
  return !is_v2(env, prefix) && env.exists(prefix) && !env.is_directory(prefix);
}
bool exists(Env& env, const std::string& prefix) { return is_v2(env, prefix) || is_v1(env, prefix); }

// What makes the files a checkpoint.
std::string main_file(Env& env, const std::string& prefix) { return is_v1(env, prefix) ? prefix : prefix + ".index"; }

std::string index_checksum(Env& env, const std::string& prefix) {
  return std::to_string(crc32c(read_file(env, main_file(env, prefix))));
}

Output string_vector(const std::vector<std::string>& values, const std::string& name) {
  return constant(Tensor(values), {.name = name});
}

// A path of the list file, which may be relative to the directory, as one that can be opened.
std::string resolved(const std::string& directory, const std::string& path) {
  return path.starts_with('/') || directory.empty() ? path : join_path(directory, path);
}

CheckpointList read_list(Env& env, const std::string& path) {
  if (!env.exists(path)) return {};
  try {
    return checkpoint_list_from_text(read_file(env, path));
  } catch (const Error&) {
    return {};  // a damaged list is rebuilt with the next save
  }
}

// The index goes first: without it nobody takes the rest for a checkpoint.
void remove_files(Env& env, const std::string& prefix) {
  const std::string directory = directory_of(prefix);
  const std::string base = base_name(prefix);
  if (exists(env, prefix)) env.remove(main_file(env, prefix));
  for (const std::string& name : env.list(directory)) {
    if (name.starts_with(base + ".data-") || name == base + ".meta" || name == base + ".caudal-state") {
      env.remove(join_path(directory, name));
    }
  }
}

// "x.tempstate12-3" and "x.tmp12-3": what BundleWriter and write_file_atomically rename once it is complete.
bool is_temporary(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return false;
  std::string_view suffix = name.substr(dot + 1);
  for (const std::string_view kind : {"tempstate", "tmp"}) {
    if (!suffix.starts_with(kind)) continue;
    suffix.remove_prefix(kind.size());
    return !suffix.empty() && suffix.find_first_not_of("0123456789-") == std::string_view::npos;
  }
  return false;
}

// The folder of the parts of a sharded checkpoint that was never joined.
void remove_shards(Env& env, const std::string& folder) {
  if (!env.is_directory(folder)) return;
  for (const std::string& name : env.list(folder)) {
    if (name.starts_with("part-")) env.remove(join_path(folder, name));
  }
  if (env.list(folder).empty()) env.remove(folder);
}

// Removes what a killed process left of its last save to `path` or to the list.
void remove_leftovers(Env& env, const std::string& path, const std::string& list) {
  const std::string directory = directory_of(path), base = base_name(path);
  for (const std::string& name : env.list(directory)) {
    if (name.starts_with(base) && name.ends_with("_temp")) remove_shards(env, join_path(directory, name));
    if (is_temporary(name) && (name.starts_with(base) || name.starts_with(list)))
      env.remove(join_path(directory, name));
  }
}

}  // namespace

VariablesByKey::VariablesByKey(const std::vector<Variable>& variables) {
  for (const Variable& variable : variables) {
    emplace_back(variable.slice() == nullptr ? variable.op_name() : variable.slice()->full_name, variable);
  }
}

VariablesByKey::VariablesByKey(const std::map<std::string, Variable>& variables)
    : vector(variables.begin(), variables.end()) {}

Saver::Saver(const Saver&) = default;
Saver::Saver(Saver&&) noexcept = default;
Saver& Saver::operator=(const Saver&) = default;
Saver& Saver::operator=(Saver&&) noexcept = default;
Saver::~Saver() = default;

namespace {

VariablesByKey checked(const SaverOptions& options) {
  VariablesByKey variables = options.variables.empty() ? VariablesByKey(global_variables()) : options.variables;
  if (variables.empty()) {
    throw invalid_argument("a Saver needs variables; there are none").made_at(short_location(options.where));
  }
  std::ranges::stable_sort(variables, {}, [](const auto& entry) { return entry.first; });
  for (std::size_t i = 1; i < variables.size(); ++i) {
    const auto& [key, variable] = variables[i];
    const auto& [previous_key, previous] = variables[i - 1];
    if (key != previous_key) continue;
    if (variable.slice() != nullptr && previous.slice() != nullptr &&
        variable.slice()->spec() != previous.slice()->spec()) {
      continue;  // parts of one tensor
    }
    throw invalid_argument("two variables would be saved as '", key, "'").made_at(short_location(options.where));
  }
  return variables;
}

// What the nodes that save and restore share.
struct SaverInputs {
  Output filename, names, slices;
};

SaverInputs saver_inputs(const Output& filename, const std::string& op, std::span<const SavedVariable> saved) {
  std::vector<std::string> names, slices;
  for (const SavedVariable& variable : saved) {
    names.push_back(variable.key);
    slices.push_back(variable.slice);
  }
  return {filename, string_vector(names, op + "/tensor_names"), string_vector(slices, op + "/shape_and_slices")};
}

Operation add_save(const char* op, const SaverInputs& inputs, std::span<const VariablesByKey::value_type> variables) {
  std::vector<Output> values;
  for (const auto& [key, variable] : variables) {
    values.push_back(variable.is_resource() ? variable.value() : variable.handle());
  }
  OpBuilder builder(op, {});
  return builder.input(inputs.filename).input(inputs.names).input(inputs.slices).inputs(values).build_operation();
}

// Saves the variables of each device under a prefix of their own in a temporary folder, then joins these into one
// checkpoint with as many data files: TensorFlow's nodes.
Operation add_sharded_save(const Output& filename, const VariablesByKey& variables,
                           const std::vector<SavedVariable>& saved) {
  struct Shard {
    VariablesByKey variables;
    std::vector<SavedVariable> saved;
  };
  std::map<std::string, Shard> shards;
  for (std::size_t i = 0; i < saved.size(); ++i) {
    Shard& shard = shards[variables[i].second.handle().node()->info().device];
    shard.variables.push_back(variables[i]);
    shard.saved.push_back(saved[i]);
  }
  const Output beside = constant(Tensor("_temp/part"), {.name = "StringJoin/inputs_1"});
  const Output temporary = OpBuilder("StringJoin", {}).inputs({filename, beside}).build();
  const Output count = constant(Tensor(static_cast<std::int32_t>(shards.size())), {.name = "num_shards"});
  std::vector<Output> prefixes;
  std::vector<Operation> saves;
  for (const auto& [device, shard] : shards) {
    const DeviceScope place(device);
    const Output number =
        constant(Tensor(static_cast<std::int32_t>(prefixes.size())), {.name = "ShardedFilename/shard"});
    prefixes.push_back(raw_ops::sharded_filename(temporary, number, count));
    saves.push_back(add_save("SaveV2", saver_inputs(prefixes.back(), "SaveV2", shard.saved), shard.variables));
  }
  const ControlDependencies after(saves);
  const Output all = OpBuilder("Pack", {.name = "MergeV2Checkpoints/checkpoint_prefixes"}).inputs(prefixes).build();
  return raw_ops::merge_v2_checkpoints(all, filename);
}

Operation add_restore(const SaverInputs& inputs, const VariablesByKey& variables) {
  std::vector<DType> types;
  for (const auto& [key, variable] : variables) types.push_back(variable.dtype());
  OpBuilder builder("RestoreV2", {});
  builder.input(inputs.filename).input(inputs.names).input(inputs.slices).attr("dtypes", types);
  Node& restored = builder.build_node();
  std::vector<Operation> assigned;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const Variable& variable = variables[i].second;
    OpBuilder assign(variable.is_resource() ? "AssignVariableOp" : "Assign", {});
    assigned.push_back(assign.input(variable.handle()).input(restored.output(static_cast<int>(i))).build_operation());
  }
  return group(assigned, {.name = "restore_all"});
}

}  // namespace

Saver::Saver(const SaverOptions& options) {
  const LocationScope location(options.where);
  const VariablesByKey variables = checked(options);
  if (options.write_version != 1 && options.write_version != 2) {
    throw invalid_argument("checkpoints have the formats 1 and 2, not ", options.write_version)
        .made_at(short_location(options.where));
  }
  if (options.sharded && options.write_version == 1) {
    throw invalid_argument("checkpoints of format 1 are not written in shards")
        .made_at(short_location(options.where))
        .hint("Leave write_version at 2.");
  }
  for (const auto& [key, variable] : variables) variables_.push_back(saved_variable(key, variable));

  const GraphScope graph(variables[0].second.handle().graph());
  const ControlDependencies none({}, /*clear=*/true);
  const NameScope scope(options.name);
  Output filename = placeholder_with_default(constant(Tensor("model"), {.name = "filename/input"}),
                                             PartialShape::scalar(), {.name = "filename"});
  filename = placeholder_with_default(filename, PartialShape::scalar(), {.name = "Const"});
  const char* save_op = options.write_version == 1 ? "SaveSlices" : "SaveV2";
  const Operation saved = options.sharded ? add_sharded_save(filename, variables, variables_)
                                          : add_save(save_op, saver_inputs(filename, save_op, variables_), variables);
  nodes_.filename_tensor = filename.name();
  {
    const ControlDependencies after({saved});
    nodes_.save_tensor = identity(filename, {.name = "control_dependency"}).name();
  }
  const Operation restore = add_restore(saver_inputs(filename, "RestoreV2", variables_), variables);
  nodes_.restore_op = restore.name();
  nodes_.max_to_keep = options.max_to_keep;
  nodes_.keep_checkpoint_every_n_hours = options.keep_checkpoint_every_n_hours;
  nodes_.sharded = options.sharded;
  nodes_.version = options.write_version;
}

Saver::Saver(const Graph& graph, const SaverNodes& nodes) : nodes_(nodes) {
  graph.tensor(nodes.filename_tensor);  // throws if it is not there
  graph.tensor(nodes.save_tensor);
  variables_ = variables_restored_by(*graph.operation(nodes.restore_op).node());
}

std::string Saver::save(Session& session, const std::string& path, const SaveOptions& options) {
  Env& env = session.env();
  const std::string prefix = options.global_step ? internal::concat(path, '-', *options.global_step) : path;
  const std::string directory = directory_of(prefix);
  env.mkdirs(directory);
  remove_leftovers(env, path, options.latest_filename);

  StateMap state = options.state;
  for (auto& [node, bytes] : session.node_states().save()) state[kNodeStatePrefix + node] = std::move(bytes);
  session.run(Fetches{nodes_.save_tensor}, {{nodes_.filename_tensor, Tensor(prefix)}});
  state[kIndexKey] = index_checksum(env, prefix);
  write_state_file(env, state_file_path(prefix), state);
  if (options.write_meta_graph) {
    write_file_atomically(env, prefix + ".meta", meta_graph_to_bytes(session.graph(), &nodes_));
  }
  if (options.write_state) update_list(env, prefix, options);
  return prefix;
}

void Saver::update_list(Env& env, const std::string& prefix, const SaveOptions& options) {
  const std::string directory = directory_of(prefix);
  const std::string list_path = join_path(directory, options.latest_filename);
  const CheckpointList old = read_list(env, list_path);
  // Names without directories: a directory that moves takes its checkpoints along.
  CheckpointList list;
  const std::string base = base_name(prefix);
  const bool timed = old.timestamps.size() == old.all.size();
  for (std::size_t i = 0; i < old.all.size(); ++i) {
    if (base_name(old.all[i]) == base || !exists(env, resolved(directory, old.all[i]))) continue;
    list.all.push_back(old.all[i]);
    list.timestamps.push_back(timed ? old.timestamps[i] : 0);
  }
  list.all.push_back(base);
  list.timestamps.push_back(static_cast<double>(env.now_micros()) * 1e-6);
  list.latest = base;
  // Hours count from the first save.
  list.last_preserved_timestamp = old.last_preserved_timestamp;
  if (list.last_preserved_timestamp == 0) {
    list.last_preserved_timestamp = timed ? list.timestamps.front() : list.timestamps.back();
  }
  std::vector<std::string> superfluous;
  while (nodes_.max_to_keep > 0 && list.all.size() > static_cast<std::size_t>(nodes_.max_to_keep)) {
    const double written = list.timestamps.front();
    if (written - list.last_preserved_timestamp >= 3600.0 * nodes_.keep_checkpoint_every_n_hours) {
      list.last_preserved_timestamp = written;
    } else {
      superfluous.push_back(list.all.front());
    }
    list.all.erase(list.all.begin());
    list.timestamps.erase(list.timestamps.begin());
  }
  write_file_atomically(env, list_path, checkpoint_list_to_text(list));
  for (const std::string& old_prefix : superfluous) remove_files(env, resolved(directory, old_prefix));
  last_checkpoints_.clear();
  for (const std::string& kept : list.all) last_checkpoints_.push_back(resolved(directory, kept));
}

namespace {

// Empty if there is no sidecar, or one of an earlier checkpoint of this name.
StateMap read_sidecar(Env& env, const std::string& prefix) {
  const std::string path = state_file_path(prefix);
  if (!env.exists(path)) return {};
  StateMap state = read_state_file(env, path);
  const auto index = state.extract(kIndexKey);
  if (index.empty() || index.mapped() != index_checksum(env, prefix)) return {};
  return state;
}

}  // namespace

StateMap Saver::restore(Session& session, const std::string& prefix) {
  try {
    return restore_all(session, prefix);
  } catch (const Error& error) {
    const bool damaged = error.code() == Code::kDataLoss || error.code() == Code::kOutOfRange;
    throw damaged ? error.hint("The checkpoint is damaged: restore an earlier one, or copy it again.") : error;
  }
}

StateMap Saver::restore_all(Session& session, const std::string& prefix) const {
  Env& env = session.env();
  const BundleReader reader(env, prefix);
  check_fits(reader, variables_);
  StateMap state;
  std::map<std::string, std::string> node_states;
  for (const auto& [name, bytes] : read_sidecar(env, prefix)) {
    if (name.starts_with(kNodeStatePrefix)) {
      node_states[name.substr(sizeof(kNodeStatePrefix) - 1)] = bytes;
    } else {
      state[name] = bytes;
    }
  }
  session.run(Fetches{nodes_.restore_op}, {{nodes_.filename_tensor, Tensor(prefix)}});
  session.node_states().restore(node_states);
  return state;
}

std::optional<Saver> import_meta_graph_bytes(std::string_view bytes, const ImportMetaGraphOptions& options) {
  Graph& graph = default_graph();
  const ImportedMetaGraph imported = meta_graph_from_bytes(bytes, graph, options);
  if (imported.saver) return Saver(graph, *imported.saver);
  const auto in_scope = [&](const Variable& variable) {
    return imported.scope.empty() || variable.op_name().starts_with(imported.scope + "/");
  };
  std::vector<Variable> variables = global_variables();
  std::erase_if(variables, [&](const Variable& variable) { return !in_scope(variable); });
  if (variables.empty()) return std::nullopt;
  return Saver({.variables = variables});
}

std::optional<Saver> import_meta_graph(const std::string& path, const ImportMetaGraphOptions& options) {
  const std::string bytes = read_file(default_env(), path);
  try {
    return import_meta_graph_bytes(bytes, options);
  } catch (const Error& error) {
    throw error.in(path);
  }
}

void export_meta_graph(const std::string& path, const Saver* saver, const ExportMetaGraphOptions& options) {
  const Graph& graph = default_graph();
  const SaverNodes* nodes = saver == nullptr ? nullptr : &saver->nodes();
  write_file_atomically(
      default_env(), path,
      path.ends_with("txt") ? meta_graph_to_text(graph, nodes, options) : meta_graph_to_bytes(graph, nodes, options));
}

std::string latest_checkpoint(const std::string& directory, const std::string& latest_filename) {
  Env& env = default_env();
  const CheckpointList list = read_list(env, join_path(directory, latest_filename));
  if (list.latest.empty()) return {};
  const std::string prefix = resolved(directory, list.latest);
  return exists(env, prefix) ? prefix : std::string();
}

std::optional<CheckpointList> get_checkpoint_state(const std::string& directory, const std::string& latest_filename) {
  CheckpointList list = read_list(default_env(), join_path(directory, latest_filename));
  if (list.latest.empty()) return std::nullopt;
  list.latest = resolved(directory, list.latest);
  for (std::string& path : list.all) path = resolved(directory, path);
  return list;
}

void update_checkpoint_state(const std::string& directory, const std::string& latest,
                             const std::vector<std::string>& all, const std::string& latest_filename) {
  const std::string inside = directory + "/";
  const auto relative = [&](const std::string& path) {
    return path.starts_with(inside) ? path.substr(inside.size()) : path;
  };
  CheckpointList list{.latest = relative(latest), .all = {}, .timestamps = {}};
  for (const std::string& path : all) {
    if (path != latest) list.all.push_back(relative(path));
  }
  list.all.push_back(list.latest);
  write_file_atomically(default_env(), join_path(directory, latest_filename), checkpoint_list_to_text(list));
}

bool checkpoint_exists(const std::string& prefix) {
  Env& env = default_env();
  return exists(env, prefix);
}

std::vector<double> get_checkpoint_mtimes(const std::vector<std::string>& prefixes) {
  std::vector<double> times;
  for (const std::string& prefix : prefixes) {
    if (!checkpoint_exists(prefix)) continue;
    const std::string file = main_file(default_env(), prefix);
    const auto written = std::chrono::file_clock::to_sys(std::filesystem::last_write_time(file));
    times.push_back(std::chrono::duration<double>(written.time_since_epoch()).count());
  }
  return times;
}

void remove_checkpoint(const std::string& prefix) {
  if (exists(default_env(), prefix)) remove_files(default_env(), prefix);
}

std::vector<CheckpointEntry> list_variables(const std::string& prefix) {
  const BundleReader reader(default_env(), prefix);
  std::vector<CheckpointEntry> entries;
  for (const std::string& name : reader.names()) {
    const BundleEntry& entry = reader.entry(name);
    entries.push_back({name, entry.dtype, entry.shape});
  }
  return entries;
}

Tensor load_variable(const std::string& prefix, const std::string& name) {
  return BundleReader(default_env(), prefix).read(name);
}

}  // namespace caudal::inline v0::train
