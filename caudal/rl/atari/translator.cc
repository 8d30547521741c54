#include "caudal/rl/atari/translator.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <map>
#include <string>

#include "caudal/rl/atari/block_translator.h"

namespace caudal::inline v0::rl::atari {
namespace {

constexpr std::size_t kCodeBytes = 1 << 20;

std::array<std::uint8_t, kPlainRomBytes> copy_of(const std::uint8_t* rom) {
  std::array<std::uint8_t, kPlainRomBytes> copy;
  std::copy(rom, rom + kPlainRomBytes, copy.begin());
  return copy;
}

bool is_wanted() {
#if defined(__x86_64__)
  const char* interpret = std::getenv("CAUDAL_ATARI_INTERPRET");
  return interpret == nullptr || *interpret == '\0' || *interpret == '0';
#else
  return false;
#endif
}

}  // namespace

std::shared_ptr<Translation> Translation::of(const std::uint8_t* rom, const TranslatedCalls& calls) {
  static std::mutex mutex;
  static auto& known = *new std::map<std::string, std::weak_ptr<Translation>, std::less<>>();
  if (!is_wanted()) return nullptr;
  const std::string_view key(reinterpret_cast<const char*>(rom), kPlainRomBytes);
  const std::lock_guard lock(mutex);
  std::erase_if(known, [](const auto& entry) { return entry.second.expired(); });
  if (const auto found = known.find(key); found != known.end()) {
    if (std::shared_ptr<Translation> old = found->second.lock()) return old;
  }
  std::shared_ptr<Translation> made(new Translation(rom, calls));
  if (!made->memory_.valid()) return nullptr;
  known.insert_or_assign(std::string(key), made);
  return made;
}

Translation::Translation(const std::uint8_t* rom, const TranslatedCalls& calls)
    : rom_(copy_of(rom)), calls_(calls), memory_(kCodeBytes) {
  if (!memory_.valid()) return;
  make_common_code();
  for (auto& block : blocks_) block.store(unknown_, std::memory_order_relaxed);
}

Translation::Entry Translation::append(const std::vector<std::uint8_t>& code) {
  if (code.size() > memory_.size() - used_) return nullptr;
  std::copy(code.begin(), code.end(), memory_.writable() + used_);
  const Entry entry = memory_.executable() + used_;
  used_ += code.size();
  return entry;
}

void Translation::make_common_code() {
  enter_ = append(code_to_enter());
  leave_ = append(code_to_leave());
  interpret_ = append(code_to_interpret(calls_));
  unknown_ = append(code_for_unknown(leave_));
}

Translation::Entry Translation::entry(std::uint16_t pc) {
  if ((pc & kTranslatedMask) != kTranslatedMask) return nullptr;
  std::atomic<Entry>& block = blocks_[pc & (kPlainRomBytes - 1)];
  if (const Entry found = block.load(std::memory_order_acquire); found != unknown_) return found;
  const std::lock_guard lock(mutex_);
  if (const Entry found = block.load(std::memory_order_acquire); found != unknown_) return found;
  const Entry made = append(BlockTranslator(*this, pc).translate());
  if (made != nullptr) block.store(made, std::memory_order_release);
  return made;
}

void Translation::run(TranslatedState& state, Entry entry) const {
  reinterpret_cast<void (*)(TranslatedState*, Entry)>(reinterpret_cast<std::uintptr_t>(enter_))(&state, entry);
}

}  // namespace caudal::inline v0::rl::atari
