// Reading checkpoints: TensorFlow's tensor bundles ("V2" files), and its old V1 files where there is no bundle of the
// name.
//
//   BundleReader reader(env, "/tmp/model.ckpt-10");
//   Tensor kernel = reader.read("hidden/kernel");
//
// The whole index is read at once, values when asked for. Data files are opened at once too, so that a checkpoint that
// is replaced or deleted meanwhile stays readable. Errors: NOT_FOUND if there is no checkpoint or no such tensor (with
// similar names as a hint); DATA_LOSS for wrong checksums and damaged structure; OUT_OF_RANGE if a data file is too
// short, as TensorFlow has it. Sizes are checked against the files before memory is taken. Several V1 files are named
// by a pattern ("model-?????-of-00002"), which RestoreV2 gets for sharded ones. Ownership: the Env must outlive the
// reader. Thread safety: const members may be called from several threads.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "caudal/base/env.h"
#include "caudal/base/export.h"
#include "caudal/formats/bundle_entry.h"
#include "caudal/formats/slice_file.h"
#include "caudal/formats/tensor_slice.h"
#include "caudal/tensor/tensor.h"

namespace caudal::inline v0 {

class CAUDAL_API BundleReader {
 public:
  BundleReader(Env& env, std::string prefix);

  const std::string& prefix() const { return prefix_; }
  // Names of the tensors, sorted; parts of tensors are not listed.
  const std::vector<std::string>& names() const { return names_; }
  bool contains(std::string_view name) const { return find(name) != nullptr; }
  // Type, full shape and parts of a tensor.
  const BundleEntry& entry(std::string_view name) const;

  // A whole tensor, put together from its parts if need be. DATA_LOSS if parts are missing.
  Tensor read(std::string_view name) const;
  // The same; INVALID_ARGUMENT if it has another type.
  Tensor read(std::string_view name, DType dtype) const;
  // A part of a tensor, however it was saved.
  Tensor read_slice(std::string_view name, const TensorSlice& slice) const;

 private:
  const BundleEntry* find(std::string_view name) const;
  void load();
  bool load_v1();
  void open_shards();
  RandomAccessFile& shard(int number) const;
  void check_extent(const BundleEntry& entry) const;
  Tensor read_entry(const BundleEntry& entry) const;
  Tensor read_plain(const BundleEntry& entry) const;
  Tensor read_strings(const BundleEntry& entry) const;
  Tensor read_parts(std::string_view name, const BundleEntry& entry, const TensorSlice& wanted) const;
  const BundleEntry& part_entry(std::string_view name, const BundleEntry& whole, const TensorSlice& slice) const;
  Tensor read_v1_part(std::string_view name, const TensorSlice& slice) const;
  Error no_checkpoint() const;

  Env& env_;
  std::string prefix_;
  int num_shards_ = 0;
  std::map<std::string, BundleEntry, std::less<>> entries_;
  std::vector<std::string> names_;
  std::vector<SliceFileReader> v1_files_;  // instead of shards
  mutable std::mutex mutex_;
  mutable std::map<int, std::unique_ptr<RandomAccessFile>> shards_;
};

}  // namespace caudal::inline v0
