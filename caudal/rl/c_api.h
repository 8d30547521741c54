// Environments for other languages: a small C interface that libcaudal exports, one handle for a vector of
// environments. python/caudal/rl.py is written against it.
//
// Functions that can fail return 0 for success, or an error's canonical code; caudal_rl_last_error() has its text, by
// thread. Text that is returned lives until the thread's next call. Ownership: handles are freed by caudal_rl_free.
// Thread safety: one thread at a time for each handle.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "caudal/base/export.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct caudal_rl_vector caudal_rl_vector;

enum { CAUDAL_RL_OBSERVATION = 0, CAUDAL_RL_ACTION = 1 };
enum { CAUDAL_RL_NEXT_STEP = 0, CAUDAL_RL_SAME_STEP = 1, CAUDAL_RL_DISABLED = 2 };

typedef struct {
  int32_t discrete;
  int32_t dtype;  // TensorFlow's number: 1 float32, 2 float64, 3 int32, 4 uint8, 9 int64, ...
  int32_t rank;
  int64_t sizes[8];
  int64_t count;  // of a discrete space
} caudal_rl_space;

CAUDAL_API const char* caudal_rl_last_error(void);
// Ids, one a line; those that lack something begin with '!'.
CAUDAL_API const char* caudal_rl_environments(void);

// options: "name=value,name=value". wrapper: "", "deepmind" or "atari", with options behind a colon
// ("deepmind:dim=168"). threads: 0 = as many as processors. Null if it failed.
CAUDAL_API caudal_rl_vector* caudal_rl_make(const char* id, const char* options, const char* wrapper, int32_t count,
                                            int32_t threads, int32_t auto_reset);
CAUDAL_API void caudal_rl_free(caudal_rl_vector* vector);

CAUDAL_API int caudal_rl_get_space(caudal_rl_vector* vector, int32_t which, caudal_rl_space* out);
// low and high: one double for each element of a Box.
CAUDAL_API int caudal_rl_get_bounds(caudal_rl_vector* vector, int32_t which, double* low, double* high);
// Names of the actions, separated by spaces; empty if they have none.
CAUDAL_API const char* caudal_rl_action_meanings(caudal_rl_vector* vector);
CAUDAL_API double caudal_rl_frames_per_second(caudal_rl_vector* vector);

// seeds: one for each environment, or null. mask: those to reset, or null for all. observations: memory of a batch of
// `bytes` bytes, or null.
CAUDAL_API int caudal_rl_reset(caudal_rl_vector* vector, const uint64_t* seeds, const uint8_t* mask, void* observations,
                               size_t bytes);
// Actions of all environments: int64 choices or float32 values; the other pointer is null, `count` its length. Results
// go into arrays of one value per environment; begun: the observation begins an episode.
CAUDAL_API int caudal_rl_step(caudal_rl_vector* vector, const int64_t* choices, const float* values, size_t count,
                              void* observations, size_t bytes, double* rewards, uint8_t* terminated,
                              uint8_t* truncated, uint8_t* begun);
// Of the last reset or step. Episode statistics are NaN and 0 where no episode ended or nothing counts.
CAUDAL_API int caudal_rl_infos(caudal_rl_vector* vector, int32_t* lives, int64_t* frames, int64_t* episode_frames,
                               double* episode_returns, int64_t* episode_lengths);
// Copies the last observation of an episode that ended in the last step (CAUDAL_RL_SAME_STEP). NOT_FOUND if it did not.
CAUDAL_API int caudal_rl_final_observation(caudal_rl_vector* vector, int32_t i, void* out, size_t bytes);

// The picture of environment i: its sizes, and its RGB bytes if `bytes` suffices and out is not null.
CAUDAL_API int caudal_rl_render(caudal_rl_vector* vector, int32_t i, uint8_t* out, size_t bytes, int32_t* height,
                                int32_t* width);
// The state of environment i: its size, and its bytes if `bytes` suffices and out is not null.
CAUDAL_API int caudal_rl_save(caudal_rl_vector* vector, int32_t i, void* out, size_t bytes, size_t* size);
CAUDAL_API int caudal_rl_restore(caudal_rl_vector* vector, int32_t i, const void* state, size_t bytes);

#ifdef __cplusplus
}
#endif
