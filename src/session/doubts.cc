#include "karakuri/session/doubts.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <fmt/format.h>

namespace karakuri {

namespace {

// What people build and simulate lies well within these; they decide about warnings alone.
constexpr std::size_t kMostOfAKind = 5;
constexpr double kOverlap = 0.01;   // of the thinner one
constexpr double kTurn = 7;         // a little more than a turn [rad]
constexpr double kLargest = 1e3;    // [m]
constexpr double kSmallest = 1e-4;  // [m]
constexpr double kLightest = 1e-9;  // [kg]
constexpr double kThinnest = 1e-2;  // of air it is about 1.2 [kg/m^3]
constexpr double kDensest = 1e6;    // of osmium it is 2.3e4, but shapes may be smaller than bodies
constexpr double kFewSteps = 2;     // in which nothing should fall through itself
constexpr double kManySteps = 1e6;  // in which nothing should not yet have done so
constexpr double kOutside = 1e-6;   // beyond a limit [rad or m]

/// Findings of one kind, and how bad each is.
class Kind {
 public:
  Kind(const Session& session, std::string remedy) : session_(session), remedy_(std::move(remedy)) {}

  void add(double badness, const char* sort, const std::string& name, std::string what) {
    found_.push_back({badness, fmt::format("{} '{}'", sort, name), std::move(what)});
  }
  void tell(std::vector<Diagnostic>& out) {
    std::stable_sort(found_.begin(), found_.end(),
                     [](const Found& a, const Found& b) { return a.badness > b.badness; });
    const std::size_t told = std::min(found_.size(), kMostOfAKind), rest = found_.size() - told;
    for (std::size_t i = 0; i < told; ++i) {
      const Found& f = found_[i];
      const auto place = session_.scene().places.find(f.thing);
      const bool known = place != session_.scene().places.end();
      out.push_back({Severity::kWarning, known ? place->second : f.thing,
                     known ? fmt::format("{}: {}", f.thing, f.what) : f.what, remedy_});
      if (i + 1 == told && rest > 0) out.back().what += fmt::format("; {} more are like this", rest);
    }
  }

