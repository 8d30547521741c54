#include "caudal/formats/zip.h"

#include <zlib.h>

#include <algorithm>

#include "caudal/base/error.h"
#include "caudal/base/strings.h"
#include "caudal/formats/coding.h"
#include "caudal/formats/compression.h"

namespace caudal::inline v0 {
namespace {

constexpr uint32_t kLocal = 0x04034b50, kCentral = 0x02014b50, kEnd = 0x06054b50;
constexpr uint32_t kEnd64 = 0x06064b50, kEnd64Locator = 0x07064b50;
constexpr size_t kLocalSize = 30, kEndSize = 22, kEnd64LocatorSize = 20;
constexpr uint16_t kStored = 0, kDeflated = 8;
constexpr uint32_t kIn64 = 0xffffffff;  // "see the 64-bit field"

[[noreturn]] void fail(std::string_view what) { throw data_loss("malformed zip archive: ", what); }

template <class T>
T take(ByteReader* reader) {
  T value;
  if (!reader->fixed(&value)) fail("a header is cut off");
  return value;
}

std::string_view take_bytes(ByteReader* reader, size_t size) {
  std::string_view out;
  if (!reader->bytes(size, &out)) fail("a header is cut off");
  return out;
}

uint32_t crc_of(std::string_view data) {
  return static_cast<uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(data.data()), data.size()));
}

struct Directory {
  uint64_t offset, count;
};

// The end record lies within the last 64 KiB, before a comment.
Directory find_directory(std::string_view archive) {
  if (archive.size() < kEndSize) fail("too short");
  const size_t least = archive.size() > kEndSize + 0xffff ? archive.size() - kEndSize - 0xffff : 0;
  size_t at = archive.size() - kEndSize;
  while (get_fixed<uint32_t>(archive.data() + at) != kEnd) {
    if (at == least) fail("no end record");
    --at;
  }
  const char* end = archive.data() + at;
  Directory out{get_fixed<uint32_t>(end + 16), get_fixed<uint16_t>(end + 10)};
  if ((out.offset == kIn64 || out.count == 0xffff) && at >= kEnd64LocatorSize &&
      get_fixed<uint32_t>(end - kEnd64LocatorSize) == kEnd64Locator) {
    const auto where = get_fixed<uint64_t>(end - kEnd64LocatorSize + 8);
    if (archive.size() < 56 || where > archive.size() - 56 || get_fixed<uint32_t>(archive.data() + where) != kEnd64)
      fail("no 64-bit end record");
    out = {get_fixed<uint64_t>(archive.data() + where + 48), get_fixed<uint64_t>(archive.data() + where + 32)};
  }
  if (out.offset > archive.size()) fail("the directory lies outside the file");
  return out;
}

// Takes the 64-bit sizes and offset from the extra field where the 32-bit ones say so.
void apply_extra64(std::string_view extra, ZipMember* member) {
  for (ByteReader fields(extra); fields.size() >= 4;) {
    const auto id = take<uint16_t>(&fields);
    ByteReader field(take_bytes(&fields, take<uint16_t>(&fields)));
    if (id != 1) continue;
    for (uint64_t* value : {&member->size, &member->stored_size, &member->offset})
      if (*value == kIn64) *value = take<uint64_t>(&field);
  }
}

ZipMember take_member(ByteReader* reader) {
  if (take<uint32_t>(reader) != kCentral) fail("a directory entry is damaged");
  ZipMember member;
  take_bytes(reader, 4);  // versions
  if ((take<uint16_t>(reader) & 1) != 0) throw unimplemented("encrypted zip archives");
  member.method = take<uint16_t>(reader);
  take_bytes(reader, 4);  // time
  member.crc = take<uint32_t>(reader);
  member.stored_size = take<uint32_t>(reader);
  member.size = take<uint32_t>(reader);
  const auto name_size = take<uint16_t>(reader), extra_size = take<uint16_t>(reader);
  const auto comment_size = take<uint16_t>(reader);
  take_bytes(reader, 8);  // disk and attributes
  member.offset = take<uint32_t>(reader);
  member.name = take_bytes(reader, name_size);
  apply_extra64(take_bytes(reader, extra_size), &member);
  take_bytes(reader, comment_size);
  return member;
}

