#include "caudal/base/error.h"
#include "caudal/formats/events.h"

// Any bytes as an Event message, with the summary in it.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const caudal::Event event = caudal::Event::decode({reinterpret_cast<const char*>(data), size});
    const caudal::Event again = caudal::Event::decode(event.encode());
    if (again.step != event.step || again.what != event.what || again.payload != event.payload) __builtin_trap();
    if (event.what == caudal::Event::What::kSummary) event.summary();
  } catch (const caudal::Error&) {
  }
  return 0;
}
