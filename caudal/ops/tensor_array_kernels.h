// Kernels of the TensorArray ops, which all three versions of the ops share: they differ in the kind of the handle.
//
// Thread safety: as kernels.
#pragma once

#include "caudal/core/kernel.h"

namespace caudal::inline v0::internal {

void run_tensor_array(RunContext& c);
void run_tensor_array_grad(RunContext& c);
void run_tensor_array_write(RunContext& c);
void run_tensor_array_read(RunContext& c);
void run_tensor_array_gather(RunContext& c);
void run_tensor_array_pack(RunContext& c);
void run_tensor_array_scatter(RunContext& c);
void run_tensor_array_unpack(RunContext& c);
void run_tensor_array_concat(RunContext& c);
void run_tensor_array_split(RunContext& c);
void run_tensor_array_size(RunContext& c);
void run_tensor_array_close(RunContext& c);

}  // namespace caudal::inline v0::internal
