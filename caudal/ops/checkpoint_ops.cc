#include "caudal/ops/checkpoint_ops.h"

#include <cstdio>
#include <optional>

#include "caudal/base/env.h"
#include "caudal/core/kernel.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"
#include "caudal/core/step_context.h"
#include "caudal/formats/bundle_reader.h"
#include "caudal/formats/bundle_writer.h"
#include "caudal/formats/slice_file.h"
#include "caudal/formats/tensor_slice.h"
#include "caudal/ops/op_util.h"

namespace caudal::inline v0 {
namespace {

// ---- Shape functions

void save_shape(ShapeContext& c) {
  c.with_rank(0, 0);
  c.with_rank(1, 1);
  c.with_rank(2, 1);
  c.merged(1, 2);
}

void restore_shape(ShapeContext& c) {
  save_shape(c);
  const Tensor* slices = c.constant_input(2);
  const bool known = slices != nullptr && slices->num_elements() == c.num_outputs();
  for (int i = 0; i < c.num_outputs(); ++i) {
    PartialShape shape;
    if (known && !slices->data<std::string>()[i].empty()) {
      const auto part = ShapeAndSlice::parse(slices->data<std::string>()[i]);
      shape = part.slice.resolved(part.full).shape();
    }
    c.set_output(i, shape);
  }
}

void merge_shape(ShapeContext& c) {
  c.with_rank(0, 1);
  c.with_rank(1, 0);
}

void save_v1_shape(ShapeContext& c) {
  c.with_rank(0, 0);
  c.with_rank(1, 1);
}

void restore_v1_shape(ShapeContext& c) {
  for (int i = 0; i < c.num_inputs(); ++i) c.with_rank(i, 0);
  const Tensor* slice = c.num_inputs() > 2 ? c.constant_input(2) : nullptr;
  PartialShape shape;
  if (slice != nullptr && !slice->item<std::string>().empty()) {
    const auto part = ShapeAndSlice::parse(slice->item<std::string>());
    shape = part.slice.resolved(part.full).shape();
  }
  c.set_output(0, shape);
}

void sharded_filename_shape(ShapeContext& c) {
  for (int i = 0; i < c.num_inputs(); ++i) c.with_rank(i, 0);
  c.set_output(0, PartialShape::scalar());
}

// ---- Kernels

const std::string& string_scalar(RunContext& c, int i) {
  const Tensor& value = c.input(i);
  if (value.num_elements() != 1) {
    throw invalid_argument(c.node().op->def.inputs[i].name, " must be one string, not ", value.describe());
  }
  return value.item<std::string>();
}

// The names or slices of `count` tensors.
std::span<const std::string> string_list(RunContext& c, int i, int count) {
  const Tensor& value = c.input(i);
  if (value.rank() != 1 || value.num_elements() != count) {
    throw invalid_argument(c.node().op->def.inputs[i].name, " is ", value.describe(), "; a list of ", count,
                           " strings is wanted, one for each tensor");
  }
  return value.flat<std::string>();
}

void run_save(RunContext& c) {
  const int count = c.num_inputs() - 3;
  const auto names = string_list(c, 1, count), slices = string_list(c, 2, count);
  BundleWriter writer(*c.step().env, string_scalar(c, 0));
  for (int i = 0; i < count; ++i) {
    if (slices[i].empty()) {
      writer.add(names[i], c.input(3 + i));
    } else {
      const auto part = ShapeAndSlice::parse(slices[i]);
      writer.add_slice(names[i], part.full, part.slice, c.input(3 + i));
    }
  }
  writer.finish();
}

Tensor restore_one(const BundleReader& reader, const std::string& name, const std::string& slice, DType dtype) {
  if (slice.empty()) return reader.read(name, dtype);
  const auto part = ShapeAndSlice::parse(slice);
  const BundleEntry& entry = reader.entry(name);
  if (entry.shape != part.full) {
    throw invalid_argument("tensor '", name, "' has shape ", entry.shape, " in the checkpoint; ", part.full,
                           " is asked for");
  }
  if (entry.dtype != dtype) {
    throw invalid_argument("tensor '", name, "' is ", entry.dtype, " in the checkpoint; ", dtype, " is asked for");
  }
  return reader.read_slice(name, part.slice);
}

void run_restore(RunContext& c) {
  const int count = c.num_outputs();
  const auto names = string_list(c, 1, count), slices = string_list(c, 2, count);
  const BundleReader reader(*c.step().env, string_scalar(c, 0));
  // A program and a checkpoint that do not fit usually differ in several places: all are said at once.
  std::optional<Error> first;
  std::string problems, advice;
  for (int i = 0; i < count; ++i) {
    try {
      c.set_output(i, restore_one(reader, names[i], slices[i], c.node().output_types[i]));
    } catch (const Error& error) {
      if (error.code() != Code::kNotFound && error.code() != Code::kInvalidArgument) throw;
      if (!first) first = error;
      if (advice.empty()) advice = error.advice();
      problems += (problems.empty() ? "" : "; ") + error.detail();
    }
  }
  if (first) throw Error(first->code(), problems).hint(advice);
}

void run_merge(RunContext& c) {
  Env& env = *c.step().env;
  const std::string& destination = string_scalar(c, 1);
  std::vector<std::string> prefixes;
  for (const std::string& prefix : c.input(0).flat<std::string>()) {
    if (c.node().attr<bool>("allow_missing_files") && !env.exists(bundle_index_path(prefix))) continue;
    prefixes.push_back(prefix);
  }
  merge_bundles(env, prefixes, destination);
  if (!c.node().attr<bool>("delete_old_dirs")) return;
  for (const std::string& prefix : prefixes) {
    const std::string directory = directory_of(prefix);
    if (directory == directory_of(destination) || !env.exists(directory)) continue;
    if (env.list(directory).empty()) env.remove(directory);
  }
}

void run_sharded_filename(RunContext& c) {
  for (int i = 0; i < 3; ++i) {
    if (c.input(i).rank() != 0) {
      throw invalid_argument(c.node().op->def.inputs[i].name, " must be a scalar, not ", c.input(i).describe());
    }
  }
  char number[64];
  std::snprintf(number, sizeof number, "-%05d-of-%05d", c.input(1).item<std::int32_t>(),
                c.input(2).item<std::int32_t>());
  const std::string name = string_scalar(c, 0) + number;
  c.allocate_output(0, {}).data<std::string>()[0] = name;
}

// The V1 format: one file, every tensor a part that may be the whole.
void write_slices(RunContext& c, int first, std::span<const std::string> names, std::span<const std::string> slices) {
  SliceFileWriter writer(*c.step().env, string_scalar(c, 0));
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Tensor& value = c.input(first + static_cast<int>(i));
    if (slices.empty() || slices[i].empty()) {
      writer.add(names[i], value.shape(), TensorSlice::whole(value.rank()), value);
    } else {
      const auto part = ShapeAndSlice::parse(slices[i]);
      writer.add(names[i], part.full, part.slice, value);
    }
  }
  writer.finish();
}

void run_save_v1(RunContext& c) {
  const int count = c.num_inputs() - 2;
  write_slices(c, 2, string_list(c, 1, count), {});
}

void run_save_slices(RunContext& c) {
  const int count = c.num_inputs() - 3;
  write_slices(c, 3, string_list(c, 1, count), string_list(c, 2, count));
}

// Restore and RestoreSlice: one tensor of either format.
void run_restore_v1(RunContext& c) {
  const BundleReader reader(*c.step().env, string_scalar(c, 0));
  c.set_output(0, restore_one(reader, string_scalar(c, 1), c.num_inputs() > 2 ? string_scalar(c, 2) : std::string(),
                              c.node().output_types[0]));
}

void run_sharded_filespec(RunContext& c) {
  char suffix[32];
  std::snprintf(suffix, sizeof suffix,
                "-????"
                "?-of-%05d",
                c.input(1).item<std::int32_t>());
  const std::string name = string_scalar(c, 0) + suffix;
  c.allocate_output(0, {}).data<std::string>()[0] = name;
}

// ---- Registrations

CAUDAL_REGISTER_OP({
    .name = "SaveV2",
    .inputs = "prefix: string; tensor_names: string; shape_and_slices: string; tensors: dtypes",
    .attrs = "dtypes: list(type) >= 1",
    .stateful = true,
    .shape = save_shape,
    .gradient = no_gradient,
    .cpu = kernel_of<run_save>,
});
CAUDAL_REGISTER_OP({
    .name = "RestoreV2",
    .inputs = "prefix: string; tensor_names: string; shape_and_slices: string",
    .outputs = "tensors: dtypes",
    .attrs = "dtypes: list(type) >= 1",
    .stateful = true,
    .shape = restore_shape,
    .gradient = no_gradient,
    .cpu = kernel_of<run_restore>,
});
CAUDAL_REGISTER_OP({
    .name = "MergeV2Checkpoints",
    .inputs = "checkpoint_prefixes: string; destination_prefix: string",
    .attrs = "delete_old_dirs: bool = true; allow_missing_files: bool = false",
    .stateful = true,
    .shape = merge_shape,
    .gradient = no_gradient,
    .cpu = kernel_of<run_merge>,
});
CAUDAL_REGISTER_OP({
    .name = "ShardedFilename",
    .inputs = "basename: string; shard: int32; num_shards: int32",
    .outputs = "filename: string",
    .shape = sharded_filename_shape,
    .gradient = no_gradient,
    .cpu = kernel_of<run_sharded_filename>,
});

CAUDAL_REGISTER_OP({
    .name = "Save",
    .inputs = "filename: string; tensor_names: string; data: T",
    .attrs = "T: list(type) >= 1",
    .stateful = true,
    .shape = save_v1_shape,
    .gradient = no_gradient,
    .cpu = kernel_of<run_save_v1>,
});
CAUDAL_REGISTER_OP({
    .name = "SaveSlices",
    .inputs = "filename: string; tensor_names: string; shapes_and_slices: string; data: T",
    .attrs = "T: list(type) >= 1",
    .stateful = true,
    .shape = save_v1_shape,
    .gradient = no_gradient,
    .cpu = kernel_of<run_save_slices>,
});
CAUDAL_REGISTER_OP({
    .name = "Restore",
    .inputs = "file_pattern: string; tensor_name: string",
    .outputs = "tensor: dt",
    .attrs = "dt: type; preferred_shard: int = -1",
    .stateful = true,
    .shape = restore_v1_shape,
    .gradient = no_gradient,
    .cpu = kernel_of<run_restore_v1>,
});
CAUDAL_REGISTER_OP({
    .name = "RestoreSlice",
    .inputs = "file_pattern: string; tensor_name: string; shape_and_slice: string",
    .outputs = "tensor: dt",
    .attrs = "dt: type; preferred_shard: int = -1",
    .stateful = true,
    .shape = restore_v1_shape,
    .gradient = no_gradient,
    .cpu = kernel_of<run_restore_v1>,
});
CAUDAL_REGISTER_OP({
    .name = "ShardedFilespec",
    .inputs = "basename: string; num_shards: int32",
    .outputs = "filename: string",
    .shape = sharded_filename_shape,
    .gradient = no_gradient,
    .cpu = kernel_of<run_sharded_filespec>,
});

// ---- Public functions

Operand string_vector(const std::vector<std::string>& values) { return Operand(Tensor(values)); }

}  // namespace

