#include "door.h"

#include <fcntl.h>
#include <unistd.h>

#include <cctype>
#include <utility>

#include <fmt/format.h>

namespace karakuri::cli {

namespace fs = std::filesystem;

namespace {

std::string file_address(const fs::path& file) {
  std::string out = "file://";
  for (const char c : file.string()) {
    const bool plain =
        std::isalnum(static_cast<unsigned char>(c)) || c == '/' || c == '-' || c == '_' || c == '.';
    out += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

std::string as_html(const std::string& url) {
  std::string out;
  for (const char c : url) out += c == '&' ? "&amp;" : c == '"' ? "&quot;" : std::string(1, c);
  return out;
}

}  // namespace

PrivateFolder PrivateFolder::make() {
  std::error_code error;
  std::string name = (fs::temp_directory_path(error) / "karakuri-XXXXXX").string();
  PrivateFolder out;
  if (mkdtemp(name.data())) out.path_ = name;  // mode 0700
  return out;
}

PrivateFolder::PrivateFolder(PrivateFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}

PrivateFolder& PrivateFolder::operator=(PrivateFolder&& other) noexcept {
  std::swap(path_, other.path_);
  return *this;
}

void PrivateFolder::remove() const {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

std::string make_door(const PrivateFolder& folder, const std::string& url) {
  if (folder.path().empty()) return {};
  const fs::path file = folder.path() / "karakuri.html";
  const std::string text = fmt::format(
      "<!doctype html><meta charset=\"utf-8\"><title>karakuri</title>"
      "<meta http-equiv=\"refresh\" content=\"0; url={0}\"><a href=\"{0}\">karakuri</a>\n",
      as_html(url));
  const int out = open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (out < 0) return {};
  const bool written = write(out, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  return close(out) == 0 && written ? file_address(file) : std::string();
}

}  // namespace karakuri::cli
