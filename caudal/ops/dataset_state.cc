#include "caudal/ops/dataset_state.h"

#include <cstring>

#include "caudal/base/error.h"
#include "caudal/core/variant_registry.h"
#include "caudal/formats/coding.h"

namespace caudal::inline v0::ops {

std::uint64_t StateArchive::read_varint() {
  ByteReader reader(rest_);
  std::uint64_t value = 0;
  if (!reader.varint(&value)) throw data_loss("the saved position of an iterator is damaged");
  rest_ = reader.rest();
  return value;
}

std::string_view StateArchive::read_bytes(std::uint64_t size) {
  if (size > rest_.size()) throw data_loss("the saved position of an iterator is cut");
  const std::string_view bytes = rest_.substr(0, size);
  rest_.remove_prefix(size);
  return bytes;
}

void StateArchive::number(std::uint64_t& value) {
  if (saving_) {
    put_varint(&out_, value);
  } else {
    value = read_varint();
  }
}

void StateArchive::number(std::int64_t& value) {
  auto bits = (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63);  // zigzag
  number(bits);
  if (!saving_) value = static_cast<std::int64_t>(bits >> 1) ^ -static_cast<std::int64_t>(bits & 1);
}

void StateArchive::flag(bool& value) {
  std::uint64_t bit = value ? 1 : 0;
  number(bit);
  value = bit != 0;
}

void StateArchive::text(std::string& value) {
  if (saving_) {
    put_varint(&out_, value.size());
    out_ += value;
  } else {
    value = read_bytes(read_varint());
  }
}

void StateArchive::tag(std::string_view kind) {
  std::string saved(kind);
  text(saved);
  if (saved == kind) return;
  throw data_loss("the saved position is that of another pipeline: it has '", saved, "' where '", kind, "' is")
      .hint("Resume with the pipeline that the run began with.");
}

std::size_t StateArchive::count(std::size_t value) {
  std::uint64_t n = value;
  number(n);
  if (!saving_ && n > rest_.size()) throw data_loss("the saved position of an iterator is cut");
  return n;
}

void StateArchive::tensor(Tensor& value) {
  auto type = static_cast<std::uint64_t>(value.dtype());
  number(type);
  if (!saving_ && (type == 0 || type > static_cast<std::uint64_t>(DType::kUint64))) {
    throw data_loss("the saved position of an iterator has an element of type ", type);
  }
  const auto dtype = static_cast<DType>(type);
  if (dtype == DType::kResource) {
    throw unimplemented("an element of type ", dtype, " lies in a buffer of the iterator, and has no bytes to save");
  }
  std::vector<std::int64_t> dims = value.shape().to_vector();
  numbers(dims);
  if (saving_) {
    if (dtype == DType::kString) {
      for (std::string& element : value.flat<std::string>()) text(element);
    } else if (dtype == DType::kVariant) {
      for (Variant& element : value.flat<Variant>()) variant(element);
    } else {
      out_ += value.raw_bytes();
    }
    return;
  }
  const auto elements = checked_num_elements(dims);
  const std::size_t least = is_plain(dtype) ? dtype_size(dtype) : 1;
  if (!elements || static_cast<std::uint64_t>(*elements) > rest_.size() / least) {
    throw data_loss("the saved position of an iterator has an element of wrong size");
  }
  value = Tensor(dtype, Shape(dims));
  if (dtype == DType::kString) {
    for (std::string& element : value.flat<std::string>()) text(element);
  } else if (dtype == DType::kVariant) {
    for (Variant& element : value.flat<Variant>()) variant(element);
  } else if (*elements > 0) {
    std::memcpy(value.raw(), read_bytes(value.byte_size()).data(), value.byte_size());
  }
}

void StateArchive::variant(Variant& value) {
  // Windows of windows: few; bytes from outside may claim many.
  static constexpr int kMostNested = 16;
  static thread_local int nested = 0;
  struct Level {
    Level() { ++nested; }
    ~Level() { --nested; }
  } level;
  if (nested > kMostNested)
    throw data_loss("the saved position of an iterator is nested ", kMostNested, " levels deep");
  std::string type, bytes;
  std::vector<Tensor> inside;
  if (saving_ && !value.empty()) {
    type = value.get()->type_name();
    const VariantOps& known = variant_ops(type);
    bytes = known.encode(value);
    inside = known.encode_tensors(value);
  }
  text(type);
  text(bytes);
  tensors(inside);
  if (!saving_) value = type.empty() ? Variant() : variant_ops(type).decode_tensors(bytes, std::move(inside));
}

void StateArchive::tensors(std::vector<Tensor>& values) {
  values.resize(count(values.size()));
  for (Tensor& value : values) tensor(value);
}

void StateArchive::check_end() const {
  if (!rest_.empty()) throw data_loss("the saved position of an iterator has ", rest_.size(), " bytes too many");
}

}  // namespace caudal::inline v0::ops
