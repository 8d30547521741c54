#include "caudal/rl/c_api.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "caudal/base/error.h"
#include "caudal/rl/atari_wrappers.h"
#include "caudal/rl/vector_environment.h"
#include "caudal/rl/wrappers.h"

using namespace caudal;  // NOLINT: the functions below are outside every namespace

struct caudal_rl_vector {
  std::unique_ptr<rl::VectorEnvironment> environments;
  const rl::VectorStep* last = nullptr;
};

namespace {

thread_local std::string last_error, last_text;

// Runs `call`; an error becomes its code and the text of last_error.
template <class Call>
int guarded(Call&& call) {
  try {
    call();
    return 0;
  } catch (const Error& error) {
    last_error = error.what();
    return static_cast<int>(error.code());
  } catch (const std::bad_alloc&) {
    last_error = "RESOURCE_EXHAUSTED: out of memory";
    return static_cast<int>(Code::kResourceExhausted);
  } catch (const std::exception& error) {
    last_error = std::string("INTERNAL: ") + error.what();
    return static_cast<int>(Code::kInternal);
  }
}

std::unique_ptr<rl::Environment> wrapped_deepmind(std::unique_ptr<rl::Environment> inner, rl::Options options) {
  rl::DeepMindOptions chosen;
  chosen.dim = static_cast<int>(options.take_int("dim", chosen.dim, 1, 4096));
  chosen.stack = static_cast<int>(options.take_int("stack", chosen.stack, 1, 64));
  chosen.most_noops = static_cast<int>(options.take_int("noop_max", chosen.most_noops, 0, 1000000));
  chosen.episodic_life = options.take_bool("episodic_life", chosen.episodic_life);
  chosen.fire_reset = options.take_bool("fire_reset", chosen.fire_reset);
  options.finish("deepmind");
  return rl::wrap_deepmind(std::move(inner), chosen);
}

std::unique_ptr<rl::Environment> wrapped_atari(std::unique_ptr<rl::Environment> inner, rl::Options options) {
  rl::AtariPreprocessingOptions chosen;
  chosen.most_noops = static_cast<int>(options.take_int("noop_max", chosen.most_noops, 0, 1000000));
  chosen.frame_skip = static_cast<int>(options.take_int("frame_skip", chosen.frame_skip, 1, 1000));
  chosen.screen_size = static_cast<int>(options.take_int("screen_size", chosen.screen_size, 1, 4096));
  chosen.terminal_on_life_loss = options.take_bool("terminal_on_life_loss", chosen.terminal_on_life_loss);
  chosen.grayscale_obs = options.take_bool("grayscale_obs", chosen.grayscale_obs);
  chosen.grayscale_newaxis = options.take_bool("grayscale_newaxis", chosen.grayscale_newaxis);
  chosen.scale_obs = options.take_bool("scale_obs", chosen.scale_obs);
  chosen.stack = static_cast<int>(options.take_int("stack", chosen.stack, 0, 64));
  options.finish("atari");
  return rl::atari_preprocessing(std::move(inner), chosen);
}

rl::WrapFunction wrap_function(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  const rl::Options options = rl::Options::parse(colon == text.npos ? std::string_view() : text.substr(colon + 1));
  if (name.empty()) return [](std::unique_ptr<rl::Environment> inner) { return rl::count_episodes(std::move(inner)); };
  if (name == "deepmind") return [options](auto inner) { return wrapped_deepmind(std::move(inner), options); };
  if (name == "atari") return [options](auto inner) { return wrapped_atari(std::move(inner), options); };
  throw not_found("there is no wrapper '", name, "'").hint("There are deepmind and atari.");
}

const rl::Space& space_of(caudal_rl_vector* vector, int which) {
  if (which == CAUDAL_RL_OBSERVATION) return vector->environments->single_observation_space();
  if (which == CAUDAL_RL_ACTION) return vector->environments->single_action_space();
  throw invalid_argument("there is no space number ", which);
}

rl::Environment& environment_of(caudal_rl_vector* vector, int i) {
  if (i < 0 || i >= vector->environments->size())
    throw out_of_range("there is no environment ", i, " among ", vector->environments->size());
  return vector->environments->environment(i);
}

std::span<std::byte> memory(void* at, std::size_t bytes) {
  return {static_cast<std::byte*>(at), at == nullptr ? 0 : bytes};
}

// `bytes` to out if they fit there.
void copy_out(std::string_view bytes, void* out, std::size_t room) {
  if (out == nullptr) return;
  if (room < bytes.size()) throw invalid_argument(bytes.size(), " bytes do not fit ", room);
  std::memcpy(out, bytes.data(), bytes.size());
}

}  // namespace

const char* caudal_rl_last_error(void) { return last_error.c_str(); }

const char* caudal_rl_environments(void) {
  guarded([] {
    last_text.clear();
    for (const rl::EnvironmentSpec* spec : rl::registered_environments()) {
      const bool lacks = spec->missing != nullptr && !spec->missing(*spec).empty();
      last_text += (lacks ? "!" : "") + std::string(spec->id) + "\n";
    }
  });
  return last_text.c_str();
}

caudal_rl_vector* caudal_rl_make(const char* id, const char* options, const char* wrapper, int32_t count,
                                 int32_t threads, int32_t auto_reset) {
  auto vector = std::make_unique<caudal_rl_vector>();
  const int failed = guarded([&] {
    if (auto_reset < CAUDAL_RL_NEXT_STEP || auto_reset > CAUDAL_RL_DISABLED)
      throw invalid_argument("there is no automatic reset number ", auto_reset);
    auto environments = rl::make_many(id, count, rl::Options::parse(options), wrap_function(wrapper));
    vector->environments = std::make_unique<rl::VectorEnvironment>(
        std::move(environments),
        rl::VectorOptions{.threads = threads, .auto_reset = static_cast<rl::AutoReset>(auto_reset)});
  });
  return failed != 0 ? nullptr : vector.release();
}

