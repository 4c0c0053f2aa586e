// <compiler>, <option>, and how orientations are written.
#include <cmath>

#include <fmt/format.h>

#include "io/mjcf/context.h"
#include "io/orientation.h"
#include "karakuri/spatial/rotation.h"

namespace karakuri::io {

namespace {

Mat3 from_euler(const Vec3& angles, const std::string& sequence) {
  Mat3 R = Mat3::Identity();
  for (int k = 0; k < 3; ++k) {
    const char axis = sequence[static_cast<std::size_t>(k)];
    const char lower = static_cast<char>(axis | 0x20);
    const Mat3 turn = lower == 'x' ? turn_x(angles[k]) : lower == 'y' ? turn_y(angles[k]) : turn_z(angles[k]);
    R = axis == lower ? Mat3(R * turn) : Mat3(turn * R);  // small letters: axes that turn along
  }
  return R;
}

bool is_euler_sequence(const std::string& s) {
  return s.size() == 3 && s.find_first_not_of("xyzXYZ") == s.npos;
}

Mat3 from_xy(const MjcfContext& c, const XmlElement& e, const std::vector<double>& n) {
  const Vec3 x(n[0], n[1], n[2]), y(n[3], n[4], n[5]);
  const Vec3 ux = x.normalized(), uy = (y - y.dot(ux) * ux).normalized();
  if (!(x.norm() > 0) || !(ux.cross(y).norm() > 1e-12 * y.norm()) || !(y.norm() > 0)) {
    c.xml.error(e, "xyaxes are zero or parallel", "give two directions");
    return Mat3::Identity();
  }
  Mat3 R;
  R << ux, uy, ux.cross(uy);
  return R;
}

Mat3 read_orientation(const MjcfContext& c, const XmlElement& e) {
  const XmlFile& xml = c.xml;
  if (e.has("quat")) {
    const std::vector<double> q = xml.numbers(e, "quat", 4, 4);
    if (q.empty()) return Mat3::Identity();
    const Quat quat(q[0], q[1], q[2], q[3]);
    if (!(quat.norm() > 1e-12)) xml.error(e, "quat is zero", "give w x y z, such as 1 0 0 0");
    return normalized_or_identity(quat).toRotationMatrix();
  }
  if (e.has("axisangle")) {
    const std::vector<double> a = xml.numbers(e, "axisangle", 4, 4);
    if (a.empty()) return Mat3::Identity();
    const Vec3 axis(a[0], a[1], a[2]);
    if (!(axis.norm() > 1e-12)) {
      xml.error(e, "the axis of axisangle is zero", "give a direction and an angle");
      return Mat3::Identity();
    }
    return Eigen::AngleAxisd(a[3] * c.compiler.angle, axis.normalized()).toRotationMatrix();
  }
  if (e.has("euler"))
    return from_euler(xml.vec3(e, "euler", Vec3::Zero()) * c.compiler.angle, c.compiler.euler);
  if (e.has("xyaxes")) {
    const std::vector<double> n = xml.numbers(e, "xyaxes", 6, 6);
    return n.empty() ? Mat3(Mat3::Identity()) : from_xy(c, e, n);
  }
  if (e.has("zaxis")) {
    const Vec3 z = xml.vec3(e, "zaxis", Vec3::UnitZ());
    if (z.norm() > 1e-12) return frame_with_z(z);
    xml.error(e, "zaxis is zero", "give a direction");
  }
  return Mat3::Identity();
}

void set_flag(const XmlFile& xml, const XmlElement& e, const char* name, bool& flag) {
  static const std::vector<std::string> kWords = {"enable", "disable"};
  flag = xml.choice(e, name, kWords, flag ? 0 : 1) == 0;
}

void read_flags(MjcfContext& c, const XmlElement& e) {
  MjcfFlags& f = c.flags;
  const struct {
    const char* name;
    bool* flag;
  } table[] = {{"constraint", &f.constraint},
               {"equality", &f.equality},
               {"frictionloss", &f.friction_loss},
               {"limit", &f.limit},
               {"contact", &f.contact},
               {"spring", &f.spring},
               {"damper", &f.damper},
               {"gravity", &f.gravity},
               {"filterparent", &f.filter_parent},
               {"actuation", &f.actuation},
               {"refsafe", &f.safe_reference},
               {"warmstart", &c.build.out.settings.warm_start}};
  for (const auto& [name, flag] : table) set_flag(c.xml, e, name, *flag);
  bool passive = true;
  set_flag(c.xml, e, "passive", passive);
  if (!passive) f.spring = f.damper = false;
  if (!f.constraint) f.equality = f.friction_loss = f.limit = f.contact = false;
}

}  // namespace

Transform read_place(const MjcfContext& c, const XmlElement& e) {
  return {read_orientation(c, e), c.xml.vec3(e, "pos", Vec3::Zero())};
}

void read_compiler(MjcfContext& c, const XmlElement& e) {
  MjcfCompiler& to = c.compiler;
  const XmlFile& xml = c.xml;
  if (e.has("angle")) {
    const bool degree = xml.choice(e, "angle", {"degree", "radian"}, 0) == 0;
    to.angle = degree ? MjcfCompiler{}.angle : 1.0;
  }
  if (e.has("eulerseq")) {
    if (is_euler_sequence(e.get("eulerseq"))) {
      to.euler = e.get("eulerseq");
    } else {
      xml.error(e, "eulerseq is " + in_quotes(e.get("eulerseq")), "give three of x, y, z, X, Y, Z");
    }
  }
  if (e.has("coordinate") && e.get("coordinate") != "local") {
    xml.error(e, "coordinate is " + in_quotes(e.get("coordinate")),
              "MuJoCo gave up global coordinates; save the file with local ones");
  }
  for (const char* name : {"assetdir", "meshdir"}) {
    if (e.has(name)) to.mesh_folder = e.get(name);
  }
  to.auto_limits = xml.flag(e, "autolimits", to.auto_limits);
  to.strip_path = xml.flag(e, "strippath", to.strip_path);
  to.balance_inertia = xml.flag(e, "balanceinertia", to.balance_inertia);
  to.fit_aabb = xml.flag(e, "fitaabb", to.fit_aabb);
  to.exact_mesh_inertia = xml.flag(e, "exactmeshinertia", to.exact_mesh_inertia);
  to.bound_mass = xml.number(e, "boundmass", to.bound_mass);
  to.bound_inertia = xml.number(e, "boundinertia", to.bound_inertia);
  to.total_mass = xml.number(e, "settotalmass", to.total_mass);
  if (e.has("inertiafromgeom")) {
    to.inertia_from_geom =
        static_cast<FromGeom>(xml.choice(e, "inertiafromgeom", {"false", "true", "auto"}, 2));
  }
  const std::vector<double> groups = xml.numbers(e, "inertiagrouprange", 2, 2);
  if (!groups.empty()) {
    to.first_inertia_group = static_cast<int>(groups[0]);
    to.last_inertia_group = static_cast<int>(groups[1]);
  }
}

void read_option(MjcfContext& c, const XmlElement& e) {
  const XmlFile& xml = c.xml;
  WorldSettings& settings = c.build.out.settings;
  settings.dt = xml.number(e, "timestep", settings.dt);
  if (!(settings.dt > 0))
    xml.error(e, fmt::format("timestep is {:g}", settings.dt), "give a time above zero [s]");
  c.build.out.gravity = xml.vec3(e, "gravity", c.build.out.gravity);
  if (e.has("integrator")) {
    const std::size_t i = xml.choice(e, "integrator", {"Euler", "RK4", "implicit", "implicitfast"}, 0);
    settings.integrator = i == 1 ? Integrator::kRk4 : Integrator::kSemiImplicit;
  }
  if (e.has("cone")) {
    const bool pyramid = xml.choice(e, "cone", {"pyramidal", "elliptic"}, 1) == 0;
    settings.contact = pyramid ? ContactModel::kPyramid : ContactModel::kCone;
  }
  Fluid& fluid = c.build.out.fluid;
  fluid.density = xml.number(e, "density", fluid.density);
  fluid.viscosity = xml.number(e, "viscosity", fluid.viscosity);
  if (fluid.density < 0 || fluid.viscosity < 0)
    xml.error(e, "density or viscosity is below zero", "give 0 or more");
  fluid.wind = xml.vec3(e, "wind", c.build.options.pose.R.transpose() * fluid.wind);
  fluid.wind = c.build.options.pose.R * fluid.wind;
  for (const XmlElement& child : e.children) {
    if (child.name == "flag") read_flags(c, child);
  }
}

bool is_limited(const MjcfContext& c, const XmlElement& e, const char* flag, const char* range) {
  const std::size_t word = e.has(flag) ? c.xml.choice(e, flag, {"false", "true", "auto"}, 2) : 2;
  if (word == 2) return c.compiler.auto_limits && e.has(range);
  if (word == 1 && !e.has(range)) {
    c.xml.error(e, fmt::format("{} is true, but there is no {}", flag, range), "add the range");
    return false;
  }
  return word == 1;
}

int MjcfContext::named(const std::map<std::string, int>& table, const XmlElement& e,
                       std::string_view attribute, const char* kind) const {
  const auto found = table.find(e.get(attribute));
  if (found != table.end() && !found->first.empty()) return found->second;
  if (xml.report.full()) return -1;
  std::vector<std::string> names;
  for (const auto& [name, index] : table) names.push_back(name);
  xml.error(e, fmt::format("there is no {} {}", kind, in_quotes(e.get(attribute))),
            fmt::format("there are {}", listed(names)));
  return -1;
}

}  // namespace karakuri::io
