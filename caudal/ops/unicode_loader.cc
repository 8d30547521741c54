#include "caudal/ops/unicode_loader.h"

#include "caudal/base/module.h"

namespace caudal::inline v0 {

const UnicodeModule& unicode_module() {
  static const UnicodeModule& module = *module_function<OpenUnicode>("unicode", kOpenUnicode, "libicu72")();
  return module;
}

}  // namespace caudal::inline v0
