#include "karakuri/session/recorder.h"

#include <cerrno>
#include <cstring>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "session/impl.h"
#include "session/npz.h"

namespace karakuri {

using session_detail::File;
using session_detail::NpzWriter;

// ---- columns

namespace {

constexpr double kGone = std::numeric_limits<double>::quiet_NaN();
constexpr const char* kLinkColumns[] = {"px", "py", "pz", "qw", "qx", "qy", "qz",
                                        "vx", "vy", "vz", "wx", "wy", "wz"};
constexpr std::size_t kPerLink = std::size(kLinkColumns);

void add_names(std::vector<std::string>& names, const std::string& joint, const char* what,
               std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    names.push_back(count == 1 ? fmt::format("{}.{}", joint, what) : fmt::format("{}.{}{}", joint, what, i));
}

void read_link(const World& world, LinkId link, std::span<double> out) {
  if (!world.model().find(link)) return std::fill(out.begin(), out.end(), kGone);
  const Transform X = world.pose(link);
  const Motion V = world.velocity(link);
  const auto r = session_detail::unit_quaternion(X.R);
  const double values[kPerLink] = {X.p.x(),       X.p.y(),       X.p.z(),      r[0],         r[1],
                                   r[2],          r[3],          V.linear.x(), V.linear.y(), V.linear.z(),
                                   V.angular.x(), V.angular.y(), V.angular.z()};
  std::copy(std::begin(values), std::end(values), out.begin());
}

}  // namespace

RecordColumns::RecordColumns(const Session& session) {
  const Mechanism& m = session.world().scene().mechanism;
  names_.push_back("time");
  for (const LinkId id : m.link_ids()) {
    if (id == m.world() || m.link(id).is_virtual()) continue;
    links_.push_back(id);
    for (const char* column : kLinkColumns) names_.push_back(fmt::format("{}.{}", m.link(id).name, column));
  }
  for (const JointId id : m.joint_ids()) {
    const std::size_t coordinates = session.world().q(id).size(), dofs = session.world().v(id).size();
    if (dofs == 0) continue;
    joints_.push_back({id, coordinates, dofs});
    add_names(names_, m.joint(id).name, "q", coordinates);
    add_names(names_, m.joint(id).name, "v", dofs);
    add_names(names_, m.joint(id).name, "tau", dofs);
  }
}

void RecordColumns::read(const Session& session, std::span<double> row) const {
  const World& world = session.world();
  std::size_t at = 0;
  row[at++] = world.time();
  for (const LinkId link : links_) {
    read_link(world, link, row.subspan(at, kPerLink));
    at += kPerLink;
  }
  for (const JointColumns& j : joints_) {
    const std::size_t count = j.coordinates + 2 * j.dofs;
    const std::span<double> out = row.subspan(at, count);
    const auto q = world.q(j.joint), v = world.v(j.joint);
    at += count;
    if (q.size() != j.coordinates || v.size() != j.dofs) {
      std::fill(out.begin(), out.end(), kGone);
      continue;
    }
    std::copy(q.begin(), q.end(), out.begin());
    std::copy(v.begin(), v.end(), out.begin() + static_cast<std::ptrdiff_t>(j.coordinates));
    const JointLoad load = world.load(j.joint);
    std::copy_n(load.drive.begin(), j.dofs,
                out.begin() + static_cast<std::ptrdiff_t>(j.coordinates + j.dofs));
  }
}

// ---- the file

struct Recorder::Impl {
  std::filesystem::path path;
  File file;
  RecordColumns columns;
  std::vector<double> row;
  std::optional<NpzWriter> npz;  // else CSV
  fmt::memory_buffer text;
  long long rows = 0;
  bool failed = false;

  Impl(std::filesystem::path p, File f, const Session& session)
      : path(std::move(p)), file(std::move(f)), columns(session), row(columns.names().size()) {}

  std::vector<Diagnostic> failure() {
    failed = true;
    const std::string reason = errno != 0 ? std::strerror(errno) : "it cannot be written";
    return {{Severity::kError, path.string(), fmt::format("writing failed after {} rows: {}", rows, reason),
             "free some space, record less often (--record-every), or give another path"}};
  }
  bool bad() const { return std::ferror(file.get()) != 0; }
  void flush_text() {
    std::fwrite(text.data(), 1, text.size(), file.get());
    text.clear();
  }
};

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

}  // namespace

Result<Recorder> Recorder::open(const std::filesystem::path& path, const Session& session) {
  const std::string ending = path.extension().string();
  if (ending != ".csv" && ending != ".npz") {
    return Diagnostic{
        Severity::kError, path.string(),
        ending.empty() ? "a record needs an ending" : fmt::format("records do not end in '{}'", ending),
        "end the name in .csv, or in .npz for large runs"};
  }
  errno = 0;
  File file(std::fopen(path.c_str(), "wb"));
  if (!file) {
    return Diagnostic{Severity::kError, path.string(),
                      fmt::format("it cannot be written: {}", std::strerror(errno)),
                      "give a path in a folder that exists and that you may write to"};
  }
  auto impl = std::make_unique<Impl>(path, std::move(file), session);
  if (ending == ".npz") {
    impl->npz.emplace(impl->file.get(), impl->columns.names());
  } else {
    const std::vector<std::string>& names = impl->columns.names();
    for (std::size_t i = 0; i < names.size(); ++i)
      fmt::format_to(std::back_inserter(impl->text), "{}{}", i == 0 ? "" : ",", csv_name(names[i]));
    impl->text.push_back('\n');
  }
  return Recorder(std::move(impl));
}

Recorder::Recorder(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Recorder::Recorder(Recorder&&) noexcept = default;
Recorder& Recorder::operator=(Recorder&&) noexcept = default;
Recorder::~Recorder() {
  if (impl_) close();
}

const std::vector<std::string>& Recorder::columns() const { return impl_->columns.names(); }
long long Recorder::rows() const { return impl_->rows; }

std::vector<Diagnostic> Recorder::record(const Session& session) {
  Impl& r = *impl_;
  if (r.failed || !r.file) return {};
  r.columns.read(session, r.row);
  errno = 0;
  if (r.npz) {
    r.npz->add(r.row);
  } else {
    for (std::size_t i = 0; i < r.row.size(); ++i) {
      if (i > 0) r.text.push_back(',');
      fmt::format_to(std::back_inserter(r.text), "{}", r.row[i]);
    }
    r.text.push_back('\n');
    if (r.text.size() >= kTextKept) r.flush_text();
  }
  if (r.bad()) return r.failure();
  ++r.rows;
  return {};
}

std::vector<Diagnostic> Recorder::close() {
  Impl& r = *impl_;
  if (!r.file) return {};
  errno = 0;
  if (!r.failed && r.npz) r.npz->finish();
  if (!r.failed && !r.npz) r.flush_text();
  const bool flushed = std::fflush(r.file.get()) == 0 && !r.bad();
  const bool closed = std::fclose(r.file.release()) == 0;
  if (r.failed || (flushed && closed)) return {};
  return r.failure();
}

}  // namespace karakuri
