// What a program outside this tree does with an installed Caudal.
#include <cstdio>

#include "caudal/base/error.h"

#ifdef WITH_OWN_MESSAGES
extern "C" bool own_messages_work();
#endif

int main() {
  try {
    throw caudal::not_found("no file '", "x.ckpt", "'").hint("Save one first.");
  } catch (const caudal::Error& error) {
    std::puts(error.what());
    if (error.code() != caudal::Code::kNotFound) return 1;
  }
#ifdef WITH_OWN_MESSAGES
  if (!own_messages_work()) return 1;
#endif
  return 0;
}
