#include "caudal/base/error.h"
#include "caudal/formats/example.h"

// Any bytes as Example and as SequenceExample. What can be read is written, and then reads and writes as itself.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  try {
    const std::string written = caudal::example_bytes(caudal::parse_example(bytes));
    if (caudal::example_bytes(caudal::parse_example(written)) != written) __builtin_trap();
  } catch (const caudal::Error&) {
  }
  try {
    const std::string written = caudal::sequence_example_bytes(caudal::parse_sequence_example(bytes));
    if (caudal::sequence_example_bytes(caudal::parse_sequence_example(written)) != written) __builtin_trap();
  } catch (const caudal::Error&) {
  }
  return 0;
}
