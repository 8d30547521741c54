// Modules: shared objects with long chains of dependencies, loaded at first use.
//
//   auto* open = module_function<OpenServer>("rpc", "caudal_rpc_open", "libgrpc++1.51");
//
// A module lies beside the library (or beside the program, or in $CAUDAL_MODULE_PATH), is loaded with its names hidden
// from everybody else, and stays loaded. Thread-safe.
#pragma once

#include <string>
#include <string_view>

#include "caudal/base/export.h"

namespace caudal::inline v0 {

// The address of `function` in libcaudal-<module>.so. Throws UNIMPLEMENTED naming the file, why it cannot be loaded,
// and the Debian package that it needs.
CAUDAL_API void* module_symbol(std::string_view module, const char* function, std::string_view package);

template <class Function>
Function* module_function(std::string_view module, const char* function, std::string_view package) {
  return reinterpret_cast<Function*>(module_symbol(module, function, package));
}

}  // namespace caudal::inline v0
