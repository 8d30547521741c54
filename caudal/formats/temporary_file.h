// Files that are written under a name of their own first and renamed when they are whole.
//
// Thread safety: functions of their arguments.
#pragma once

#include <string>
#include <string_view>

#include "caudal/base/env.h"

namespace caudal::inline v0 {

// A name beside `path` that no other process or call uses.
std::string temporary_name(std::string_view path);
// Removes what a failed attempt left; whether it can does not matter.
void remove_quietly(Env& env, const std::string& path);

}  // namespace caudal::inline v0
