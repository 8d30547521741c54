// Letter case, scripts and encodings by ICU.
#include <unicode/locid.h>
#include <unicode/ucnv.h>
#include <unicode/unistr.h>
#include <unicode/uscript.h>

#include <memory>

#include "caudal/ops/unicode_module.h"

namespace caudal::inline v0 {
namespace {

struct CloseConverter {
  void operator()(UConverter* converter) const { ucnv_close(converter); }
};
using ConverterPtr = std::unique_ptr<UConverter, CloseConverter>;

class IcuDecoder final : public UnicodeDecoder {
 public:
  explicit IcuDecoder(ConverterPtr converter) : converter_(std::move(converter)) {}

  void start(std::string_view bytes) override {
    at_ = bytes.data();
    end_ = at_ + bytes.size();
    ucnv_reset(converter_.get());
  }

  bool next(Character* character) override {
    if (at_ >= end_) return false;
    const char* before = at_;
    UErrorCode status = U_ZERO_ERROR;
    const UChar32 code = ucnv_getNextUChar(converter_.get(), &at_, end_, &status);
    if (status == U_INDEX_OUTOFBOUNDS_ERROR) return false;  // nothing but a byte order mark was left
    character->malformed = U_FAILURE(status);
    character->code = character->malformed ? 0xfffd : code;
    if (at_ == before) at_ = end_;  // never stand still
    character->bytes = static_cast<std::size_t>(at_ - before);
    return true;
  }

 private:
  ConverterPtr converter_;
  const char* at_ = nullptr;
  const char* end_ = nullptr;
};

class IcuModule final : public UnicodeModule {
 public:
  std::string lower(std::string_view utf8) const override {
    return utf8_of(text_of(utf8).toLower(icu::Locale::getRoot()));
  }
  std::string upper(std::string_view utf8) const override {
    return utf8_of(text_of(utf8).toUpper(icu::Locale::getRoot()));
  }
  std::int32_t script(std::int32_t code) const override {
    UErrorCode status = U_ZERO_ERROR;
    const UScriptCode script = uscript_getScript(code, &status);
    return U_FAILURE(status) ? -1 : static_cast<std::int32_t>(script);
  }
  std::unique_ptr<UnicodeDecoder> decoder(const std::string& encoding) const override {
    if (encoding.empty()) return nullptr;
    UErrorCode status = U_ZERO_ERROR;
    ConverterPtr converter(ucnv_open(encoding.c_str(), &status));
    if (U_FAILURE(status)) return nullptr;
    // Malformed bytes are reported, not replaced.
    ucnv_setToUCallBack(converter.get(), UCNV_TO_U_CALLBACK_STOP, nullptr, nullptr, nullptr, &status);
    if (U_FAILURE(status)) return nullptr;
    return std::make_unique<IcuDecoder>(std::move(converter));
  }

 private:
  static icu::UnicodeString text_of(std::string_view utf8) {
    return icu::UnicodeString::fromUTF8({utf8.data(), static_cast<std::int32_t>(utf8.size())});
  }
  static std::string utf8_of(const icu::UnicodeString& text) {
    std::string bytes;
    text.toUTF8String(bytes);
    return bytes;
  }
};

}  // namespace
}  // namespace caudal::inline v0

extern "C" __attribute__((visibility("default"))) const caudal::UnicodeModule* caudal_open_unicode_1() {
  static const caudal::IcuModule module;
  return &module;
}
