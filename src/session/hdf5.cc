// Records in HDF5: /data, rows by columns, in chunks of about a megabyte; /columns and /units, words; the
// scene and its step as attributes of the root. Written with the oldest format that holds it, which has no
// mark "open for writing", and flushed after every chunk: what a killed run leaves is a whole file that ends
// with its last chunk.
#include <hdf5.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "session/record_file.h"

namespace karakuri::session_detail {

namespace {

constexpr std::size_t kChunkBytes = 1u << 20;

/// The library prints what fails unless told otherwise; we tell it ourselves.
class Quiet {
 public:
  Quiet() {
    H5Eget_auto2(H5E_DEFAULT, &print_, &data_);
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  }
  ~Quiet() { H5Eset_auto2(H5E_DEFAULT, print_, data_); }
  Quiet(const Quiet&) = delete;
  Quiet& operator=(const Quiet&) = delete;

 private:
  H5E_auto2_t print_ = nullptr;
  void* data_ = nullptr;
};

/// Something of the library's, which ends with us.
class Handle {
 public:
  Handle(hid_t id, herr_t (*end)(hid_t)) : id_(id), end_(end) {}
  ~Handle() {
    if (id_ >= 0) end_(id_);
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  operator hid_t() const { return id_; }
  bool ok() const { return id_ >= 0; }

 private:
  hid_t id_;
  herr_t (*end_)(hid_t);
};

/// UTF-8, all of one length, padded with zeros.
Handle word_type(std::size_t longest) {
  const hid_t type = H5Tcopy(H5T_C_S1);
  H5Tset_size(type, std::max<std::size_t>(1, longest));
  H5Tset_strpad(type, H5T_STR_NULLPAD);
  H5Tset_cset(type, H5T_CSET_UTF8);
  return {type, H5Tclose};
}

bool write_words(hid_t file, const char* name, const std::vector<std::string>& words) {
  std::size_t longest = 1;
  for (const std::string& word : words) longest = std::max(longest, word.size());
  std::string bytes(longest * words.size(), '\0');
  for (std::size_t i = 0; i < words.size(); ++i)
    std::copy(words[i].begin(), words[i].end(), bytes.begin() + static_cast<std::ptrdiff_t>(i * longest));
  const hsize_t count = words.size();
  const Handle type = word_type(longest), space(H5Screate_simple(1, &count, nullptr), H5Sclose);
  const Handle set(H5Dcreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Dclose);
  return set.ok() && H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes.data()) >= 0;
}

bool write_attribute(hid_t file, const char* name, hid_t type, const void* value) {
  const Handle space(H5Screate(H5S_SCALAR), H5Sclose);
  const Handle attribute(H5Acreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
  return attribute.ok() && H5Awrite(attribute, type, value) >= 0;
}

class Hdf5File : public RecordFile {
 public:
  explicit Hdf5File(std::size_t width)
      : width_(width), chunk_rows_(std::max<std::size_t>(1, kChunkBytes / (sizeof(double) * width))) {
    rows_.reserve(chunk_rows_ * width_);
  }
  ~Hdf5File() override {
    const Quiet quiet;
    end();
  }

  bool open(const std::filesystem::path& path, const RecordHeader& header) {
    const Quiet quiet;
    file_ = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    return file_ >= 0 && write_words(file_, "columns", header.columns) &&
           write_words(file_, "units", header.units) && write_scene(header) && make_table() &&
           H5Fflush(file_, H5F_SCOPE_LOCAL) >= 0;
  }

  bool add(std::span<const double> row) override {
    rows_.insert(rows_.end(), row.begin(), row.end());
    return rows_.size() < chunk_rows_ * width_ || flush();
  }

  bool finish() override {
    const bool flushed = flush();
    const int reason = errno;
    const Quiet quiet;
    const bool ended = end();
    if (!flushed) errno = reason;
    return flushed && ended;
  }

 private:
  bool write_scene(const RecordHeader& header) const {
    const Handle type = word_type(header.scene.size());
    return write_attribute(file_, "scene", type, header.scene.c_str()) &&
           write_attribute(file_, "step", H5T_NATIVE_DOUBLE, &header.step);
  }

  bool make_table() {
    const hsize_t size[] = {0, width_}, most[] = {H5S_UNLIMITED, width_}, chunk[] = {chunk_rows_, width_};
    const Handle space(H5Screate_simple(2, size, most), H5Sclose);
    const Handle layout(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    H5Pset_chunk(layout, 2, chunk);
    // each chunk is written once, whole: it needs neither a fill before nor a place in the cache after
    H5Pset_fill_time(layout, H5D_FILL_TIME_NEVER);
    data_ = H5Dcreate2(file_, "data", H5T_IEEE_F64LE, space, H5P_DEFAULT, layout, H5P_DEFAULT);
    return data_ >= 0;
  }

  bool flush() {
    const Quiet quiet;
    const hsize_t count[] = {rows_.size() / width_, width_};
    if (count[0] == 0) return true;
    const hsize_t start[] = {written_, 0}, size[] = {written_ + count[0], width_};
    if (H5Dset_extent(data_, size) < 0) return false;
    const Handle in_file(H5Dget_space(data_), H5Sclose),
        in_memory(H5Screate_simple(2, count, nullptr), H5Sclose);
    H5Sselect_hyperslab(in_file, H5S_SELECT_SET, start, nullptr, count, nullptr);
    if (H5Dwrite(data_, H5T_NATIVE_DOUBLE, in_memory, in_file, H5P_DEFAULT, rows_.data()) < 0) return false;
    written_ += count[0];
    rows_.clear();
    return H5Fflush(file_, H5F_SCOPE_LOCAL) >= 0;
  }

  bool end() {
    const bool table = data_ < 0 || H5Dclose(data_) >= 0, file = file_ < 0 || H5Fclose(file_) >= 0;
    data_ = file_ = -1;
    return table && file;
  }

  hid_t file_ = -1, data_ = -1;
  std::size_t width_, chunk_rows_;
  hsize_t written_ = 0;       // rows
  std::vector<double> rows_;  // of the next chunk
};

}  // namespace

std::unique_ptr<RecordFile> make_hdf5(const std::filesystem::path& path, const RecordHeader& header) {
  H5dont_atexit();  // it would wail about files that a full disk kept it from closing
  if (!File(std::fopen(path.c_str(), "wb"))) return nullptr;  // for the reason, which the library keeps
  errno = 0;
  auto file = std::make_unique<Hdf5File>(header.columns.size());
  if (!file->open(path, header)) return nullptr;
  return file;
}

}  // namespace karakuri::session_detail