namespace raw_ops {

Operation save_v2(const Operand& prefix, const std::vector<std::string>& tensor_names,
                  const std::vector<std::string>& shape_and_slices, const std::vector<Output>& tensors,
                  const OpOptions& options) {
  return OpBuilder("SaveV2", options)
      .input(prefix)
      .input(string_vector(tensor_names))
      .input(string_vector(shape_and_slices))
      .inputs(tensors)
      .build_operation();
}

std::vector<Output> restore_v2(const Operand& prefix, const std::vector<std::string>& tensor_names,
                               const std::vector<std::string>& shape_and_slices, const std::vector<DType>& dtypes,
                               const OpOptions& options) {
  return outputs_of(OpBuilder("RestoreV2", options)
                        .input(prefix)
                        .input(string_vector(tensor_names))
                        .input(string_vector(shape_and_slices))
                        .attr("dtypes", dtypes)
                        .build_node());
}

Operation merge_v2_checkpoints(const Operand& checkpoint_prefixes, const Operand& destination_prefix,
                               const MergeV2CheckpointsOptions& options) {
  return OpBuilder("MergeV2Checkpoints", {.name = options.name, .where = options.where})
      .input(checkpoint_prefixes)
      .input(destination_prefix)
      .attr("delete_old_dirs", options.delete_old_dirs)
      .attr("allow_missing_files", options.allow_missing_files)
      .build_operation();
}

Output sharded_filename(const Operand& basename, const Operand& shard, const Operand& num_shards,
                        const OpOptions& options) {
  return OpBuilder("ShardedFilename", options).input(basename).input(shard).input(num_shards).build();
}

}  // namespace raw_ops
}  // namespace caudal::inline v0
