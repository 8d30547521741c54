#include "caudal/formats/slice_file.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "caudal/base/strings.h"
#include "caudal/formats/bundle_entry.h"
#include "caudal/formats/temporary_file.h"
#include "caudal/formats/tensor_messages.h"

namespace caudal::inline v0 {
namespace {

// Appends the varints of a repeated field, packed or not.
void append_integers(const WireReader& reader, std::vector<std::uint64_t>* out) {
  if (reader.type() != WireType::kBytes) {
    out->push_back(reader.varint());
    return;
  }
  ByteReader packed(reader.bytes());
  while (!packed.empty()) {
    std::uint64_t value;
    if (!packed.varint(&value)) throw data_loss("a packed number is malformed");
    out->push_back(value);
  }
}

void check_count(std::size_t count, std::size_t wanted) {
  if (count != wanted) throw data_loss("has ", count, " numbers instead of ", wanted);
}

// The values of TensorProto `message` as a tensor; its own type and shape are not written in these files. Nothing is
// allocated for elements that are not there.
Tensor decode_values(std::string_view message, DType dtype, const Shape& shape) {
  const ValueField field = value_field(dtype);
  std::vector<float> floats;
  std::vector<double> doubles;
  std::vector<std::uint64_t> integers;
  std::vector<std::string_view> strings;
  for (WireReader reader(message, "tensor"); reader.next();) {
    if (reader.field() != field.number) continue;
    if (field.stored == StoredValues::kFloats) reader.append_reals(&floats);
    if (field.stored == StoredValues::kDoubles) reader.append_reals(&doubles);
    if (field.stored == StoredValues::kIntegers || field.stored == StoredValues::kBits16)
      append_integers(reader, &integers);
    if (field.stored == StoredValues::kStrings) strings.push_back(reader.bytes());
  }
  const auto elements = static_cast<std::size_t>(shape.num_elements());
  const std::size_t numbers = is_complex(dtype) ? 2 * elements : elements;
  check_count(floats.size() + doubles.size() + integers.size() + strings.size(), numbers);
  Tensor out(dtype, shape);
  if (elements == 0) return out;
  if (!floats.empty()) std::memcpy(out.raw(), floats.data(), floats.size() * sizeof(float));
  if (!doubles.empty()) std::memcpy(out.raw(), doubles.data(), doubles.size() * sizeof(double));
  std::copy(strings.begin(), strings.end(), dtype == DType::kString ? out.data<std::string>() : nullptr);
  const std::size_t size = is_plain(dtype) ? dtype_size(dtype) : 0;
  for (std::size_t i = 0; i < integers.size(); ++i) {
    const std::uint64_t value = dtype == DType::kBool ? integers[i] != 0 : integers[i];
    std::memcpy(static_cast<char*>(out.raw()) + i * size, &value, size);
  }
  return out;
}

SavedSlices decode_saved(std::string_view bytes, std::string* name) {
  SavedSlices saved;
  for (WireReader reader(bytes, "saved tensor"); reader.next();) {
    if (reader.field() == 1) *name = reader.bytes();
    if (reader.field() == 2) saved.shape = decode_shape(reader.bytes());
    if (reader.field() == 3) saved.dtype = decode_dtype(reader.varint());
    if (reader.field() == 4) saved.slices.push_back(decode_slice(reader.bytes()));
  }
  if (saved.dtype == DType::kInvalid) throw data_loss("saved tensor '", escaped(*name, 400), "' has no type");
  return saved;
}

// The message in field `number` of `bytes`; empty if it has none.
std::string_view message_in(std::string_view bytes, int number) {
  std::string_view found;
  for (WireReader reader(bytes, "saved slices"); reader.next();) {
    if (reader.field() == number) found = reader.bytes();
  }
  return found;
}

constexpr int kContents = 1, kPart = 2;  // fields of SavedTensorSlices
constexpr int kValues = 3;               // of SavedSlice

}  // namespace

SliceFileReader::SliceFileReader(Env& env, const std::string& path) try : table_(env.open_random_access(path)) {
  const std::optional<std::string> contents = table_.find("");
  if (!contents) throw data_loss("has no list of its tensors");
  for (WireReader reader(message_in(*contents, kContents), "saved slices"); reader.next();) {
    if (reader.field() != 1) continue;
    std::string name;
    SavedSlices saved = decode_saved(reader.bytes(), &name);
    tensors_.insert_or_assign(std::move(name), std::move(saved));
  }
} catch (const Error& error) {
  throw error.in(path);
}

Tensor SliceFileReader::read(std::string_view name, const SavedSlices& saved, const TensorSlice& slice) const {
  if (value_field(saved.dtype).stored == StoredValues::kNone) {
    throw unimplemented("values of type ", saved.dtype, " in a V1 checkpoint");
  }
  const std::optional<std::string> part = table_.find(bundle_slice_key(name, slice));
  if (!part) throw data_loss("the part ", slice.to_string(), " is missing");
  return decode_values(message_in(message_in(*part, kPart), kValues), saved.dtype, slice.resolved(saved.shape).shape());
}

void SliceFileWriter::add(std::string_view name, const Shape& full, const TensorSlice& slice, const Tensor& part) {
  if (name.empty()) throw invalid_argument("a saved tensor needs a name");
  if (value_field(part.dtype()).stored == StoredValues::kNone) {
    throw unimplemented("tensor '", name, "' is ", part.dtype(), ", which V1 checkpoints cannot hold");
  }
  const TensorSlice resolved = slice.resolved(full);
  if (resolved.shape() != part.shape()) {
    throw invalid_argument("tensor '", name, "': the part ", slice.to_string(), " of ", full, " has shape ",
                           resolved.shape(), ", not ", part.shape());
  }
  SavedSlices& saved = tensors_[std::string(name)];
  if (saved.slices.empty()) {
    saved.dtype = part.dtype();
    saved.shape = full;
  } else if (saved.dtype != part.dtype() || saved.shape != full) {
    throw invalid_argument("tensor '", name, "' is ", part.dtype(), full, " here and ", saved.dtype, saved.shape,
                           " in the parts before");
  }
  for (const TensorSlice& other : saved.slices) {
    TensorSlice common;
    if (resolved.intersect(other.resolved(full), &common)) {
      throw invalid_argument("tensor '", name, "': the parts ", slice.to_string(), " and ", other.to_string(),
                             " overlap");
    }
  }
  saved.slices.push_back(slice);
  WireWriter message;
  message.bytes(1, name);
  message.message(2, encode_slice(slice));
  message.message(kValues, encode_values(part));
  WireWriter record;
  record.message(kPart, message);
  parts_[bundle_slice_key(name, slice)] = std::move(record).str();
}

std::string SliceFileWriter::encode_contents() const {
  WireWriter contents;
  for (const auto& [name, saved] : tensors_) {
    WireWriter tensor;
    tensor.bytes(1, name);
    tensor.message(2, encode_shape(saved.shape));
    tensor.varint(3, static_cast<std::uint64_t>(saved.dtype));
    for (const TensorSlice& slice : saved.slices) tensor.message(4, encode_slice(slice));
    contents.message(1, tensor);
  }
  WireWriter versions;
  versions.varint(1, 1);
  contents.message(2, versions);
  WireWriter record;
  record.message(kContents, contents);
  return std::move(record).str();
}

void SliceFileWriter::finish() {
  const std::string temporary = temporary_name(path_);
  try {
    const std::string directory = directory_of(path_);
    if (!directory.empty()) env_.mkdirs(directory);
    const auto file = env_.create(temporary);
    TableBuilder table(file.get());
    table.add("", encode_contents());
    for (const auto& [key, record] : parts_) table.add(key, record);
    table.finish();
    file->sync();
    file->close();
    env_.rename(temporary, path_);
  } catch (...) {
    remove_quietly(env_, temporary);
    throw;
  }
}

}  // namespace caudal::inline v0
