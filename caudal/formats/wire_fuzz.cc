#include <vector>

#include "caudal/base/error.h"
#include "caudal/formats/bundle_entry.h"
#include "caudal/formats/ordered_code.h"
#include "caudal/formats/wire.h"

namespace {

void read_every_field(std::string_view bytes) {
  for (caudal::WireReader reader(bytes, "message"); reader.next();) {
    try {
      std::vector<float> floats;
      std::vector<double> doubles;
      reader.append_reals(&floats);
      reader.append_reals(&doubles);
      reader.varint();
    } catch (const caudal::Error&) {
    }
  }
}

// Ordered numbers that can be read are written the same way.
void check_ordered(std::string_view bytes) {
  caudal::ByteReader reader(bytes);
  int64_t number;
  if (caudal::ordered_get_int64(&reader, &number)) {
    std::string again;
    caudal::ordered_put_int64(&again, number);
    if (again != bytes.substr(0, bytes.size() - reader.size())) __builtin_trap();
  }
  std::string text;
  uint64_t unsigned_number;
  caudal::ordered_get_string(&reader, &text);
  caudal::ordered_get_uint64(&reader, &unsigned_number);
}

}  // namespace

// Any bytes as a message: generic fields, entries of a checkpoint's index, and ordered codes.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  check_ordered(bytes);
  try {
    read_every_field(bytes);
  } catch (const caudal::Error&) {
  }
  try {
    const caudal::BundleEntry entry = caudal::BundleEntry::decode(bytes, "key");
    if (caudal::BundleEntry::decode(entry.encode(), "key").encode() != entry.encode()) __builtin_trap();
  } catch (const caudal::Error&) {
  }
  try {
    caudal::BundleHeader::decode(bytes);
  } catch (const caudal::Error&) {
  }
  return 0;
}
