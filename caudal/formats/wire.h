// The protobuf wire format by hand, for the few small messages that bundles and event files need without protobuf.
//
//   WireWriter entry;                       WireReader reader(bytes, "bundle entry");
//   entry.varint(1, dtype);                 while (reader.next())
//   entry.bytes(2, shape);                    if (reader.field() == 1) dtype = reader.varint();
//
// As in proto3, zeros and empty strings are left out by the *_unless_default functions only.
// Errors: malformed bytes and unexpected wire types are DATA_LOSS naming the message. Thread safety: values.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "caudal/base/export.h"
#include "caudal/formats/coding.h"

namespace caudal::inline v0 {

enum class WireType { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

class CAUDAL_API WireWriter {
 public:
  void varint(int field, uint64_t value) {
    tag(field, WireType::kVarint);
    put_varint(&out_, value);
  }
  void varint_unless_default(int field, uint64_t value) {
    if (value != 0) varint(field, value);
  }
  void fixed32(int field, uint32_t value) { put_number(field, WireType::kFixed32, value); }
  void real(int field, float value) { put_number(field, WireType::kFixed32, value); }
  void real(int field, double value) { put_number(field, WireType::kFixed64, value); }
  void real_unless_default(int field, double value);
  // A string, bytes, or a message that is already encoded.
  void bytes(int field, std::string_view value) {
    tag(field, WireType::kBytes);
    put_varint(&out_, value.size());
    out_ += value;
  }
  void bytes_unless_default(int field, std::string_view value) {
    if (!value.empty()) bytes(field, value);
  }
  void message(int field, const WireWriter& value) { bytes(field, value.out_); }
  void packed(int field, std::span<const double> values) {
    bytes(field, {reinterpret_cast<const char*>(values.data()), values.size_bytes()});
  }
  void packed(int field, std::span<const float> values) {
    bytes(field, {reinterpret_cast<const char*>(values.data()), values.size_bytes()});
  }

  const std::string& str() const& { return out_; }
  std::string str() && { return std::move(out_); }

 private:
  void tag(int field, WireType type) {
    put_varint(&out_, (static_cast<uint64_t>(field) << 3) | static_cast<uint64_t>(type));
  }
  template <class T>
  void put_number(int field, WireType type, T value) {
    tag(field, type);
    put_fixed(&out_, value);
  }

  std::string out_;
};

// Ownership: refers to the bytes and the name.
class CAUDAL_API WireReader {
 public:
  WireReader(std::string_view bytes, std::string_view message) : bytes_(bytes), message_(message) {}

  // Goes to the next field; false at the end.
  bool next();
  int field() const { return field_; }
  WireType type() const { return type_; }

  // The field's value; DATA_LOSS if it has another wire type.
  uint64_t varint() const { return expect(WireType::kVarint), number_; }
  int64_t int64() const { return static_cast<int64_t>(varint()); }
  bool boolean() const { return varint() != 0; }
  uint32_t fixed32() const { return expect(WireType::kFixed32), static_cast<uint32_t>(number_); }
  float float32() const { return std::bit_cast<float>(fixed32()); }
  double float64() const { return expect(WireType::kFixed64), std::bit_cast<double>(number_); }
  std::string_view bytes() const { return expect(WireType::kBytes), value_; }
  // A number of a repeated field of doubles or floats, packed or not, appended to `out` (std::vector).
  template <class Vector>
  void append_reals(Vector* out) const {
    using T = typename Vector::value_type;
    if (type_ != WireType::kBytes) {
      if constexpr (sizeof(T) == 8)
        out->push_back(float64());
      else
        out->push_back(float32());
      return;
    }
    if (value_.size() % sizeof(T) != 0) fail("a packed field has a partial number");
    for (size_t at = 0; at < value_.size(); at += sizeof(T)) out->push_back(get_fixed<T>(value_.data() + at));
  }

 private:
  void expect(WireType type) const {
    if (type_ != type) fail("a field has another type than expected");
  }
  [[noreturn]] void fail(std::string_view what) const;

  ByteReader bytes_;
  std::string_view message_;
  int field_ = 0;
  WireType type_ = WireType::kVarint;
  uint64_t number_ = 0;
  std::string_view value_;
};

}  // namespace caudal::inline v0
