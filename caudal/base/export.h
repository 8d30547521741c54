// Visibility of the public interface: everything else in libcaudal is hidden.
#pragma once

#define CAUDAL_API __attribute__((visibility("default")))
