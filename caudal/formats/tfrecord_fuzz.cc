#include "caudal/base/memory_env.h"
#include "caudal/formats/tfrecord.h"

namespace {

void read_all(caudal::MemoryEnv& env, caudal::Compression compression) {
  try {
    caudal::RecordReader reader(env, "x", {.compression = compression, .max_record_bytes = 1 << 24});
    for (std::string record; reader.next(&record);) {
    }
  } catch (const caudal::Error&) {
  }
}

}  // namespace

// Any bytes as a file of records, plain and compressed; and as one record, which must come back.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  caudal::MemoryEnv env;
  env.create("x")->append(bytes);
  read_all(env, caudal::Compression::kNone);
  read_all(env, caudal::Compression::kZlib);
  read_all(env, caudal::Compression::kGzip);
  env.create("y")->append(caudal::framed_record(bytes));
  caudal::RecordReader reader(env, "y");
  std::string record;
  if (!reader.next(&record) || record != bytes) __builtin_trap();
  return 0;
}
