// Zip: PKWARE's APPNOTE 6.3, sections 4.3 and 4.5.3 (zip64). Npy: numpy.lib.format, version 1.0. All
// little-endian.
#include "session/npz.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

namespace karakuri::session_detail {

namespace {

constexpr std::uint32_t kLarge = 0xffffffffu;  // "see the zip64 field"
constexpr std::size_t kHeaderSize = 128;       // of an array: room for any shape

template <class T>
void put(std::string& out, T value) {
  char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  out.append(bytes, sizeof value);
}

std::uint32_t crc_of(const std::string& bytes) {
  return static_cast<std::uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

std::string array_header(const std::string& type, const std::string& shape) {
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", type, shape);
  std::string out("\x93NUMPY\x01\x00", 8);
  put(out, static_cast<std::uint16_t>(kHeaderSize - 10));
  text.resize(kHeaderSize - 10 - 1, ' ');
  return out + text + '\n';
}

/// What a local header and an entry of the directory share, from the version on.
std::string common_fields(std::uint32_t crc, std::size_t name_size) {
  std::string out;
  put<std::uint16_t>(out, 45);  // version that is needed: zip64
  put<std::uint16_t>(out, 0);   // flags
  put<std::uint16_t>(out, 0);   // stored
  put<std::uint16_t>(out, 0);   // time of day
  put<std::uint16_t>(out, 33);  // 1 January 1980: equal runs give equal files
  put<std::uint32_t>(out, crc);
  put<std::uint32_t>(out, kLarge);
  put<std::uint32_t>(out, kLarge);
  put<std::uint16_t>(out, static_cast<std::uint16_t>(name_size));
  return out;
}

std::string local_header(const std::string& name, std::uint32_t crc, std::uint64_t size) {
  std::string out;
  put<std::uint32_t>(out, 0x04034b50u);
  out += common_fields(crc, name.size());
  put<std::uint16_t>(out, 20);  // length of the zip64 field
  out += name;
  put<std::uint16_t>(out, 1);
  put<std::uint16_t>(out, 16);
  put(out, size);
  put(out, size);
  return out;
}

std::string directory_entry(const std::string& name, std::uint32_t crc, std::uint64_t size,
                            std::uint64_t offset) {
  std::string out;
  put<std::uint32_t>(out, 0x02014b50u);
  put<std::uint16_t>(out, 45);  // made by
  out += common_fields(crc, name.size());
  put<std::uint16_t>(out, 28);  // length of the zip64 field
  put<std::uint16_t>(out, 0);   // comment
  put<std::uint16_t>(out, 0);   // disk
  put<std::uint16_t>(out, 0);   // attributes
  put<std::uint32_t>(out, 0);
  put<std::uint32_t>(out, kLarge);
  out += name;
  put<std::uint16_t>(out, 1);
  put<std::uint16_t>(out, 24);
  put(out, size);
  put(out, size);
  put(out, offset);
  return out;
}

std::string directory_end(std::uint64_t entries, std::uint64_t size, std::uint64_t offset) {
  std::string out;
  put<std::uint32_t>(out, 0x06064b50u);  // zip64 end of the directory
  put<std::uint64_t>(out, 44);
  put<std::uint16_t>(out, 45);
  put<std::uint16_t>(out, 45);
  put<std::uint32_t>(out, 0);
  put<std::uint32_t>(out, 0);
  put(out, entries);
  put(out, entries);
  put(out, size);
  put(out, offset);
  put<std::uint32_t>(out, 0x07064b50u);  // where that is
  put<std::uint32_t>(out, 0);
  put(out, offset + size);
  put<std::uint32_t>(out, 1);
  put<std::uint32_t>(out, 0x06054b50u);  // end of the directory
  put<std::uint32_t>(out, 0);
  put(out, static_cast<std::uint16_t>(entries));
  put(out, static_cast<std::uint16_t>(entries));
  put(out, static_cast<std::uint32_t>(std::min<std::uint64_t>(size, kLarge)));
  put(out, static_cast<std::uint32_t>(std::min<std::uint64_t>(offset, kLarge)));
  put<std::uint16_t>(out, 0);
  return out;
}

/// UTF-8 as code points; a byte that does not fit is taken for itself.
std::u32string code_points(const std::string& text) {
  std::u32string out;
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const int more = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : lead >= 0xc0 ? 1 : 0;
    char32_t point = more == 0 ? lead : lead & (0x3fu >> more);
    bool good = i + static_cast<std::size_t>(more) < text.size();
    for (int k = 1; good && k <= more; ++k) {
      const auto next = static_cast<unsigned char>(text[i + static_cast<std::size_t>(k)]);
      good = (next & 0xc0u) == 0x80u;
      point = point << 6 | (next & 0x3fu);
    }
    out.push_back(good ? point : char32_t{lead});
    i += good ? 1 + static_cast<std::size_t>(more) : 1;
  }
  return out;
}

}  // namespace

NpzFile::NpzFile(File file, const std::vector<std::string>& columns)
    : file_(std::move(file)), width_(columns.size()) {
  write_columns(columns);
  begin("data.npy");
  write(array_header("<f8", ""));  // to be filled in
}

void NpzFile::write(const std::string& bytes) {
  std::fwrite(bytes.data(), 1, bytes.size(), file_.get());
  at_ += bytes.size();
}

void NpzFile::begin(const std::string& name) {
  members_.push_back({name, at_, 0, 0});
  write(local_header(name, 0, 0));
}

void NpzFile::write_columns(const std::vector<std::string>& columns) {
  std::vector<std::u32string> names;
  std::size_t longest = 1;
  for (const std::string& column : columns) {
    names.push_back(code_points(column));
    longest = std::max(longest, names.back().size());
  }
  std::string bytes = array_header(fmt::format("<U{}", longest), fmt::format("{},", names.size()));
  for (std::u32string& name : names) {
    name.resize(longest, U'\0');
    for (const char32_t c : name) put(bytes, static_cast<std::uint32_t>(c));
  }
  members_.push_back({"columns.npy", at_, bytes.size(), crc_of(bytes)});
  write(local_header("columns.npy", members_.back().crc, bytes.size()) + bytes);
}

bool NpzFile::add(std::span<const double> values) {
  const auto bytes = std::as_bytes(values);
  data_crc_ = static_cast<std::uint32_t>(
      crc32_z(data_crc_, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
  std::fwrite(bytes.data(), 1, bytes.size(), file_.get());
  at_ += bytes.size();
  values_ += values.size();
  return std::ferror(file_.get()) == 0;
}

bool NpzFile::finish() {
  Member& data = members_.back();
  const std::string header =
      array_header("<f8", fmt::format("{}, {}", width_ ? values_ / width_ : 0, width_));
  data.size = header.size() + 8 * values_;
  data.crc = static_cast<std::uint32_t>(
      crc32_combine64(crc_of(header), data_crc_, static_cast<z_off64_t>(8 * values_)));
  const std::uint64_t end = at_;
  fseeko(file_.get(), static_cast<off_t>(data.offset), SEEK_SET);
  write(local_header(data.name, data.crc, data.size) + header);
  fseeko(file_.get(), static_cast<off_t>(end), SEEK_SET);
  std::string directory;
  for (const Member& m : members_) directory += directory_entry(m.name, m.crc, m.size, m.offset);
  write(directory + directory_end(members_.size(), directory.size(), end));
  return close(file_);
}

std::unique_ptr<RecordFile> make_npz(const std::filesystem::path& path, const RecordHeader& header) {
  File file(std::fopen(path.c_str(), "wb"));
  if (!file) return nullptr;
  return std::make_unique<NpzFile>(std::move(file), header.columns);
}

}  // namespace karakuri::session_detail
