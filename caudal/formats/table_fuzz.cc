#include "caudal/base/crc32c.h"
#include "caudal/base/memory_env.h"
#include "caudal/formats/coding.h"
#include "caudal/formats/snappy.h"
#include "caudal/formats/table.h"

namespace {

void read_table(std::string_view bytes) {
  caudal::MemoryEnv env;
  env.create("x")->append(bytes);
  try {
    caudal::Table(env.open_random_access("x")).read_all();
  } catch (const caudal::Error&) {
  }
}

// A table with one block of these bytes, whose checksum is right: behind it lies the parser of blocks. The last byte is
// the compression.
std::string table_around(std::string_view block) {
  std::string out(block);
  caudal::put_fixed(&out, caudal::masked_crc32c(block));
  std::string handle;
  caudal::put_varint(&handle, 0);
  caudal::put_varint(&handle, block.size() - 1);
  caudal::BlockBuilder index(1);
  index.add("\xff", handle);
  std::string index_block = index.finish();
  std::string footer("\0\0", 2);
  caudal::put_varint(&footer, out.size());
  caudal::put_varint(&footer, index_block.size());
  index_block += '\0';
  caudal::put_fixed(&index_block, caudal::masked_crc32c(index_block));
  footer.resize(40);
  caudal::put_fixed(&footer, uint64_t{0xdb4775248b80fb57});
  return out + index_block + footer;
}

}  // namespace

// Any bytes as a table, as one block of a table, and as a Snappy block.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  read_table(bytes);
  if (size > 0) read_table(table_around(bytes));
  try {
    caudal::snappy_uncompress(bytes, 1 << 24);
  } catch (const caudal::Error&) {
  }
  return 0;
}
