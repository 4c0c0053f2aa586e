#include <cstdio>

#include <fmt/format.h>

#include "session/record_file.h"

namespace karakuri::session_detail {

namespace {

constexpr std::size_t kTextKept = 1u << 20;  // [bytes]

/// As RFC 4180 wants names with commas, quotes or ends of lines.
std::string csv_name(const std::string& name) {
  if (name.find_first_of(",\"\r\n") == name.npos) return name;
  std::string out = "\"";
  for (const char c : name) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

class CsvFile : public RecordFile {
 public:
  CsvFile(File file, const RecordHeader& header) : file_(std::move(file)) {
    for (std::size_t i = 0; i < header.columns.size(); ++i)
      fmt::format_to(std::back_inserter(text_), "{}{}", i == 0 ? "" : ",", csv_name(header.columns[i]));
    text_.push_back('\n');
  }

  bool add(std::span<const double> row) override {
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i > 0) text_.push_back(',');
      fmt::format_to(std::back_inserter(text_), "{}", row[i]);
    }
    text_.push_back('\n');
    if (text_.size() >= kTextKept) flush_text();
    return std::ferror(file_.get()) == 0;
  }

  bool finish() override {
    flush_text();
    return close(file_);
  }

 private:
  void flush_text() {
    std::fwrite(text_.data(), 1, text_.size(), file_.get());
    text_.clear();
  }

  File file_;
  fmt::memory_buffer text_;
};

}  // namespace

std::unique_ptr<RecordFile> make_csv(const std::filesystem::path& path, const RecordHeader& header) {
  File file(std::fopen(path.c_str(), "wb"));
  if (!file) return nullptr;
  return std::make_unique<CsvFile>(std::move(file), header);
}

}  // namespace karakuri::session_detail
