// What the library and its module of Unicode text (modules/unicode, over ICU) say to each other.
//
// The classes are interfaces without code, so that neither side links the other.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace caudal::inline v0 {

// Cuts bytes of one encoding into characters. Used by one thread at a time.
class UnicodeDecoder {
 public:
  // A character, or bytes that are none.
  struct Character {
    std::int32_t code = 0;  // U+FFFD where the bytes are malformed
    bool malformed = false;
    std::size_t bytes = 0;  // that it takes
  };
  virtual ~UnicodeDecoder() = default;
  // Begins with new bytes, which must stay until they are done.
  virtual void start(std::string_view bytes) = 0;
  // The next character; false at the end.
  virtual bool next(Character* character) = 0;
};

// Thread-safe.
class UnicodeModule {
 public:
  virtual ~UnicodeModule() = default;
  // The text in lower or upper case, whatever the language; malformed bytes become U+FFFD.
  virtual std::string lower(std::string_view utf8) const = 0;
  virtual std::string upper(std::string_view utf8) const = 0;
  // ICU's number of the character's script; -1 for numbers that are no code point.
  virtual std::int32_t script(std::int32_t code) const = 0;
  // Null for a name that is no encoding.
  virtual std::unique_ptr<UnicodeDecoder> decoder(const std::string& encoding) const = 0;
};

// The module's only function.
inline constexpr const char* kOpenUnicode = "caudal_open_unicode_1";
using OpenUnicode = const UnicodeModule*();

}  // namespace caudal::inline v0
