#include "caudal/ops/lookup_ops.h"

#include <memory>
#include <utility>

#include "caudal/core/device.h"
#include "caudal/core/kernel.h"
#include "caudal/core/resource_manager.h"
#include "caudal/core/shape_context.h"
#include "caudal/graph/collection.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/lookup_table.h"
#include "caudal/ops/named_resource.h"
#include "caudal/ops/op_util.h"

namespace caudal::inline v0 {
namespace {

constexpr std::string_view kTableInitializers = "table_initializer";

// ---- Shape functions

void old_handle_shape(ShapeContext& c) { c.set_output(0, PartialShape{2}); }

// A table's handle says what its keys and values are.
void table_shape(ShapeContext& c, const PartialShape& key) {
  c.set_output(0, PartialShape::scalar());
  const AttrValue* value = find_attr(c.node().attrs, "value_shape");
  const PartialShape value_shape = value == nullptr ? PartialShape::scalar() : *value->get_if<PartialShape>();
  c.set_output_handle(0, {{c.attr<DType>("key_dtype"), key}, {c.attr<DType>("value_dtype"), value_shape}});
}

void mutable_table_shape(ShapeContext& c) { table_shape(c, PartialShape::scalar()); }

void dense_table_shape(ShapeContext& c) {
  if (c.input(0).has_rank() && c.input(0).rank() > 1) {
    throw invalid_argument("Shape must be at most rank 1 but is rank ", c.input(0).rank());
  }
  table_shape(c, c.input(0));
}

void check_handle(ShapeContext& c) {
  if (c.node().input_types[0] == DType::kResource) {
    c.with_rank(0, 0);
  } else {
    c.with_rank(0, 1);
  }
}

void check_types(ShapeContext& c, std::string_view key_attr, std::string_view value_attr) {
  const HandleData& handle = c.input_handle(0);
  if (handle.size() != 2) return;
  const DType wanted[] = {c.attr<DType>(key_attr), c.attr<DType>(value_attr)};
  for (int i = 0; i < 2; ++i) {
    if (handle[i].dtype == wanted[i]) continue;
    throw invalid_argument("Trying to read value with wrong dtype. Expected ", kernel_type_name(handle[i].dtype),
                           " got ", kernel_type_name(wanted[i]));
  }
}

void find_shape(ShapeContext& c) {
  check_handle(c);
  check_types(c, "Tin", "Tout");
  const HandleData& handle = c.input_handle(0);
  const PartialShape& keys = c.input(1);
  if (handle.size() != 2 || !handle[0].shape.has_rank() || !handle[1].shape.has_rank() || !keys.has_rank()) return;
  const int front = keys.rank() - handle[0].shape.rank();
  if (front < 0) {
    throw invalid_argument("Expected keys to have suffix ", handle[0].shape, " but saw shape: ", keys);
  }
  std::vector<std::int64_t> dims(keys.dims().begin(), keys.dims().begin() + front);
  dims.insert(dims.end(), handle[1].shape.dims().begin(), handle[1].shape.dims().end());
  c.set_output(0, PartialShape(std::move(dims)));
}

void handle_shape(ShapeContext& c) { check_handle(c); }

void remove_shape(ShapeContext& c) {
  check_handle(c);
  c.with_rank_at_least(1, 1);
}

void import_shape(ShapeContext& c) {
  check_handle(c);
  const PartialShape keys = c.with_rank_at_least(1, 1), values = c.with_rank_at_least(2, 1);
  if (keys.has_rank() && values.has_rank()) ShapeContext::merge_dim(keys[0], values[0], "numbers of keys and values");
}

void size_shape(ShapeContext& c) {
  check_handle(c);
  c.set_output(0, PartialShape::scalar());
}

void export_shape(ShapeContext& c) {
  check_handle(c);
  check_types(c, "Tkeys", "Tvalues");
}

void initialize_shape(ShapeContext& c) {
  check_handle(c);
  c.with_rank(1, 1);
  c.merged(1, 2);
}

void text_file_shape(ShapeContext& c) {
  check_handle(c);
  c.with_rank(1, 0);
}

// ---- Kernels

using MakeTable = std::shared_ptr<LookupTable> (*)(RunContext& c);

LookupTable::Type type_of(const NodeInfo& node) {
  LookupTable::Type type;
  type.key = node.attr<DType>("key_dtype");
  type.value = node.attr<DType>("value_dtype");
  if (const AttrValue* shape = find_attr(node.attrs, "value_shape")) {
    const auto known = shape->get_if<PartialShape>()->to_shape();
    if (!known) throw invalid_argument("value_shape ", *shape->get_if<PartialShape>(), " must be fully known");
    type.value_shape = *known;
  }
  return type;
}

// The pairs of types that TensorFlow's tables of this kind have: programs count on the others being refused.
void check_static_types(const LookupTable::Type& type) {
  using enum DType;
  const bool any = type.value == kDouble || type.value == kFloat || type.value == kInt32 || type.value == kString;
  const bool known = (type.key == kInt32 && any) || (type.key == kInt64 && (any || type.value == kInt64)) ||
                     (type.key == kString && (any || type.value == kInt64 || type.value == kBool));
  if (known) return;
  throw unimplemented("no table of ", kernel_type_name(type.key), " to ", kernel_type_name(type.value))
      .hint("MutableHashTable takes other pairs of types.");
}

std::shared_ptr<LookupTable> make_static(RunContext& c) {
  check_static_types(type_of(c.node()));
  return make_hash_table(type_of(c.node()), true);
}

std::shared_ptr<LookupTable> make_mutable(RunContext& c) {
  const LookupTable::Type type = type_of(c.node());
  if (find_attr(c.node().attrs, "value_shape") != nullptr && type.value_shape.rank() != 1) {
    throw invalid_argument("Default value must be a vector, got shape ", type.value_shape);
  }
  return make_hash_table(type, false);
}

std::shared_ptr<LookupTable> make_dense(RunContext& c) {
  LookupTable::Type type = type_of(c.node());
  type.key_shape = c.input(0).shape();
  return make_dense_table(type, {.empty_key = c.input(0),
                                 .deleted_key = c.num_inputs() > 1 ? c.input(1) : Tensor(),
                                 .initial_buckets = c.node().attr<std::int64_t>("initial_num_buckets"),
                                 .max_load = c.node().attr<float>("max_load_factor")});
}

void check_same_types(const NodeInfo& node, const LookupTable& table, const std::string& name) {
  const auto key = node.attr<DType>("key_dtype"), value = node.attr<DType>("value_dtype");
  if (table.type().key == key && table.type().value == value) return;
  throw invalid_argument("Conflicting key/value dtypes ", kernel_type_name(key), "->", kernel_type_name(value),
                         " with ", kernel_type_name(table.type().key), "-", kernel_type_name(table.type().value),
                         " for table ", name);
}

constexpr const char* kHandleType = "tensorflow::lookup::LookupInterface";

internal::ResourceName table_name(const NodeInfo& node) {
  internal::ResourceName id = internal::resource_name(node);
  if (node.attr<std::string>("shared_name").empty() && node.attr<bool>("use_node_name_sharing")) id.name = node.name;
  return id;
}

// A table in a container, made by the first who asks.
class TableKernel final : public Kernel {
 public:
  TableKernel(PrepareContext& c, MakeTable make)
      : make_(make), id_(table_name(c.node())), handle_(c, id_, kHandleType) {}
  void run(RunContext& c) const override {
    ResourceManager& resources = *c.step().resources;
    auto table = resources.find<LookupTable>(id_.container, id_.name);
    if (table == nullptr) {
      auto made = make_(c);
      table = resources.get_or_create<LookupTable>(id_.container, id_.name, [&] { return made; });
    }
    check_same_types(c.node(), *table, id_.name);
    handle_.set(c);
  }

