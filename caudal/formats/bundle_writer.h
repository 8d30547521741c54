// Writing checkpoints: TensorFlow's tensor bundles ("V2" files).
//
//   BundleWriter writer(env, "/tmp/model.ckpt-10");
//   writer.add("hidden/kernel", kernel);
//   writer.finish();
//
// Nothing is visible under the prefix before finish(), which publishes at one stroke: data first, synced, then the
// index by a rename. A crash at any moment leaves the former checkpoint of that prefix or the new one, never a mixture:
// where the prefix exists already, the new data go to files with another number of shards. Fresh prefixes get the names
// and bytes that TensorFlow writes for the same tensors in the same order. Ownership: the Env must outlive the writer.
// Thread safety: one thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "caudal/base/env.h"
#include "caudal/base/export.h"
#include "caudal/formats/bundle_entry.h"
#include "caudal/tensor/tensor.h"

namespace caudal::inline v0 {

class CAUDAL_API BundleWriter {
 public:
  // Makes the directory if needed and opens a temporary data file beside the prefix.
  BundleWriter(Env& env, std::string prefix);
  // Removes the temporary file unless finish() was called.
  ~BundleWriter();
  BundleWriter(const BundleWriter&) = delete;
  BundleWriter& operator=(const BundleWriter&) = delete;

  // INVALID_ARGUMENT for an empty or repeated name; UNIMPLEMENTED for resources and variants.
  void add(std::string_view name, const Tensor& tensor);
  // Part of a tensor of shape `full`. INVALID_ARGUMENT if it does not fit the shape, the type or the part.
  void add_slice(std::string_view name, const Shape& full, const TensorSlice& slice, const Tensor& part);
  // REQUIRES: called once, after the last tensor.
  void finish();

 private:
  void add_entry(std::string key, const Tensor& tensor);
  void write_plain(const Tensor& tensor, BundleEntry* entry);
  void write_strings(const Tensor& tensor, BundleEntry* entry);

  Env& env_;
  std::string prefix_, temporary_;
  std::unique_ptr<WritableFile> data_;
  int64_t size_ = 0;
  std::map<std::string, BundleEntry> entries_;
};

// Joins checkpoints that hold different tensors, or different parts of the same ones, into one: renames their data
// files and writes one index; theirs are removed. INVALID_ARGUMENT if a tensor is in two of them.
CAUDAL_API void merge_bundles(Env& env, std::span<const std::string> prefixes, const std::string& merged);

// Removes all files of a checkpoint, the index first, so that a reader finds all or nothing.
CAUDAL_API void remove_bundle(Env& env, const std::string& prefix);

}  // namespace caudal::inline v0
