#include "caudal/rl/atari/cartridge.h"

#include <algorithm>

#include "caudal/base/error.h"

namespace caudal::inline v0::rl::atari {
namespace {

struct Scheme {
  Mapper mapper;
  std::string_view name;
  int first_hotspot, banks;  // of the schemes that switch all 4096 bytes; the banks' hotspots follow each other
  int ram;
};
constexpr Scheme kSchemes[] = {
    {Mapper::k2K, "2K", 0, 0, 0},       {Mapper::k4K, "4K", 0, 0, 0},
    {Mapper::kF8, "F8", 0xff8, 2, 0},   {Mapper::kF8Sc, "F8SC", 0xff8, 2, 128},
    {Mapper::kF6, "F6", 0xff6, 4, 0},   {Mapper::kF6Sc, "F6SC", 0xff6, 4, 128},
    {Mapper::kF4, "F4", 0xff4, 8, 0},   {Mapper::kF4Sc, "F4SC", 0xff4, 8, 128},
    {Mapper::kFA, "FA", 0xff8, 3, 256}, {Mapper::kE0, "E0", 0, 0, 0},
    {Mapper::kE7, "E7", 0, 0, 2048},    {Mapper::kFE, "FE", 0, 0, 0},
    {Mapper::k3F, "3F", 0, 0, 0},
};
const Scheme& scheme(Mapper mapper) { return kSchemes[static_cast<int>(mapper)]; }

bool contains(std::string_view rom, std::initializer_list<std::uint8_t> code) {
  return std::search(rom.begin(), rom.end(), code.begin(), code.end(),
                     [](char a, std::uint8_t b) { return static_cast<std::uint8_t>(a) == b; }) != rom.end();
}

// Memory on the cartridge: its 256 addresses of each bank hold one value, since a ROM cannot show anything there.
bool has_super_chip(std::string_view rom) {
  for (std::size_t bank = 0; bank + 4096 <= rom.size(); bank += 4096) {
    for (std::size_t i = 1; i < 256; ++i) {
      if (rom[bank + i] != rom[bank]) return false;
    }
  }
  return true;
}

// Parker Brothers' games switch with one of these instructions (LDA, STA, BIT, NOP of 1FE0-1FF7).
bool looks_like_e0(std::string_view rom) {
  for (const std::uint8_t page : {0x1f, 0x5f, 0x9f, 0xbf, 0xdf, 0xff}) {
    for (const std::uint8_t low : {0xe0, 0xe5, 0xe9, 0xed, 0xf3, 0xf5}) {
      if (contains(rom, {0x8d, low, page}) || contains(rom, {0xad, low, page}) || contains(rom, {0x0c, low, page})) {
        return true;
      }
    }
  }
  return false;
}

// Activision's FE games: JSR into the other bank, then LDA of a page that stands for it.
bool looks_like_fe(std::string_view rom) {
  return contains(rom, {0x20, 0x00, 0xd0, 0xc6, 0xc5}) || contains(rom, {0x20, 0xc3, 0xf8, 0xa5, 0x82}) ||
         contains(rom, {0xd0, 0xfb, 0x20, 0x73, 0xfe}) || contains(rom, {0x20, 0x00, 0xf0, 0x84, 0xd6});
}

bool looks_like_3f(std::string_view rom) {
  const std::initializer_list<std::uint8_t> store = {0x85, 0x3f};  // STA $3F
  const auto equal = [](char a, std::uint8_t b) { return static_cast<std::uint8_t>(a) == b; };
  const auto first = std::search(rom.begin(), rom.end(), store.begin(), store.end(), equal);
  return first != rom.end() && std::search(first + 2, rom.end(), store.begin(), store.end(), equal) != rom.end();
}

bool looks_like_e7(std::string_view rom) {
  return contains(rom, {0xad, 0xe2, 0xff}) || contains(rom, {0xad, 0xe5, 0xff}) || contains(rom, {0xad, 0xe5, 0x1f}) ||
         contains(rom, {0xad, 0xe7, 0x1f}) || contains(rom, {0x0c, 0xe7, 0x1f}) || contains(rom, {0x8d, 0xe7, 0xff}) ||
         contains(rom, {0x8d, 0xe7, 0x1f});
}

Mapper detect_8k(std::string_view rom) {
  if (has_super_chip(rom)) return Mapper::kF8Sc;
  if (rom.substr(0, 4096) == rom.substr(4096)) return Mapper::k4K;
  if (looks_like_e0(rom)) return Mapper::kE0;
  if (looks_like_3f(rom)) return Mapper::k3F;
  if (looks_like_fe(rom)) return Mapper::kFE;
  return Mapper::kF8;
}

}  // namespace

std::string_view mapper_name(Mapper mapper) { return scheme(mapper).name; }

Mapper detect_mapper(std::string_view rom) {
  switch (rom.size()) {
    case 2048:
      return Mapper::k2K;
    case 4096:
      return Mapper::k4K;
    case 8192:
    case 8192 + 2303:  // an 8 K game with the picture of its data chip behind it
      return detect_8k(rom.substr(0, 8192));
    case 12288:
      return Mapper::kFA;
    case 16384:
      return has_super_chip(rom) ? Mapper::kF6Sc : looks_like_e7(rom) ? Mapper::kE7 : Mapper::kF6;
    case 32768:
      return has_super_chip(rom) ? Mapper::kF4Sc : looks_like_3f(rom) ? Mapper::k3F : Mapper::kF4;
    default:
      break;
  }
  if (rom.size() % 2048 == 0 && rom.size() > 4096 && rom.size() <= 512 * 1024 && looks_like_3f(rom)) return Mapper::k3F;
  throw unimplemented("a cartridge of ", rom.size(),
                      " bytes has none of the bank switches 2K, 4K, F8, F6, F4, FA, E0, E7, "
                      "FE and 3F")
      .hint("Give the cartridge's bare image; `caudal rl roms` lists the games that are known.");
}

Cartridge::Cartridge(std::string_view rom, Mapper mapper)
    : mapper_(mapper), ram_(static_cast<std::size_t>(scheme(mapper).ram)) {
  auto bytes = std::make_shared<std::vector<std::uint8_t>>(rom.begin(), rom.end());
  if (mapper == Mapper::k2K) bytes->insert(bytes->end(), rom.begin(), rom.end());
  rom_ = std::move(bytes);
  power_on();
}

void Cartridge::power_on() {
  std::fill(ram_.begin(), ram_.end(), std::uint8_t{0});
  e7_low_ = e7_page_ = 0;
  fe_pending_ = false;
  const auto last = static_cast<std::int32_t>(rom_->size());
  switch (mapper_) {
    case Mapper::k3F:
      map(0, 4, 0);
      map(4, 4, last - 2048);
      break;
    case Mapper::kE0:
      for (int quarter = 0; quarter < 4; ++quarter) map(2 * quarter, 2, (4 + quarter) * 1024);
      break;
    case Mapper::kE7:
      map(0, 4, 0);
      map(4, 4, last - 2048);
      break;
    case Mapper::kF8:
    case Mapper::kF8Sc:
      select_bank(1);
      break;
    case Mapper::kFA:
      select_bank(2);
      break;
    default:
      select_bank(0);
  }
}

void Cartridge::map(int slice, int count, std::int32_t offset) {
  for (int i = 0; i < count; ++i) slices_[static_cast<std::size_t>(slice + i)] = offset + 512 * i;
}

int Cartridge::ram_write_index(int offset) const {
  switch (mapper_) {
    case Mapper::kF8Sc:
    case Mapper::kF6Sc:
    case Mapper::kF4Sc:
      return offset < 0x80 ? offset : -1;
    case Mapper::kFA:
      return offset < 0x100 ? offset : -1;
    case Mapper::kE7:
      if (e7_low_ == 7 && offset < 0x400) return offset;
      return offset >= 0x800 && offset < 0x900 ? 1024 + e7_page_ * 256 + (offset & 0xff) : -1;
    default:
      return -1;
  }
}

int Cartridge::ram_read_index(int offset) const {
  switch (mapper_) {
    case Mapper::kF8Sc:
    case Mapper::kF6Sc:
    case Mapper::kF4Sc:
      return offset >= 0x80 && offset < 0x100 ? offset - 0x80 : -1;
    case Mapper::kFA:
      return offset >= 0x100 && offset < 0x200 ? offset - 0x100 : -1;
    case Mapper::kE7:
      if (e7_low_ == 7 && offset >= 0x400 && offset < 0x800) return offset - 0x400;
      return offset >= 0x900 && offset < 0xa00 ? 1024 + e7_page_ * 256 + (offset & 0xff) : -1;
    default:
      return -1;
  }
}

void Cartridge::hotspot_e0(int offset) {
  if (offset < 0xfe0 || offset > 0xff7) return;
  map(2 * ((offset - 0xfe0) / 8), 2, (offset & 7) * 1024);
}

void Cartridge::hotspot_e7(int offset) {
  if (offset >= 0xfe0 && offset <= 0xfe7) {
    e7_low_ = static_cast<std::uint8_t>(offset & 7);
    map(0, 4, (offset & 7) * 2048);
  } else if (offset >= 0xfe8 && offset <= 0xfeb) {
    e7_page_ = static_cast<std::uint8_t>(offset & 3);
  }
}

bool Cartridge::hotspot(int offset) {
  const Scheme& s = scheme(mapper_);
  if (mapper_ == Mapper::kE0) {
    hotspot_e0(offset);
  } else if (mapper_ == Mapper::kE7) {
    hotspot_e7(offset);
  } else if (offset >= s.first_hotspot && offset < s.first_hotspot + s.banks) {
    select_bank(offset - s.first_hotspot);
    return true;
  }
  return false;
}

std::uint8_t Cartridge::read(std::uint16_t address) {
  const int offset = address & 0xfff;
  if (offset >= 0xfe0) hotspot(offset);
  if (const int index = ram_read_index(offset); index >= 0) return ram_[static_cast<std::size_t>(index)];
  return rom_at(offset);
}

void Cartridge::write(std::uint16_t address, std::uint8_t value) {
  const int offset = address & 0xfff;
  if (offset >= 0xfe0) hotspot(offset);
  if (const int index = ram_write_index(offset); index >= 0) ram_[static_cast<std::size_t>(index)] = value;
}

void Cartridge::listen(std::uint16_t address, std::uint8_t value, bool written) {
  if (mapper_ == Mapper::k3F) {
    if (written && (address & 0x1fff) < 0x40) {
      map(0, 4, static_cast<std::int32_t>(value % (rom_->size() / 2048)) * 2048);
    }
    return;
  }
  // JSR and RTS touch 01FE; the byte that follows on the bus is the high byte of an address in the bank.
  if (fe_pending_) {
    select_bank(value & 0x20 ? 0 : 1);
    fe_pending_ = false;
  } else {
    fe_pending_ = address == 0x1fe;
  }
}

void Cartridge::save(StateWriter& out) const {
  for (const std::int32_t slice : slices_) out.i64(slice);
  out.bytes(ram_);
  out.u8(e7_low_);
  out.u8(e7_page_);
  out.u8(fe_pending_);
}

void Cartridge::load(StateReader& in) {
  const auto last = static_cast<std::int64_t>(rom_->size()) - 512;
  for (std::int32_t& slice : slices_) slice = static_cast<std::int32_t>(in.i64_between(0, last));
  in.bytes(ram_);
  e7_low_ = in.u8_below(8);
  e7_page_ = in.u8_below(4);
  fe_pending_ = in.flag();
}

}  // namespace caudal::inline v0::rl::atari
