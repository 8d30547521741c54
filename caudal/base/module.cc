#include "caudal/base/module.h"

#include <dlfcn.h>

#include <cstdlib>
#include <map>
#include <mutex>
#include <vector>

#include "caudal/base/env.h"
#include "caudal/base/error.h"

namespace caudal::inline v0 {
namespace {

// Where the code of this very function was loaded from: the library, or a program that holds it.
std::string own_folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&own_folder), &info) == 0 || info.dli_fname == nullptr) return ".";
  return directory_of(info.dli_fname);
}

std::vector<std::string> folders() {
  std::vector<std::string> all;
  if (const char* path = std::getenv("CAUDAL_MODULE_PATH"); path != nullptr && *path != '\0') all.emplace_back(path);
  all.push_back(own_folder());
  all.push_back(join_path(own_folder(), ".."));  // a test program lies one folder below the library
  return all;
}

void* open_module(const std::string& file, std::string_view package) {
  std::string reason = "it is in none of its folders";
  for (const std::string& folder : folders()) {
    const std::string path = join_path(folder, file);
    if (!default_env().exists(path)) continue;
    if (void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return handle;
    if (const char* text = dlerror(); text != nullptr) reason = text;
  }
  throw unimplemented("the module ", file, " cannot be loaded: ", reason)
      .hint(internal::concat("Install the package ", package,
                             " and the module; CAUDAL_MODULE_PATH names the folder it is in."));
}

}  // namespace

void* module_symbol(std::string_view module, const char* function, std::string_view package) {
  static std::mutex mutex;
  static auto& handles = *new std::map<std::string, void*>();  // modules stay loaded to the end
  const std::string file = internal::concat("libcaudal-", module, ".so");
  std::lock_guard lock(mutex);
  void*& handle = handles[file];
  if (handle == nullptr) handle = open_module(file, package);
  void* symbol = dlsym(handle, function);
  if (symbol == nullptr) {
    throw unimplemented("the module ", file, " has no function '", function, "'")
        .hint("It belongs to another version: install the one of this library.");
  }
  return symbol;
}

}  // namespace caudal::inline v0
