#include "karakuri/session/recorder.h"

#include <cerrno>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "session/impl.h"
#include "session/record_file.h"

namespace karakuri {

using session_detail::RecordFile;
using session_detail::RecordHeader;

// ---- columns

namespace {

constexpr double kGone = std::numeric_limits<double>::quiet_NaN();
constexpr const char* kLinkColumns[] = {"px", "py", "pz", "qw", "qx", "qy", "qz",
                                        "vx", "vy", "vz", "wx", "wy", "wz"};
constexpr const char* kLinkUnits[] = {"m",   "m",   "m",   "1",     "1",     "1",    "1",
                                      "m/s", "m/s", "m/s", "rad/s", "rad/s", "rad/s"};
constexpr std::size_t kPerLink = std::size(kLinkColumns);

void add_names(std::vector<std::string>& names, const std::string& joint, const char* what,
               std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    names.push_back(count == 1 ? fmt::format("{}.{}", joint, what) : fmt::format("{}.{}{}", joint, what, i));
}

/// Of coordinates, rates and efforts; angles come last, and a quaternion last of all.
void add_units(std::vector<std::string>& units, JointKind kind) {
  const int dofs = v_size(kind), scalars = has_quaternion(kind) ? dofs - 3 : dofs;
  const auto slides = [&](int dof) { return dof_kind(kind, dof) == DofKind::kTranslation; };
  for (int k = 0; k < q_size(kind); ++k) units.push_back(k >= scalars ? "1" : slides(k) ? "m" : "rad");
  for (int k = 0; k < dofs; ++k) units.push_back(slides(k) ? "m/s" : "rad/s");
  for (int k = 0; k < dofs; ++k) units.push_back(slides(k) ? "N" : "N m");
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
  units_.push_back("s");
  for (const LinkId id : m.link_ids()) {
    if (id == m.world() || m.link(id).is_virtual()) continue;
    links_.push_back(id);
    for (const char* column : kLinkColumns) names_.push_back(fmt::format("{}.{}", m.link(id).name, column));
    units_.insert(units_.end(), std::begin(kLinkUnits), std::end(kLinkUnits));
  }
  for (const JointId id : m.joint_ids()) {
    const std::size_t coordinates = session.world().q(id).size(), dofs = session.world().v(id).size();
    if (dofs == 0) continue;
    joints_.push_back({id, coordinates, dofs});
    add_names(names_, m.joint(id).name, "q", coordinates);
    add_names(names_, m.joint(id).name, "v", dofs);
    add_names(names_, m.joint(id).name, "tau", dofs);
    add_units(units_, m.joint(id).kind);
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

namespace {

using Make = std::unique_ptr<RecordFile> (*)(const std::filesystem::path&, const RecordHeader&);

Make maker_of(const std::string& ending) {
  if (ending == ".csv") return session_detail::make_csv;
  if (ending == ".npz") return session_detail::make_npz;
  if (ending == ".h5" || ending == ".hdf5") return session_detail::make_hdf5;
  return nullptr;
}

}  // namespace

bool session_detail::close(File& file) {
  const bool flushed = std::fflush(file.get()) == 0 && std::ferror(file.get()) == 0;
  const bool closed = std::fclose(file.release()) == 0;
  return flushed && closed;
}

struct Recorder::Impl {
  std::filesystem::path path;
  std::unique_ptr<RecordFile> file;  // none: closed
  RecordColumns columns;
  std::vector<double> row;
  long long rows = 0;
  bool failed = false;

  Impl(std::filesystem::path p, const Session& session)
      : path(std::move(p)), columns(session), row(columns.names().size()) {}

  std::vector<Diagnostic> failure() {
    failed = true;
    const std::string reason = errno != 0 ? std::strerror(errno) : "it cannot be written";
    return {{Severity::kError, path.string(), fmt::format("writing failed after {} rows: {}", rows, reason),
             "free some space, record less often (--record-every), or give another path"}};
  }
};

Result<Recorder> Recorder::open(const std::filesystem::path& path, const Session& session) {
  const std::string ending = path.extension().string();
  const Make make = maker_of(ending);
  if (!make) {
    return Diagnostic{
        Severity::kError, path.string(),
        ending.empty() ? "a record needs an ending" : fmt::format("records do not end in '{}'", ending),
        "end the name in .csv, or for large runs in .npz, .h5 or .hdf5"};
  }
  auto impl = std::make_unique<Impl>(path, session);
  errno = 0;
  impl->file = make(path, {impl->columns.names(), impl->columns.units(), session.scene().name,
                           session.world().settings().dt});
  if (!impl->file) {
    return Diagnostic{Severity::kError, path.string(),
                      fmt::format("it cannot be written: {}",
                                  errno != 0 ? std::strerror(errno) : "the file system refuses"),
                      "give a path in a folder that exists and that you may write to"};
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
  if (!r.file->add(r.row)) return r.failure();
  ++r.rows;
  return {};
}

std::vector<Diagnostic> Recorder::close() {
  Impl& r = *impl_;
  if (!r.file) return {};
  errno = 0;
  const bool finished = r.file->finish();
  const int reason = errno;
  r.file.reset();
  errno = reason;
  if (r.failed || finished) return {};
  return r.failure();
}

}  // namespace karakuri