void caudal_rl_free(caudal_rl_vector* vector) { delete vector; }

int caudal_rl_get_space(caudal_rl_vector* vector, int32_t which, caudal_rl_space* out) {
  return guarded([&] {
    const rl::Space& space = space_of(vector, which);
    *out = {};
    if (space.shape().rank() > 8) throw unimplemented("spaces of rank ", space.shape().rank(), " have no C form");
    out->discrete = space.is_discrete();
    out->dtype = static_cast<int32_t>(space.dtype());
    out->rank = space.shape().rank();
    for (int i = 0; i < out->rank; ++i) out->sizes[i] = space.shape().dim(i);
    out->count = space.count();
  });
}

int caudal_rl_get_bounds(caudal_rl_vector* vector, int32_t which, double* low, double* high) {
  return guarded([&] {
    const rl::Space& space = space_of(vector, which);
    if (space.is_discrete()) throw invalid_argument(space.to_string(), " has no bounds");
    for (std::int64_t i = 0; i < space.shape().num_elements(); ++i) {
      low[i] = space.low(i);
      high[i] = space.high(i);
    }
  });
}

const char* caudal_rl_action_meanings(caudal_rl_vector* vector) {
  last_text.clear();
  for (const std::string& name : vector->environments->single_action_space().meanings())
    last_text += (last_text.empty() ? "" : " ") + name;
  return last_text.c_str();
}

double caudal_rl_frames_per_second(caudal_rl_vector* vector) {
  return vector->environments->environment(0).frames_per_second();
}

int caudal_rl_reset(caudal_rl_vector* vector, const uint64_t* seeds, const uint8_t* mask, void* observations,
                    size_t bytes) {
  return guarded([&] {
    rl::VectorEnvironment& all = *vector->environments;
    const auto count = static_cast<std::size_t>(all.size());
    const auto out = memory(observations, bytes);
    if (mask != nullptr)
      vector->last = &all.reset_some(
          {mask, count}, seeds == nullptr ? std::span<const std::uint64_t>() : std::span(seeds, count), out);
    else if (seeds != nullptr)
      vector->last = &all.reset(std::span<const std::uint64_t>(seeds, count), out);
    else
      vector->last = &all.reset(std::nullopt, out);
  });
}

int caudal_rl_step(caudal_rl_vector* vector, const int64_t* choices, const float* values, size_t count,
                   void* observations, size_t bytes, double* rewards, uint8_t* terminated, uint8_t* truncated,
                   uint8_t* begun) {
  return guarded([&] {
    const rl::BatchActions actions = choices != nullptr
                                         ? rl::BatchActions(std::span<const std::int64_t>(choices, count))
                                         : rl::BatchActions(std::span(values, count));
    vector->last = &vector->environments->step(actions, memory(observations, bytes));
    const rl::VectorStep& step = *vector->last;
    std::ranges::copy(step.rewards, rewards);
    std::ranges::copy(step.terminated, terminated);
    std::ranges::copy(step.truncated, truncated);
    std::ranges::copy(step.begun, begun);
  });
}

int caudal_rl_infos(caudal_rl_vector* vector, int32_t* lives, int64_t* frames, int64_t* episode_frames,
                    double* episode_returns, int64_t* episode_lengths) {
  return guarded([&] {
    if (vector->last == nullptr) throw failed_precondition("there was no reset yet").hint("Call reset first.");
    const rl::VectorStep& step = *vector->last;
    for (std::size_t i = 0; i < step.infos.size(); ++i) {
      // Where an episode ended and the next began, the counters are the new one's, the statistics the old one's.
      const rl::Info& now = step.begun[i] != 0 ? step.reset_infos[i] : step.infos[i];
      lives[i] = now.lives;
      frames[i] = now.frame_number;
      episode_frames[i] = now.episode_frame_number;
      const auto& episode = step.infos[i].episode;
      episode_returns[i] = episode ? episode->episode_return : std::numeric_limits<double>::quiet_NaN();
      episode_lengths[i] = episode ? episode->length : 0;
    }
  });
}

int caudal_rl_final_observation(caudal_rl_vector* vector, int32_t i, void* out, size_t bytes) {
  return guarded([&] {
    environment_of(vector, i);
    const Tensor* kept = vector->environments->final_observation(i);
    if (kept == nullptr) throw not_found("the episode of environment ", i, " did not end in the last step");
    copy_out(kept->raw_bytes(), out, bytes);
  });
}

int caudal_rl_render(caudal_rl_vector* vector, int32_t i, uint8_t* out, size_t bytes, int32_t* height, int32_t* width) {
  return guarded([&] {
    const Tensor picture = environment_of(vector, i).render();
    *height = static_cast<int32_t>(picture.dim(0));
    *width = static_cast<int32_t>(picture.dim(1));
    copy_out(picture.raw_bytes(), out, bytes);
  });
}

int caudal_rl_save(caudal_rl_vector* vector, int32_t i, void* out, size_t bytes, size_t* size) {
  return guarded([&] {
    const std::string state = environment_of(vector, i).save_state();
    *size = state.size();
    copy_out(state, out, bytes);
  });
}

int caudal_rl_restore(caudal_rl_vector* vector, int32_t i, const void* state, size_t bytes) {
  return guarded([&] { environment_of(vector, i).restore_state({static_cast<const char*>(state), bytes}); });
}
