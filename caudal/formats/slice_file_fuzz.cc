#include <map>
#include <string>

#include "caudal/base/memory_env.h"
#include "caudal/formats/bundle_reader.h"
#include "caudal/formats/coding.h"
#include "caudal/formats/table.h"

namespace {

// Sized keys and values: a file with right checksums around wrong content.
void write_file(std::string_view bytes, caudal::MemoryEnv* env) {
  std::map<std::string, std::string> entries;
  caudal::ByteReader reader(bytes);
  std::string_view key, value;
  while (reader.sized_bytes(&key) && reader.sized_bytes(&value)) entries[std::string(key)] = value;
  const auto file = env->create("m");
  caudal::TableBuilder table(file.get());
  for (const auto& [name, entry] : entries) table.add(name, entry);
  table.finish();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  caudal::MemoryEnv env;
  write_file({reinterpret_cast<const char*>(data), size}, &env);
  try {
    const caudal::BundleReader reader(env, "m");
    for (const std::string& name : reader.names()) {
      try {
        reader.read(name);
      } catch (const caudal::Error&) {
      }
    }
  } catch (const caudal::Error&) {
  }
  return 0;
}