 private:
  struct Found {
    double badness;
    std::string thing, what;
  };
  const Session& session_;
  std::string remedy_;
  std::vector<Found> found_;
};

void doubt_emptiness(const Session& s, std::vector<Diagnostic>& out) {
  if (s.world().model().links.size() > 1 || !s.world().colliders().empty()) return;
  out.push_back({Severity::kWarning, s.scene().name, "the world is empty: it has no body and no shape",
                 "see that the file is whole, and that what it includes is found"});
}

void doubt_overlaps(const Session& s, std::vector<Diagnostic>& out) {
  const Mechanism& m = s.world().scene().mechanism;
  Kind overlaps(s, "move them apart, make the shapes smaller, or name the two under no_contact");
  for (const Overlap& o : s.world().find_overlaps()) {
    if (!(o.depth > kOverlap * o.thickness)) continue;
    const bool a_is_world = o.a == m.world();  // of the two it is the one that is not moved
    const std::string &name = m.link(a_is_world ? o.b : o.a).name,
                      &other = m.link(a_is_world ? o.a : o.b).name;
    overlaps.add(o.depth, "link", name,
                 fmt::format("it overlaps '{}' by {:.3g} m at the start", other, o.depth));
  }
  overlaps.tell(out);
}

// ---- joints

bool is_whole(double x) { return !std::isfinite(x) || std::abs(x - std::round(x)) < 1e-9; }

bool looks_like_degrees(const DofProperties& dof) {
  const auto beyond = [](double x) { return std::isfinite(x) && std::abs(x) > kTurn && std::abs(x) <= 720; };
  return (beyond(dof.lower) || beyond(dof.upper)) && is_whole(dof.lower) && is_whole(dof.upper);
}

void doubt_joints(const Session& s, std::vector<Diagnostic>& out) {
  const Model& model = s.world().model();
  Kind degrees(s, "give limits of angles in radians"),
      outside(s, "start within the limits, by initial or a keyframe, or correct them");
  for (const JointEntry& joint : model.joints) {
    if (joint.first_v < 0 || q_size(joint.kind) != v_size(joint.kind)) continue;
    for (int k = 0; k < v_size(joint.kind); ++k) {
      const DofProperties& dof = model.dof_properties[static_cast<std::size_t>(joint.first_v + k)];
      const bool turns = dof_kind(joint.kind, k) == DofKind::kRotation;
      if (turns && looks_like_degrees(dof))
        degrees.add(
            0, "joint", joint.name,
            fmt::format("its limits are {:g} and {:g} rad, which look like degrees", dof.lower, dof.upper));
      const double q = s.world().state().q[static_cast<std::size_t>(joint.first_q + k)];
      const double beyond = std::max(dof.lower - q, q - dof.upper);
      if (beyond > kOutside)
        outside.add(beyond, "joint", joint.name,
                    fmt::format("it starts at {:.4g} {}, outside its limits {:.4g} and {:.4g}", q,
                                turns ? "rad" : "m", dof.lower, dof.upper));
    }
  }
  degrees.tell(out);
  outside.tell(out);
}

// ---- sizes, masses, step

/// A body that moves, and the shapes of it that can touch.
struct Solid {
  std::string name;     // of its first link with a shape
  Aabb box;             // in the body's frame
  double volume = 0;    // [m^3]
  double thinnest = 0;  // of its thinnest shape [m]
};

std::vector<Solid> solids_of(const World& world) {
  std::vector<Solid> all(world.model().bodies.size());
  for (const ColliderInfo& c : world.colliders()) {
    const LinkEntry& link = *world.model().find(c.link);
    if (link.body == 0) continue;
    const Shape& shape = *world.scene().shapes.find(c.shape);
    Solid& solid = all[static_cast<std::size_t>(link.body)];
    const double thickness = 2 * bounding_box(shape, {}).half().minCoeff();
    solid.thinnest = solid.name.empty() ? thickness : std::min(solid.thinnest, thickness);
    if (solid.name.empty()) solid.name = link.name;
    solid.box.add(bounding_box(shape, link.X_BL * c.X_LS));
    solid.volume += volume(shape);
  }
  return all;
}

void doubt_solids(const Session& s, const std::vector<Solid>& solids, std::vector<Diagnostic>& out) {
  Kind sizes(s, "give lengths in metres; meshes may need a scale"), masses(s, "give masses in kg"),
      densities(s, "give masses in kg and lengths in metres");
  const Model& model = s.world().model();
  for (std::size_t i = 1; i < solids.size(); ++i) {
    const Solid& solid = solids[i];
    if (solid.name.empty()) continue;
    const double size = 2 * solid.box.half().maxCoeff(), mass = model.bodies[i].mass;
    const double room = 8 * solid.box.half().prod();
    if (size > kLargest || size < kSmallest)
      sizes.add(std::abs(std::log(size)), "link", solid.name, fmt::format("its size is {:.3g} m", size));
    else if (mass > 0 && mass < kLightest)
      masses.add(-mass, "link", solid.name, fmt::format("its mass is {:.3g} kg", mass));
    else if (solid.volume > 0 && (mass < kThinnest * solid.volume || mass > kDensest * room))
      densities.add(std::abs(std::log(mass / solid.volume)), "link", solid.name,
                    fmt::format("its mass is {:.3g} kg, in shapes of {:.3g} m^3: {:.3g} kg/m^3", mass,
                                solid.volume, mass / solid.volume));
  }
  sizes.tell(out), masses.tell(out), densities.tell(out);
}

void doubt_step(const Session& s, const std::vector<Solid>& solids, std::vector<Diagnostic>& out) {
  const double dt = s.world().settings().dt / s.world().settings().substeps, g = s.world().gravity().norm();
  if (!(g > 0)) return;
  const Solid *thinnest = nullptr, *largest = nullptr;
  for (const Solid& solid : solids) {
    if (solid.name.empty()) continue;
    if (!thinnest || solid.thinnest < thinnest->thinnest) thinnest = &solid;
    if (!largest || solid.thinnest > largest->thinnest) largest = &solid;
  }
  if (!thinnest) return;
  const auto fall_time = [&](const Solid& solid) { return std::sqrt(2 * solid.thinnest / g); };
  const auto tell = [&](const Solid& solid, const char* sort, const char* remedy) {
    out.push_back({Severity::kWarning, s.scene().name,
                   fmt::format("the step of {:.3g} s is too {}: '{}', {:.3g} m thick, falls through its own "
                               "thickness in {:.2g} steps",
                               dt, sort, solid.name, solid.thinnest, fall_time(solid) / dt),
                   remedy});
  };
  if (fall_time(*thinnest) < kFewSteps * dt) tell(*thinnest, "long", "take a shorter dt, or more substeps");
  if (fall_time(*largest) > kManySteps * dt) tell(*largest, "short", "take a longer dt");
}

}  // namespace

std::vector<Diagnostic> find_doubts(const Session& session) {
  std::vector<Diagnostic> out;
  const std::vector<Solid> solids = solids_of(session.world());
  doubt_emptiness(session, out);
  doubt_overlaps(session, out);
  doubt_joints(session, out);
  doubt_solids(session, solids, out);
  doubt_step(session, solids, out);
  return out;
}

}  // namespace karakuri
