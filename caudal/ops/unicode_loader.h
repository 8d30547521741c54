// The module unicode, loaded at first use.
//
// Thread safety: any thread.
#pragma once

#include "caudal/ops/unicode_module.h"

namespace caudal::inline v0 {

// Throws UNIMPLEMENTED, naming the package to install, if there is none.
const UnicodeModule& unicode_module();

}  // namespace caudal::inline v0
