// Loads the libraries given on the command line one after another, as a host of plugins does.
#include <dlfcn.h>

#include <cstdio>

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    void* library = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      std::puts(dlerror());
      return 1;
    }
    auto* work = reinterpret_cast<bool (*)()>(dlsym(library, "own_messages_work"));
    if (work != nullptr && !work()) return 1;
  }
  std::puts("loaded");
  return 0;
}
