// A game cartridge: the ROM as the console's upper 4096 addresses show it, with the bank switches of larger ones.
//
//   scheme   bytes       switched by
//   2K, 4K   2048, 4096  -
//   F8 F6 F4 8, 16, 32 K an access to 1FF8-1FF9, 1FF6-1FF9, 1FF4-1FFB selects the whole bank; "SC" adds 128 bytes of
//                        memory, written at 1000-107F and read at 1080-10FF
//   FA       12 K        1FF8-1FFA, 256 bytes of memory at 1000-11FF
//   E0       8 K         1FE0-1FF7 select 1 K slices, the last is fixed
//   E7       16 K        1FE0-1FE7 select 2 K (7: 1 K of memory), 1FE8-1FEB one of four 256-byte pages at 1800-19FF
//   FE       8 K         the byte on the bus after an access to 01FE
//   3F       to 512 K    a write to 0000-003F selects the lower 2 K, the upper is fixed
//
// Thread safety: the ROM is shared and constant; a Cartridge belongs to one console.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/rl/atari/state_bytes.h"

namespace caudal::inline v0::rl::atari {

enum class Mapper : std::uint8_t { k2K, k4K, kF8, kF8Sc, kF6, kF6Sc, kF4, kF4Sc, kFA, kE0, kE7, kFE, k3F };

// "4K", "F8", "F8SC" and so on.
CAUDAL_API std::string_view mapper_name(Mapper mapper);
// The scheme of these bytes by size and by the instructions that switch banks. Throws UNIMPLEMENTED for sizes that no
// scheme above has.
CAUDAL_API Mapper detect_mapper(std::string_view rom);

class Cartridge {
 public:
  // REQUIRES: the size is one of the mapper's.
  Cartridge(std::string_view rom, Mapper mapper);

  Mapper mapper() const { return mapper_; }
  // A cartridge without switches: 4096 constant bytes.
  bool plain() const { return mapper_ == Mapper::k2K || mapper_ == Mapper::k4K; }
  const std::uint8_t* plain_rom() const { return rom_->data(); }

  void power_on();
  // Accesses with A12 = 1. REQUIRES: not plain() for write.
  std::uint8_t read(std::uint16_t address);
  void write(std::uint16_t address, std::uint8_t value);
  // Accesses with A12 = 0, which FE and 3F listen to.
  bool listens() const { return mapper_ == Mapper::kFE || mapper_ == Mapper::k3F; }
  void listen(std::uint16_t address, std::uint8_t value, bool written);

  void save(StateWriter& out) const;
  void load(StateReader& in);

 private:
  static constexpr int kSlices = 8;  // of 512 bytes

  void map(int slice, int count, std::int32_t offset);
  void select_bank(int bank) { map(0, kSlices, bank * 4096); }
  bool hotspot(int offset);
  void hotspot_e0(int offset);
  void hotspot_e7(int offset);
  // Where in ram_ an address writes or reads, or -1.
  int ram_write_index(int offset) const;
  int ram_read_index(int offset) const;
  std::uint8_t rom_at(int offset) const {
    return (*rom_)[static_cast<std::size_t>(slices_[offset >> 9] + (offset & 511))];
  }

  Mapper mapper_;
  std::shared_ptr<const std::vector<std::uint8_t>> rom_;  // a 2K ROM twice
  std::array<std::int32_t, kSlices> slices_{};            // offsets into the ROM
  std::vector<std::uint8_t> ram_;
  std::uint8_t e7_low_ = 0, e7_page_ = 0;  // of E7: 7 is memory in the lower half; the page at 1800
  bool fe_pending_ = false;                // of FE: the next byte on the bus selects
};

}  // namespace caudal::inline v0::rl::atari