// Fields that the local header and the directory entry share. Time: 1980-01-01, so that equal content gives equal
// bytes.
void put_common(std::string* out, std::string_view name, std::string_view content) {
  put_fixed<uint16_t>(out, 20);     // version needed
  put_fixed<uint16_t>(out, 0x800);  // names are UTF-8
  put_fixed<uint16_t>(out, kStored);
  put_fixed<uint32_t>(out, 0x00210000);
  put_fixed<uint32_t>(out, crc_of(content));
  put_fixed<uint32_t>(out, static_cast<uint32_t>(content.size()));
  put_fixed<uint32_t>(out, static_cast<uint32_t>(content.size()));
  put_fixed<uint16_t>(out, static_cast<uint16_t>(name.size()));
  put_fixed<uint16_t>(out, 0);  // no extra field
}

}  // namespace

std::vector<ZipMember> zip_members(std::string_view archive) {
  const Directory directory = find_directory(archive);
  ByteReader reader(archive.substr(directory.offset));
  std::vector<ZipMember> out;
  for (uint64_t i = 0; i < directory.count; ++i) out.push_back(take_member(&reader));
  return out;
}

std::string zip_extract(std::string_view archive, const ZipMember& member) {
  if (archive.size() < kLocalSize || member.offset > archive.size() - kLocalSize)
    fail("a member lies outside the file");
  const char* local = archive.data() + member.offset;
  if (get_fixed<uint32_t>(local) != kLocal) fail("a local header is damaged");
  const size_t skip = kLocalSize + get_fixed<uint16_t>(local + 26) + get_fixed<uint16_t>(local + 28);
  const std::string_view rest = archive.substr(member.offset);
  if (skip > rest.size() || member.stored_size > rest.size() - skip) fail("a member lies outside the file");
  const std::string_view stored = rest.substr(skip, member.stored_size);
  std::string content;
  if (member.method == kStored) {
    if (member.size != member.stored_size) fail("a stored member has two sizes");
    content = stored;
  } else if (member.method == kDeflated) {
    if (member.size / kMaxInflation > stored.size()) fail("a member cannot be as large as it says");
    content = inflate_raw(stored, member.size);
  } else {
    throw unimplemented("zip method ", member.method);
  }
  if (crc_of(content) != member.crc) throw data_loss("the checksum of '", escaped(member.name), "' is wrong");
  return content;
}

void ZipBuilder::add(std::string_view name, std::string_view content) {
  if (out_.size() + content.size() >= kIn64 || name.size() > 0xffff || count_ == 0xfffe)
    throw unimplemented("zip archives of 4 GiB or more");
  put_fixed(&directory_, kCentral);
  put_fixed<uint16_t>(&directory_, 20);  // made by
  put_common(&directory_, name, content);
  directory_.append(10, '\0');  // comment, disk, attributes
  put_fixed(&directory_, static_cast<uint32_t>(out_.size()));
  directory_ += name;
  put_fixed(&out_, kLocal);
  put_common(&out_, name, content);
  out_ += name;
  out_ += content;
  ++count_;
}

std::string ZipBuilder::finish() && {
  const auto offset = static_cast<uint32_t>(out_.size());
  out_ += directory_;
  put_fixed(&out_, kEnd);
  put_fixed<uint32_t>(&out_, 0);  // disks
  put_fixed(&out_, static_cast<uint16_t>(count_));
  put_fixed(&out_, static_cast<uint16_t>(count_));
  put_fixed(&out_, static_cast<uint32_t>(directory_.size()));
  put_fixed(&out_, offset);
  put_fixed<uint16_t>(&out_, 0);  // no comment
  return std::move(out_);
}

}  // namespace caudal::inline v0
