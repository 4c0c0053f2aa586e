// karakuri info: what is in a scene.
#include <map>
#include <numbers>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "common.h"
#include "karakuri/dynamics/centroidal.h"
#include "karakuri/dynamics/closed_loop.h"
#include "karakuri/session/session.h"
#include "trust.h"

namespace karakuri::cli {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostLines = 200;  // of the tree

struct InfoOptions {
  std::string file;
  bool json = false;
  LoadOptions load;
};

// ---- words

std::string shapes_of(const Scene& scene, const Link& link) {
  std::map<std::string, int> kinds;
  for (const ShapePlacement& placed : link.shapes) {
    if (const Shape* shape = scene.shapes.find(placed.shape)) ++kinds[to_string(shape->kind())];
  }
  std::string text;
  for (const auto& [kind, number] : kinds) {
    text +=
        fmt::format("{}{}{}", text.empty() ? "" : ", ", kind, number > 1 ? fmt::format(" x{}", number) : "");
  }
  return text;
}

/// "-90..90 deg" or "0..0.1 m"; empty where there are no limits.
std::string limits_of(const Joint& joint) {
  if (v_size(joint.kind) != 1) return "";
  const DofProperties& dof = joint.dofs[0];
  if (dof.lower == -DofProperties::kNone && dof.upper == DofProperties::kNone) return "";
  const bool angle = dof_kind(joint.kind, 0) == DofKind::kRotation;
  const double unit = angle ? 180 / std::numbers::pi : 1;
  return fmt::format("{:.4g}..{:.4g} {}", dof.lower * unit, dof.upper * unit, angle ? "deg" : "m");
}

std::string joint_words(const Mechanism& m, const Link& link) {
  if (!m.contains(link.joint)) return "without a joint";
  const Joint& joint = m.joint(link.joint);
  std::string text(name(joint.kind));
  if (joint.name != link.name) text += fmt::format(" '{}'", joint.name);
  const std::string limits = limits_of(joint);
  return limits.empty() ? text : text + " " + limits;
}

std::size_t columns_of(std::string_view text) {
  std::size_t n = 0;
  for (const char c : text) n += (static_cast<unsigned char>(c) & 0xc0u) != 0x80u;
  return n;
}

std::string padded(const std::string& text, std::size_t width) {
  const std::size_t used = columns_of(text);
  return used < width ? text + std::string(width - used, ' ') : text;
}

// ---- the tree

struct TreeLine {
  std::string name, joint, mass, shapes;
};

class TreeDrawing {
 public:
  explicit TreeDrawing(const Scene& scene) : scene_(scene) {
    const Mechanism& m = scene.mechanism;
    draw(m.world(), "", "");
  }
  void print() const {
    std::size_t width[3] = {};
    for (const TreeLine& line : lines_) {
      width[0] = std::max(width[0], columns_of(line.name));
      width[1] = std::max(width[1], columns_of(line.joint));
      width[2] = std::max(width[2], columns_of(line.mass));
    }
    for (const TreeLine& line : lines_) {
      std::string text = fmt::format("{}  {}  {}  {}", padded(line.name, width[0]),
                                     padded(line.joint, width[1]), padded(line.mass, width[2]), line.shapes);
      text.erase(text.find_last_not_of(' ') + 1);
      fmt::print("{}\n", text);
    }
    if (left_out_ > 0) fmt::print("... and {} (--json lists all)\n", count(left_out_, "more link"));
  }

 private:
  void draw(LinkId id, const std::string& branch, const std::string& below) {
    const Mechanism& m = scene_.mechanism;
    const Link& link = m.link(id);
    const bool is_world = id == m.world();
    if (lines_.size() < kMostLines) {
      lines_.push_back({branch + (is_world ? "world" : link.name), is_world ? "" : joint_words(m, link),
                        is_world ? "" : fmt::format("{:.4g} kg", link.inertia.mass),
                        shapes_of(scene_, link)});
    } else {
      ++left_out_;
    }
    std::vector<LinkId> children;
    for (LinkId child = link.child; child; child = m.link(child).sibling) {
      if (!m.link(child).is_virtual()) children.push_back(child);
    }
    for (std::size_t i = 0; i < children.size(); ++i) {
      const bool last = i + 1 == children.size();
      draw(children[i], below + (last ? "└─ " : "├─ "), below + (last ? "   " : "│  "));
    }
  }