 private:
  MakeTable make_;
  internal::ResourceName id_;
  internal::HandleOutput handle_;
};

template <MakeTable make>
std::unique_ptr<Kernel> prepare_table(PrepareContext& c) {
  return std::make_unique<TableKernel>(c, make);
}

// A table that lives as long as its handle.
template <MakeTable make>
void run_anonymous_table(RunContext& c) {
  ResourceHandle handle;
  handle.device = c.step().device->name();
  handle.type_name = kHandleType;
  handle.owned = make(c);
  c.set_output(0, Tensor::scalar(std::move(handle)));
}

std::shared_ptr<LookupTable> table_of(const RunContext& c) { return internal::resource_of<LookupTable>(c); }

void run_find(RunContext& c) {
  const auto table = table_of(c);
  table->check_find(c.input(1), c.input(2));
  Tensor& values = c.allocate_output(0, table->values_shape(c.input(1)));
  table->find(c.input(1), c.input(2), values);
}

void run_insert(RunContext& c) {
  const auto table = table_of(c);
  table->check_entries(c.input(1), c.input(2));
  table->insert(c.input(1), c.input(2));
}

void run_remove(RunContext& c) {
  const auto table = table_of(c);
  table->check_keys(c.input(1));
  table->remove(c.input(1));
}

void run_size(RunContext& c) {
  const std::int64_t size = table_of(c)->size();
  c.allocate_output(0, {}).data<std::int64_t>()[0] = size;
}

void run_export(RunContext& c) {
  const auto table = table_of(c);
  const auto& types = c.node().output_types;
  if (types[0] != table->type().key || types[1] != table->type().value) {
    throw invalid_argument("a ", table->describe(), " is exported as ", kernel_type_name(types[0]), " and ",
                           kernel_type_name(types[1]));
  }
  auto [keys, values] = table->export_all();
  c.set_output(0, std::move(keys));
  c.set_output(1, std::move(values));
}

void run_import(RunContext& c) {
  const auto table = table_of(c);
  table->check_import(c.input(1), c.input(2));
  table->import_all(c.input(1), c.input(2));
}

void run_initialize(RunContext& c) {
  const auto table = table_of(c);
  const Tensor &keys = c.input(1), &values = c.input(2);
  if (keys.rank() != 1) throw invalid_argument("Keys must be a vector, but received shape", keys.shape());
  if (values.rank() != 1) throw invalid_argument("Values must be a vector, but received shape", values.shape());
  if (keys.num_elements() != values.num_elements()) {
    throw invalid_argument("Keys and values must have the same size ", keys.num_elements(), " vs ",
                           values.num_elements());
  }
  table->check_entries(keys, values);
  table->initialize(keys, values);
}

void run_initialize_from_text(RunContext& c) {
  const auto table = table_of(c);
  const Tensor& name = c.input(1);
  if (name.rank() != 0) throw invalid_argument("filename should be a single string, but got ", name.shape());
  TextFileTable file;
  file.path = name.item<std::string>();
  if (file.path.empty()) throw invalid_argument("filename cannot be empty.");
  const auto& delimiter = c.node().attr<std::string>("delimiter");
  if (delimiter.size() != 1) throw invalid_argument("delimiter should be only 1 char");
  file.delimiter = delimiter[0];
  file.key_index = c.node().attr<std::int64_t>("key_index");
  file.value_index = c.node().attr<std::int64_t>("value_index");
  file.vocab_size = c.node().attr<std::int64_t>("vocab_size");
  file.offset = c.node().attr<std::int64_t>("offset");
  initialize_from_text(*c.step().env, file, *table);
}

}  // namespace

// ---- Registrations

CAUDAL_REGISTER_OP({.name = "HashTable",
                    .outputs = "table_handle: Ref(string)",
                    .attrs = "container: string = ''; shared_name: string = ''; use_node_name_sharing: bool = false; "
                             "key_dtype: type; value_dtype: type",
                    .stateful = true,
                    .shape = old_handle_shape,
                    .gradient = not_differentiable,
                    .cpu = prepare_table<make_static>});

CAUDAL_REGISTER_OP({.name = "HashTableV2",
                    .outputs = "table_handle: resource",
                    .attrs = "container: string = ''; shared_name: string = ''; use_node_name_sharing: bool = false; "
                             "key_dtype: type; value_dtype: type",
                    .stateful = true,
                    .shape = scalar_shape,
                    .gradient = not_differentiable,
                    .cpu = prepare_table<make_static>});

CAUDAL_REGISTER_OP({.name = "AnonymousHashTable",
                    .outputs = "table_handle: resource",
                    .attrs = "key_dtype: type; value_dtype: type",
                    .stateful = true,
                    .shape = scalar_shape,
                    .gradient = no_gradient,
                    .cpu = kernel_of<run_anonymous_table<make_static>>});

CAUDAL_REGISTER_OP({.name = "MutableHashTable",
                    .outputs = "table_handle: Ref(string)",
                    .attrs = "container: string = ''; shared_name: string = ''; use_node_name_sharing: bool = false; "
                             "key_dtype: type; value_dtype: type",
                    .stateful = true,
                    .shape = old_handle_shape,
                    .gradient = not_differentiable,
                    .cpu = prepare_table<make_mutable>});

CAUDAL_REGISTER_OP({.name = "MutableHashTableV2",
                    .outputs = "table_handle: resource",
                    .attrs = "container: string = ''; shared_name: string = ''; use_node_name_sharing: bool = false; "
                             "key_dtype: type; value_dtype: type",
                    .stateful = true,
                    .shape = mutable_table_shape,
                    .gradient = not_differentiable,
                    .cpu = prepare_table<make_mutable>});

CAUDAL_REGISTER_OP({.name = "AnonymousMutableHashTable",
                    .outputs = "table_handle: resource",
                    .attrs = "key_dtype: type; value_dtype: type",
                    .stateful = true,
                    .shape = mutable_table_shape,
                    .gradient = no_gradient,
                    .cpu = kernel_of<run_anonymous_table<make_mutable>>});

CAUDAL_REGISTER_OP({.name = "MutableHashTableOfTensors",
                    .outputs = "table_handle: Ref(string)",
                    .attrs = "container: string = ''; shared_name: string = ''; use_node_name_sharing: bool = false; "
                             "key_dtype: type; value_dtype: type; value_shape: shape = []",
                    .stateful = true,
                    .shape = old_handle_shape,
                    .gradient = not_differentiable,
                    .cpu = prepare_table<make_mutable>});

CAUDAL_REGISTER_OP({.name = "MutableHashTableOfTensorsV2",
                    .outputs = "table_handle: resource",
                    .attrs = "container: string = ''; shared_name: string = ''; use_node_name_sharing: bool = false; "
                             "key_dtype: type; value_dtype: type; value_shape: shape = []",
                    .stateful = true,
                    .shape = mutable_table_shape,
                    .gradient = not_differentiable,
                    .cpu = prepare_table<make_mutable>});

CAUDAL_REGISTER_OP({.name = "AnonymousMutableHashTableOfTensors",
                    .outputs = "table_handle: resource",
                    .attrs = "key_dtype: type; value_dtype: type; value_shape: shape = []",
                    .stateful = true,
                    .shape = mutable_table_shape,
                    .gradient = no_gradient,
                    .cpu = kernel_of<run_anonymous_table<make_mutable>>});

CAUDAL_REGISTER_OP(
    {.name = "MutableDenseHashTable",
     .inputs = "empty_key: key_dtype",
     .outputs = "table_handle: Ref(string)",
     .attrs =
         "container: string = ''; shared_name: string = ''; use_node_name_sharing: bool = false; key_dtype: type; "
         "value_dtype: type; value_shape: shape = []; initial_num_buckets: int = 131072; max_load_factor: float = 0.8",
     .stateful = true,
     .shape = old_handle_shape,
     .gradient = not_differentiable,
     .cpu = prepare_table<make_dense>});

CAUDAL_REGISTER_OP(
    {.name = "MutableDenseHashTableV2",
     .inputs = "empty_key: key_dtype; deleted_key: key_dtype",
     .outputs = "table_handle: resource",
     .attrs =
         "container: string = ''; shared_name: string = ''; use_node_name_sharing: bool = false; key_dtype: type; "
         "value_dtype: type; value_shape: shape = []; initial_num_buckets: int = 131072; max_load_factor: float = 0.8",
     .stateful = true,
     .shape = dense_table_shape,
     .gradient = not_differentiable,
     .cpu = prepare_table<make_dense>});

CAUDAL_REGISTER_OP({.name = "AnonymousMutableDenseHashTable",
                    .inputs = "empty_key: key_dtype; deleted_key: key_dtype",
                    .outputs = "table_handle: resource",
                    .attrs = "key_dtype: type; value_dtype: type; value_shape: shape = []; initial_num_buckets: int = "
                             "131072; max_load_factor: float = 0.8",
                    .stateful = true,
                    .shape = dense_table_shape,
                    .gradient = no_gradient,
                    .cpu = kernel_of<run_anonymous_table<make_dense>>});

CAUDAL_REGISTER_OP({.name = "LookupTableFind",
                    .inputs = "table_handle: Ref(string); keys: Tin; default_value: Tout",
                    .outputs = "values: Tout",
                    .attrs = "Tin: type; Tout: type",
                    .shape = find_shape,
                    .gradient = not_differentiable,
                    .cpu = kernel_of<run_find>});

CAUDAL_REGISTER_OP({.name = "LookupTableFindV2",
                    .inputs = "table_handle: resource; keys: Tin; default_value: Tout",
                    .outputs = "values: Tout",
                    .attrs = "Tin: type; Tout: type",
                    .stateful = true,
                    .shape = find_shape,
                    .gradient = not_differentiable,
                    .cpu = kernel_of<run_find>});

CAUDAL_REGISTER_OP({.name = "LookupTableInsert",
                    .inputs = "table_handle: Ref(string); keys: Tin; values: Tout",
                    .attrs = "Tin: type; Tout: type",
                    .shape = handle_shape,
                    .gradient = not_differentiable,
                    .cpu = kernel_of<run_insert>});

CAUDAL_REGISTER_OP({.name = "LookupTableInsertV2",
                    .inputs = "table_handle: resource; keys: Tin; values: Tout",
                    .attrs = "Tin: type; Tout: type",
                    .stateful = true,
                    .shape = handle_shape,
                    .gradient = not_differentiable,
                    .cpu = kernel_of<run_insert>});

CAUDAL_REGISTER_OP({.name = "LookupTableRemoveV2",
                    .inputs = "table_handle: resource; keys: Tin",
                    .attrs = "Tin: type",
                    .stateful = true,
                    .shape = remove_shape,
                    .gradient = no_gradient,
                    .cpu = kernel_of<run_remove>});

CAUDAL_REGISTER_OP({.name = "LookupTableSize",
                    .inputs = "table_handle: Ref(string)",
                    .outputs = "size: int64",
                    .shape = size_shape,
                    .gradient = not_differentiable,
                    .cpu = kernel_of<run_size>});

CAUDAL_REGISTER_OP({.name = "LookupTableSizeV2",
                    .inputs = "table_handle: resource",
                    .outputs = "size: int64",
                    .stateful = true,
                    .shape = size_shape,
                    .gradient = not_differentiable,
                    .cpu = kernel_of<run_size>});

CAUDAL_REGISTER_OP({.name = "LookupTableExport",
                    .inputs = "table_handle: Ref(string)",
                    .outputs = "keys: Tkeys; values: Tvalues",
                    .attrs = "Tkeys: type; Tvalues: type",
                    .shape = export_shape,
                    .gradient = no_gradient,
                    .cpu = kernel_of<run_export>});

CAUDAL_REGISTER_OP({.name = "LookupTableExportV2",
                    .inputs = "table_handle: resource",
                    .outputs = "keys: Tkeys; values: Tvalues",
                    .attrs = "Tkeys: type; Tvalues: type",
                    .stateful = true,
                    .shape = export_shape,
                    .gradient = no_gradient,
                    .cpu = kernel_of<run_export>});

CAUDAL_REGISTER_OP({.name = "LookupTableImport",
                    .inputs = "table_handle: Ref(string); keys: Tin; values: Tout",
                    .attrs = "Tin: type; Tout: type",
                    .shape = import_shape,
                    .gradient = no_gradient,
                    .cpu = kernel_of<run_import>});

CAUDAL_REGISTER_OP({.name = "LookupTableImportV2",
                    .inputs = "table_handle: resource; keys: Tin; values: Tout",
                    .attrs = "Tin: type; Tout: type",
                    .stateful = true,
                    .shape = import_shape,
                    .gradient = no_gradient,
                    .cpu = kernel_of<run_import>});

CAUDAL_REGISTER_OP({.name = "InitializeTable",
                    .inputs = "table_handle: Ref(string); keys: Tkey; values: Tval",
                    .attrs = "Tkey: type; Tval: type",
                    .shape = initialize_shape,
                    .gradient = not_differentiable,
                    .cpu = kernel_of<run_initialize>});

CAUDAL_REGISTER_OP({.name = "InitializeTableV2",
                    .inputs = "table_handle: resource; keys: Tkey; values: Tval",
                    .attrs = "Tkey: type; Tval: type",
                    .stateful = true,
                    .shape = initialize_shape,
                    .gradient = not_differentiable,
                    .cpu = kernel_of<run_initialize>});

CAUDAL_REGISTER_OP({.name = "InitializeTableFromTextFile",
                    .inputs = "table_handle: Ref(string); filename: string",
                    .attrs = "key_index: int >= -2; value_index: int >= -2; vocab_size: int >= -1 = -1; delimiter: "
                             "string = '\t'; offset: int = 0",
                    .shape = text_file_shape,
                    .gradient = not_differentiable,
                    .cpu = kernel_of<run_initialize_from_text>});

CAUDAL_REGISTER_OP({.name = "InitializeTableFromTextFileV2",
                    .inputs = "table_handle: resource; filename: string",
                    .attrs = "key_index: int >= -2; value_index: int >= -2; vocab_size: int >= -1 = -1; delimiter: "
                             "string = '\t'; offset: int = 0",
                    .stateful = true,
                    .shape = text_file_shape,
                    .gradient = not_differentiable,
                    .cpu = kernel_of<run_initialize_from_text>});

// ---- Public functions

Operation tables_initializer(const OpOptions& options) {
  OpBuilder builder("NoOp", options);
  for (const CollectionItem& item : default_graph().collection(kTableInitializers)) {
    if (item.operation) builder.control_input(item.operation);
  }
  return builder.build_operation();
}

namespace lookup {

TableInitializer KeyValueTensorInitializer(const Operand& keys, const Operand& values) {
  const Output k = keys.to_output(DType::kInvalid, "keys"), v = values.to_output(DType::kInvalid, "values");
  return {k.dtype(), v.dtype(), "", [k, v](const Output& table) {
            return OpBuilder("LookupTableImportV2", {}).input(table).input(k).input(v).build_operation();
          }};
}

TableInitializer TextFileInitializer(const std::string& filename, DType key_dtype, std::int64_t key_index,
                                     DType value_dtype, std::int64_t value_index, const TextFileOptions& options) {
  if (filename.empty()) throw invalid_argument("filename cannot be empty.");
  const std::string size = options.vocab_size == -1 ? "" : internal::concat(options.vocab_size, "_");
  std::string name = internal::concat("hash_table_", filename, "_", size, key_index, "_", value_index);
  return {key_dtype, value_dtype, std::move(name), [=](const Output& table) {
            OpBuilder builder("InitializeTableFromTextFileV2", {});
            builder.input(table).input(filename).attr("key_index", key_index).attr("value_index", value_index);
            builder.attr("vocab_size", options.vocab_size).attr("offset", options.value_index_offset);
            return builder.attr("delimiter", std::string(1, options.delimiter)).build_operation();
          }};
}

Table::Table(DType key_dtype, DType value_dtype, const Operand& default_value)
    : key_dtype_(key_dtype), value_dtype_(value_dtype), default_value_(default_value.to_output(value_dtype, "Const")) {
  if (default_value_.dtype() != value_dtype) {
    throw invalid_argument("the default value is ", default_value_.describe(), "; ", value_dtype, " is wanted");
  }
}

Output Table::lookup(const Operand& keys, const OpOptions& options) const {
  return OpBuilder("LookupTableFindV2", options).input(handle_).input(keys, key_dtype_).input(default_value_).build();
}

Output Table::size(const OpOptions& options) const {
  return OpBuilder("LookupTableSizeV2", options).input(handle_).build();
}

Table::Entries Table::export_values(const OpOptions& options) const {
  OpBuilder builder("LookupTableExportV2", options);
  Node& node = builder.input(handle_).attr("Tkeys", key_dtype_).attr("Tvalues", value_dtype_).build_node();
  return {node.output(0), node.output(1)};
}

namespace {

OpBuilder& describe_table(OpBuilder& builder, const TableOptions& options, DType key, DType value) {
  builder.attr("container", options.container).attr("shared_name", options.shared_name);
  return builder.attr("key_dtype", key).attr("value_dtype", value);
}

PartialShape known_shape(const Output& value) {
  if (!value.shape().is_fully_known()) {
    throw invalid_argument("the shape of the default value ", value.describe(), " must be known");
  }
  return value.shape();
}

}  // namespace

StaticHashTable::StaticHashTable(const TableInitializer& initializer, const Operand& default_value,
                                 const TableOptions& options)
    : Table(initializer.key_dtype, initializer.value_dtype, default_value) {
  const LocationScope where(options.where);
  const NameScope scope(options.name.empty() ? "hash_table" : options.name);
  TableOptions named = options;
  if (named.shared_name.empty()) named.shared_name = initializer.shared_name;
  OpBuilder builder("HashTableV2", {.name = scope.prefix()});
  handle_ = describe_table(builder, named, key_dtype_, value_dtype_).build();
  initializer_ = initializer.initialize(handle_);
  handle_.graph().add_to_collection(kTableInitializers, {.operation = initializer_});
}

Operation MutableTable::insert(const Operand& keys, const Operand& values, const OpOptions& options) const {
  OpBuilder builder("LookupTableInsertV2", options);
  return builder.input(handle_).input(keys, key_dtype_).input(values, value_dtype_).build_operation();
}

Operation MutableTable::remove(const Operand& keys, const OpOptions& options) const {
  return OpBuilder("LookupTableRemoveV2", options).input(handle_).input(keys, key_dtype_).build_operation();
}

Operation MutableTable::import_values(const Operand& keys, const Operand& values, const OpOptions& options) const {
  OpBuilder builder("LookupTableImportV2", options);
  return builder.input(handle_).input(keys, key_dtype_).input(values, value_dtype_).build_operation();
}

MutableHashTable::MutableHashTable(DType key_dtype, DType value_dtype, const Operand& default_value,
                                   const TableOptions& options)
    : MutableTable(key_dtype, value_dtype, default_value) {
  const LocationScope where(options.where);
  const PartialShape value_shape = known_shape(default_value_);
  const OpOptions node{.name = options.name.empty() ? "MutableHashTable" : options.name};
  OpBuilder builder(value_shape.rank() == 0 ? "MutableHashTableV2" : "MutableHashTableOfTensorsV2", node);
  describe_table(builder, options, key_dtype, value_dtype).attr("use_node_name_sharing", true);
  if (value_shape.rank() != 0) builder.attr("value_shape", value_shape);
  handle_ = builder.build();
}

DenseHashTable::DenseHashTable(DType key_dtype, DType value_dtype, const Operand& default_value,
                               const Operand& empty_key, const Operand& deleted_key)
    : DenseHashTable(key_dtype, value_dtype, default_value, empty_key, deleted_key, Options()) {}

DenseHashTable::DenseHashTable(DType key_dtype, DType value_dtype, const Operand& default_value,
                               const Operand& empty_key, const Operand& deleted_key, const Options& options)
    : MutableTable(key_dtype, value_dtype, default_value) {
  const LocationScope where(options.table.where);
  const std::string& name = options.table.name;
  OpBuilder builder("MutableDenseHashTableV2", {.name = name.empty() ? "MutableDenseHashTable" : name});
  builder.input(empty_key, key_dtype).input(deleted_key, key_dtype);
  describe_table(builder, options.table, key_dtype, value_dtype).attr("use_node_name_sharing", true);
  builder.attr("value_shape", known_shape(default_value_)).attr("initial_num_buckets", options.initial_num_buckets);
  handle_ = builder.attr("max_load_factor", options.max_load_factor).build();
}

}  // namespace lookup
}  // namespace caudal::inline v0
