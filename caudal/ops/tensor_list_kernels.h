// Kernels of the TensorList ops.
//
// Thread safety: as kernels.
#pragma once

#include <memory>

#include "caudal/core/kernel.h"

namespace caudal::inline v0::internal {

void run_empty_tensor_list(RunContext& c);
void run_list_reserve(RunContext& c);
void run_list_length(RunContext& c);
void run_list_element_shape(RunContext& c);
void run_list_get_item(RunContext& c);
void run_list_stack(RunContext& c);
void run_list_gather(RunContext& c);
void run_list_concat(RunContext& c);
void run_list_from_tensor(RunContext& c);
void run_list_split(RunContext& c);
void run_list_scatter(RunContext& c);

// Those that change a list: in place if nobody else holds it.
std::unique_ptr<Kernel> prepare_list_push_back(PrepareContext& c);
std::unique_ptr<Kernel> prepare_list_pop_back(PrepareContext& c);
std::unique_ptr<Kernel> prepare_list_set_item(PrepareContext& c);
std::unique_ptr<Kernel> prepare_list_resize(PrepareContext& c);
std::unique_ptr<Kernel> prepare_list_scatter_into(PrepareContext& c);
std::unique_ptr<Kernel> prepare_list_push_back_batch(PrepareContext& c);
std::unique_ptr<Kernel> prepare_list_concat_lists(PrepareContext& c);

}  // namespace caudal::inline v0::internal