  const Scene& scene_;
  std::vector<TreeLine> lines_;
  long long left_out_ = 0;
};

std::vector<JointId> loops_of(const Mechanism& m) {
  std::vector<JointId> loops;
  for (const JointId id : m.joint_ids()) {
    if (m.link(m.joint(id).child).is_virtual()) loops.push_back(id);
  }
  return loops;
}

LinkId real_child(const Mechanism& m, const Joint& joint) {
  const Link& child = m.link(joint.child);
  return child.is_virtual() ? child.real : joint.child;
}

template <class Things>
void print_names(const char* title, const Things& things) {
  if (things.empty()) return;
  std::string text;
  for (const auto& thing : things) text += (text.empty() ? "" : ", ") + thing.name;
  if (text.size() > 400) text = text.substr(0, 400) + ", ...";
  fmt::print("{}: {}\n", title, text);
}

/// Of the loops that are closed at the start.
ClosedLoop closed_loops(const World& world) {
  ClosedLoop loop;
  Workspace ws(world.model());
  update_closed_loop(world.model(), world.state(), ws, loop);
  return loop;
}

void print_loops(const Session& session) {
  const Mechanism& m = session.scene().scene.mechanism;
  const auto loops = loops_of(m);
  for (const JointId id : loops) {
    const Joint& joint = m.joint(id);
    fmt::print("loop '{}': {} between {} and {}\n", joint.name, name(joint.kind), m.link(joint.parent).name,
               m.link(real_child(m, joint)).name);
  }
  if (loops.empty()) return;
  const ClosedLoop closed = closed_loops(session.world());
  fmt::print("mobility {}: the loops take {} of {} away ({}, of which {} redundant)\n", closed.mobility(),
             closed.rank, count(closed.nv, "dof"), count(closed.rows, "row"), closed.redundant());
}

void print_text(const Session& session, const std::string& file, const std::vector<SceneCode>& code) {
  const LoadedScene& scene = session.scene();
  const Mechanism& m = scene.scene.mechanism;
  const Model& model = session.world().model();
  const auto loops = loops_of(m);
  fmt::print("{}{}\n", file, scene.name.empty() ? "" : ": " + scene.name);
  fmt::print("{}, {}, {}, {:.6g} kg, {}, {}\n", count(static_cast<long long>(model.links.size()) - 1, "link"),
             count(static_cast<long long>(model.joints.size()), "joint"), count(model.nv, "dof"),
             total_mass(model), count(static_cast<long long>(session.world().colliders().size()), "shape"),
             count(static_cast<long long>(loops.size()), "loop"));
  fmt::print("dt {:.6g} s, gravity {:.6g} {:.6g} {:.6g} m/s^2, integrator {}, contact {}, solver {}\n\n",
             scene.settings.dt, scene.gravity.x(), scene.gravity.y(), scene.gravity.z(),
             name_of(scene.settings.integrator), name_of(scene.settings.contact),
             solver::name_of(scene.settings.solver));
  TreeDrawing(scene.scene).print();
  if (!loops.empty() || !scene.actuators.empty() || !scene.sensors.empty() || !scene.keyframes.empty())
    fmt::print("\n");
  print_loops(session);
  print_names("actuators", scene.actuators);
  print_names("sensors", scene.sensors);
  print_names("keyframes", scene.keyframes);
  fmt::print("{}{}", code.empty() ? "" : "\n", code_lines(code));
}

// ---- JSON

Json vector_json(const Vec3& v) { return {v.x(), v.y(), v.z()}; }

Json number_or_null(double x) { return std::isfinite(x) ? Json(x) : Json(nullptr); }

Json link_json(const Scene& scene, LinkId id) {
  const Mechanism& m = scene.mechanism;
  const Link& link = m.link(id);
  const Mat3& I = link.inertia.about_com;
  Json shapes = Json::array();
  for (const ShapePlacement& placed : link.shapes) {
    const Shape* shape = scene.shapes.find(placed.shape);
    if (shape)
      shapes.push_back({{"kind", to_string(shape->kind())},
                        {"size", vector_json(shape->size())},
                        {"position", vector_json(placed.X_LS.p)}});
  }
  return {{"name", link.name},
          {"parent", m.contains(link.parent) ? Json(m.link(link.parent).name) : Json(nullptr)},
          {"joint", m.contains(link.joint) ? Json(m.joint(link.joint).name) : Json(nullptr)},
          {"mass", link.inertia.mass},
          {"center_of_mass", vector_json(link.inertia.com)},
          {"inertia", {I(0, 0), I(1, 1), I(2, 2), I(0, 1), I(0, 2), I(1, 2)}},
          {"shapes", shapes}};
}

Json joint_json(const Mechanism& m, JointId id) {
  const Joint& joint = m.joint(id);
  Json dofs = Json::array();
  for (int i = 0; i < v_size(joint.kind); ++i) {
    const DofProperties& d = joint.dofs[static_cast<std::size_t>(i)];
    dofs.push_back({{"lower", number_or_null(d.lower)},
                    {"upper", number_or_null(d.upper)},
                    {"damping", d.damping},
                    {"stiffness", d.stiffness},
                    {"dry_friction", d.dry_friction},
                    {"armature", d.armature},
                    {"effort_limit", number_or_null(d.effort_limit)},
                    {"velocity_limit", number_or_null(d.velocity_limit)}});
  }
  return {{"name", joint.name},
          {"kind", name(joint.kind)},
          {"parent", m.link(joint.parent).name},
          {"child", m.link(real_child(m, joint)).name},
          {"closes_loop", m.link(joint.child).is_virtual()},
          {"axis", vector_json(joint.axis)},
          {"dofs", dofs}};
}

template <class Things>
Json names_json(const Things& things) {
  Json names = Json::array();
  for (const auto& thing : things) names.push_back(thing.name);
  return names;
}

void print_as_json(const Session& session, const std::string& file, const std::vector<SceneCode>& code) {
  const LoadedScene& scene = session.scene();
  const Mechanism& m = scene.scene.mechanism;
  const Model& model = session.world().model();
  Json links = Json::array(), joints = Json::array();
  for (const LinkId id : m.link_ids()) {
    if (id != m.world() && !m.link(id).is_virtual()) links.push_back(link_json(scene.scene, id));
  }
  for (const JointId id : m.joint_ids()) joints.push_back(joint_json(m, id));
  const ClosedLoop closed = closed_loops(session.world());
  print_json({{"file", file},
              {"name", scene.name},
              {"link_count", model.links.size() - 1},
              {"joint_count", model.joints.size()},
              {"dofs", model.nv},
              {"coordinates", model.nq},
              {"mass", total_mass(model)},
              {"shape_count", session.world().colliders().size()},
              {"loop_count", model.loops.size()},
              {"mobility", closed.mobility()},
              {"redundant_rows", closed.redundant()},
              {"dt", scene.settings.dt},
              {"gravity", vector_json(scene.gravity)},
              {"integrator", name_of(scene.settings.integrator)},
              {"contact", name_of(scene.settings.contact)},
              {"solver", solver::name_of(scene.settings.solver)},
              {"links", links},
              {"joints", joints},
              {"actuators", names_json(scene.actuators)},
              {"sensors", names_json(scene.sensors)},
              {"keyframes", names_json(scene.keyframes)},
              {"code", code_json(code)},
              {"notes", to_json(scene.notes)}});
}

int info(const InfoOptions& options) {
  Result<LoadedScene> scene = load(options.file, options.load);
  if (!scene.ok()) {
    say(scene.errors());
    return kBadUsage;
  }
  if (!options.json) say(scene->notes);
  const Result<Session> session = Session::make(std::move(*scene));
  if (!session.ok()) {
    say(session.errors());
    return kBadUsage;
  }
  const std::vector<SceneCode> code = code_in(session->scene(), options.file);
  options.json ? print_as_json(*session, options.file, code) : print_text(*session, options.file, code);
  return kSuccess;
}

}  // namespace

void add_info(CLI::App& app, int& code) {
  auto options = std::make_shared<InfoOptions>();
  CLI::App* sub =
      app.add_subcommand("info", "Show the contents of a scene: tree, dofs, masses, shapes, loops");
  add_scene(*sub, options->file, "FILE");
  sub->add_flag("--json", options->json, "Print JSON, with every link and joint");
  add_load_options(*sub, options->load);
  sub->callback([options, &code] { code = info(*options); });
}

}  // namespace karakuri::cli
