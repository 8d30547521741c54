// Checkpoints in TensorFlow's old V1 format: one sorted table of the parts of tensors.
//
// The empty key holds what the file has (SavedTensorSliceMeta); under the key of each part, which is a bundle's
// (bundle_slice_key), lie its values (SavedSlice). Messages of tensorflow/core/util/saved_tensor_slice.proto. Written
// for programs that ask for it (SaverDef.V1); the V2 format of bundle_writer.h is better in every way.
//
// Errors: NOT_FOUND, DATA_LOSS for damaged files, UNIMPLEMENTED for types that the format lacks. Sizes are checked
// before memory is taken. Ownership: the Env must outlive reader and writer. Thread safety: a reader is immutable, a
// writer belongs to one thread.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "caudal/base/env.h"
#include "caudal/base/export.h"
#include "caudal/formats/table.h"
#include "caudal/formats/tensor_slice.h"
#include "caudal/tensor/tensor.h"

namespace caudal::inline v0 {

struct SavedSlices {
  DType dtype = DType::kInvalid;
  Shape shape;  // of the whole tensor
  std::vector<TensorSlice> slices;
};

class CAUDAL_API SliceFileReader {
 public:
  SliceFileReader(Env& env, const std::string& path);

  const std::map<std::string, SavedSlices, std::less<>>& tensors() const { return tensors_; }
  // The values of a part that was saved. REQUIRES: `slice` is one of the tensor's.
  Tensor read(std::string_view name, const SavedSlices& saved, const TensorSlice& slice) const;

 private:
  Table table_;
  std::map<std::string, SavedSlices, std::less<>> tensors_;
};

class CAUDAL_API SliceFileWriter {
 public:
  SliceFileWriter(Env& env, std::string path) : env_(env), path_(std::move(path)) {}

  // Part of a tensor of shape `full`; a whole one is a part too. INVALID_ARGUMENT if it does not fit the shape, the
  // type or the parts before; UNIMPLEMENTED for a type that the format lacks.
  void add(std::string_view name, const Shape& full, const TensorSlice& slice, const Tensor& part);
  // Writes the file under another name and renames it: a crash leaves the former file or the new one.
  void finish();

 private:
  std::string encode_contents() const;

  Env& env_;
  std::string path_;
  std::map<std::string, SavedSlices, std::less<>> tensors_;
  std::map<std::string, std::string> parts_;  // by key
};

}  // namespace caudal::inline v0
