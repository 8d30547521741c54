#include "caudal/formats/wire.h"

#include <bit>

#include "caudal/base/error.h"

namespace caudal::inline v0 {

void WireWriter::real_unless_default(int field, double value) {
  if (std::bit_cast<uint64_t>(value) != 0) real(field, value);  // -0.0 is written
}

bool WireReader::next() {
  if (bytes_.empty()) return false;
  uint64_t tag;
  if (!bytes_.varint(&tag) || tag >> 3 == 0 || tag >> 3 > 0x1fffffff) fail("a field number is malformed");
  field_ = static_cast<int>(tag >> 3);
  type_ = static_cast<WireType>(tag & 7);
  bool good = false;
  switch (type_) {
    case WireType::kVarint:
      good = bytes_.varint(&number_);
      break;
    case WireType::kFixed64:
      good = bytes_.fixed(&number_);
      break;
    case WireType::kBytes:
      good = bytes_.sized_bytes(&value_);
      break;
    case WireType::kFixed32: {
      uint32_t half = 0;
      good = bytes_.fixed(&half);
      number_ = half;
      break;
    }
    default:
      fail("a field has an unknown wire type");
  }
  if (!good) fail("a field is cut off");
  return true;
}

void WireReader::fail(std::string_view what) const {
  throw data_loss("malformed ", message_, ": ", what, " (field ", field_, ")");
}

}  // namespace caudal::inline v0
