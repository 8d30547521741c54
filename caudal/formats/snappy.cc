#include "caudal/formats/snappy.h"

#include "caudal/base/error.h"
#include "caudal/formats/coding.h"

namespace caudal::inline v0 {
namespace {

[[noreturn]] void fail() { throw data_loss("a Snappy block is damaged"); }

// `count` bytes, little-endian. REQUIRES: count <= 4.
uint32_t small_number(ByteReader* in, int count) {
  uint32_t value = 0;
  for (int i = 0; i < count; ++i) {
    uint8_t byte;
    if (!in->fixed(&byte)) fail();
    value |= uint32_t{byte} << (8 * i);
  }
  return value;
}

void copy_literal(ByteReader* in, uint8_t tag, std::string* out) {
  const uint32_t code = tag >> 2;
  const uint64_t length = uint64_t{code < 60 ? code : small_number(in, static_cast<int>(code) - 59)} + 1;
  std::string_view bytes;
  if (!in->bytes(length, &bytes)) fail();
  *out += bytes;
}

// Copies from what is already there; source and target may overlap, which repeats a pattern.
void copy_back(ByteReader* in, uint8_t tag, uint64_t size, std::string* out) {
  uint32_t length, offset;
  if ((tag & 3) == 1) {
    length = ((tag >> 2) & 7) + 4;
    offset = (uint32_t{tag} >> 5 << 8) | small_number(in, 1);
  } else {
    length = (tag >> 2) + 1;
    offset = small_number(in, (tag & 3) == 2 ? 2 : 4);
  }
  if (offset == 0 || offset > out->size() || out->size() + length > size) fail();
  for (size_t from = out->size() - offset; length > 0; --length) *out += (*out)[from++];
}

}  // namespace

std::string snappy_uncompress(std::string_view block, uint64_t limit) {
  ByteReader in(block);
  uint32_t size;
  if (!in.varint32(&size)) fail();
  if (size > limit) throw resource_exhausted("a Snappy block has ", size, " bytes, more than the limit of ", limit);
  // A three-byte copy gives at most 64 bytes.
  if (size / 64 > block.size()) fail();
  std::string out;
  out.reserve(size);
  while (!in.empty()) {
    uint8_t tag;
    in.fixed(&tag);
    if ((tag & 3) == 0) {
      copy_literal(&in, tag, &out);
    } else {
      copy_back(&in, tag, size, &out);
    }
    if (out.size() > size) fail();
  }
  if (out.size() != size) fail();
  return out;
}

}  // namespace caudal::inline v0
