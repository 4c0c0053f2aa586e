// What may be wrong with a mechanism that its structure allows: values and names.
#include <cmath>
#include <map>
#include <string>

#include "core/compose.h"
#include "karakuri/model/mechanism.h"

namespace karakuri {

namespace {

class Flaws {
 public:
  void add(std::string where, std::string what, std::string remedy) {
    found.push_back({Severity::kError, std::move(where), std::move(what), std::move(remedy)});
  }
  std::vector<Diagnostic> found;
};

bool finite(const Transform& X) { return X.R.allFinite() && X.p.allFinite(); }

bool is_rotation(const Mat3& R) {
  // Poses come from files with six digits: 5e-7 in each entry gives 2 sqrt(3) 5e-7 here.
  return (R.transpose() * R - Mat3::Identity()).cwiseAbs().maxCoeff() < 2e-6 && R.determinant() > 0;
}

void check_names(const Mechanism& m, Flaws& flaws) {
  std::map<std::string, int> links, joints;
  for (LinkId id : m.link_ids()) {
    if (!m.link(id).is_virtual()) ++links[m.link(id).name];
  }
  for (JointId id : m.joint_ids()) ++joints[m.joint(id).name];
  const auto report = [&](const std::map<std::string, int>& names, const char* kind) {
    for (const auto& [name, count] : names) {
      const std::string where = compose("{} '{}'", kind, name);
      if (name.empty())
        flaws.add(where, compose("{} {}s have no name", count, kind), "name each of them");
      else if (count > 1) {
        flaws.add(where, compose("{} {}s have this name", count, kind),
                  "give each its own name, or a prefix when including the same model twice");
      }
    }
  };
  report(links, "link");
  report(joints, "joint");
}

void check_link(const Mechanism& m, LinkId id, Flaws& flaws) {
  const Link& link = m.link(id);
  const std::string where = compose("link '{}'", link.name);
  if (id == m.world() || link.is_virtual()) return;
  if (!link.joint) {
    flaws.add(where, "hangs on nothing",
              "add a free joint to the world to let it float, or a fixed one to hold it");
  }
  for (const ShapePlacement& placed : link.shapes) {
    if (!finite(placed.X_LS) || !is_rotation(placed.X_LS.R)) {
      flaws.add(where, "the pose of a shape on it is not finite or not a rigid motion",
                "use finite numbers and orthonormal, right-handed axes");
    }
  }
  const Inertia& in = link.inertia;
  // Massless links are fine as markers: compile() asks whether what moves has mass once it knows what moves.
  const bool massless = in.mass == 0 && in.about_com.isZero(0) && in.com.allFinite();
  if (massless) return;
  if (const auto flaw = find_flaw(in)) {
    flaws.add(where, *flaw, "correct its inertial values, or compute them from its shapes");
  }
}

/// Of what is rigid unless it has a stiffness.
void check_give(double stiffness, double damping, const std::string& what, const std::string& where,
                Flaws& flaws) {
  if (!(stiffness >= 0) || !(stiffness + damping > 0))
    flaws.add(where, compose("the stiffness of {} is {:g}", what, stiffness),
              "it must be above zero, or have damping beside it; infinite means rigid");
  if (!(damping >= 0) || !std::isfinite(damping))
    flaws.add(where, compose("the damping of {} is {:g}", what, damping),
              "it must be finite and not below zero");
}

void check_dof(const DofProperties& d, const std::string& where, Flaws& flaws) {
  if (std::isnan(d.lower) || std::isnan(d.upper) || std::isnan(d.effort_limit) ||
      std::isnan(d.velocity_limit)) {
    flaws.add(where, "a limit is not a number", "leave a limit out to have none");
  }
  if (d.lower == DofProperties::kNone || d.upper == -DofProperties::kNone) {
    flaws.add(where, "its limits leave no finite position", "leave a limit out to have none");
  } else if (d.lower > d.upper) {
    flaws.add(where, compose("its lower limit {:g} is above its upper limit {:g}", d.lower, d.upper),
              "swap them");
  }
  if (d.effort_limit < 0 || d.velocity_limit < 0) {
    flaws.add(where, "an effort or velocity limit is negative",
              "give the magnitude, or leave it out to have none");
  }
  const struct {
    const char* name;
    double value;
  } not_negative[] = {{"damping", d.damping},
                      {"stiffness", d.stiffness},
                      {"dry friction", d.dry_friction},
                      {"armature", d.armature}};
  for (const auto& [name, value] : not_negative) {
    if (!(value >= 0) || !std::isfinite(value)) {
      flaws.add(where, compose("its {} is {:g}", name, value), "it must be finite and not below zero");
    }
  }
  check_give(d.limit_stiffness, d.limit_damping, "its limits", where, flaws);
  if (!std::isfinite(d.rest)) flaws.add(where, "its rest position is not finite", "give a finite number");
}

void check_axes(const Joint& joint, const std::string& where, Flaws& flaws) {
  // also where the square of its length overflows
  const auto unusable = [](const Vec3& a) { return !std::isfinite(a.norm()) || !(a.norm() > 1e-12); };
  const bool universal = joint.kind == JointKind::kUniversal;
  if (unusable(joint.axis) || (universal && unusable(joint.second_axis))) {
    flaws.add(where, "its axis is zero, not finite or far too long", "give a direction such as 0 0 1");
    return;
  }
  // below 1e-6 the two turns are one, and a degree of freedom is lost for good
  if (universal && joint.axis.normalized().cross(joint.second_axis.normalized()).norm() < 1e-6) {
    flaws.add(where, "its two axes are parallel",
              "give axes that are at right angles, or use a revolute joint");
  }
}

void check_joint(const Joint& joint, Flaws& flaws) {
  const std::string where = compose("joint '{}'", joint.name);
  if (!finite(joint.X_PF) || !finite(joint.X_CM)) {
    flaws.add(where, "its frame has a number that is not finite", "correct its pose");
  } else if (!is_rotation(joint.X_PF.R) || !is_rotation(joint.X_CM.R)) {
    flaws.add(where, "the orientation of its frame is not a rotation", "use orthonormal, right-handed axes");
  }
  if (needs_axis(joint.kind)) check_axes(joint, where, flaws);
  check_give(joint.closing_stiffness, joint.closing_damping, "its closing", where, flaws);
  check_give(joint.closing_turn_stiffness, joint.closing_turn_damping, "its closing turn", where, flaws);
  const Interval& range = joint.range;
  if (!(range.low <= range.high) || !(range.high > 0)) {
    flaws.add(where, "its range leaves no distance", "give the least distance first, both not below zero");
  }
  const bool by_length = joint.kind == JointKind::kDistance && !range.bounded();
  if (by_length && !(joint.distance > 0 && std::isfinite(joint.distance))) {
    flaws.add(where, compose("its distance is {:g}", joint.distance),
              "give a length above zero; two points that coincide are held by a spherical joint");
  }
  if (joint.kind == JointKind::kScrew && !std::isfinite(joint.pitch)) {
    flaws.add(where, "its pitch is not finite", "give the advance in metres per radian");
  }
  if (has_quaternion(joint.kind) && joint.dofs[v_size(joint.kind) - 3].upper < 0) {
    flaws.add(where, "the upper limit of its angle of rotation is below zero",
              "give the largest angle from the neutral orientation");
  }
  for (int k = 0; k < v_size(joint.kind); ++k) {
    check_dof(joint.dofs[k], v_size(joint.kind) > 1 ? compose("{}, dof {}", where, k) : where, flaws);
  }
}

void check_material(const Material& material, Flaws& flaws) {
  if (const auto flaw = find_flaw(material.surface))
    flaws.add(compose("material '{}'", material.name), "it " + *flaw, "mend its surface");
}

/// Whether dof k of a joint is a turn or a slide with a position of its own.
void check_position(const Mechanism& m, JointId id, int dof, const std::string& where, Flaws& flaws) {
  if (!m.contains(id)) {
    flaws.add(where, "it names a joint that is not in this mechanism", "use an id that is alive");
    return;
  }
  const Joint& joint = m.joint(id);
  const int positions =
      m.link(joint.child).is_virtual() || has_quaternion(joint.kind) ? 0 : v_size(joint.kind);
  if (dof >= 0 && dof < positions) return;
  flaws.add(where,
            positions == 0 ? compose("joint '{}' has no position that a number could say", joint.name)
                           : compose("joint '{}' has no dof {}", joint.name, dof),
            "name a joint that turns about an axis or slides along one, and that closes no loop");
}

void check_coupling(const Mechanism& m, const Coupling& c, Flaws& flaws) {
  const std::string where = compose("coupling '{}'", c.name);
  check_position(m, c.follower, 0, where, flaws);
  if (c.leader) check_position(m, c.leader, 0, where, flaws);
  bool finite = std::isfinite(c.follower_start) && std::isfinite(c.leader_start);
  for (const double k : c.coefficients) finite = finite && std::isfinite(k);
  if (!finite) flaws.add(where, "one of its numbers is not finite", "give finite numbers");
  check_give(c.stiffness, c.damping, "its spring", where, flaws);
}

void check_tendon(const Mechanism& m, const FixedTendon& t, Flaws& flaws) {
  const std::string where = compose("tendon '{}'", t.name);
  for (const Transmission& j : t.joints) {
    check_position(m, j.joint, j.dof, where, flaws);
    if (!std::isfinite(j.gear)) flaws.add(where, "a weight is not finite", "give a finite number");
  }
  if (std::isnan(t.range.low) || std::isnan(t.range.high) || t.range.low > t.range.high)
    flaws.add(where, "its range is empty", "give the lowest length first");
  if (!(t.stiffness >= 0) || !(t.damping >= 0) || !std::isfinite(t.stiffness + t.damping + t.rest))
    flaws.add(where, "its spring or damper is negative or not finite", "give finite numbers, not below zero");
  check_give(t.limit_stiffness, t.limit_damping, "its limits", where, flaws);
}

}  // namespace

std::vector<Diagnostic> find_flaws(const Joint& joint) {
  Flaws flaws;
  check_joint(joint, flaws);
  return std::move(flaws.found);
}

std::vector<Diagnostic> find_flaws(const Mechanism& mechanism) {
  Flaws flaws;
  check_names(mechanism, flaws);
  for (LinkId id : mechanism.link_ids()) check_link(mechanism, id, flaws);
  for (JointId id : mechanism.joint_ids()) {
    const Joint& joint = mechanism.joint(id);
    check_joint(joint, flaws);
    if (only_closes_loops(joint.kind) && !mechanism.link(joint.child).is_virtual())
      flaws.add(compose("joint '{}'", joint.name),
                compose("a {} joint cannot carry a link", name(joint.kind)),
                "close a loop with it (add_loop), and give the link a joint of another kind");
  }
  for (MaterialId id : mechanism.material_ids()) check_material(*mechanism.material(id), flaws);
  for (const Coupling& c : mechanism.couplings()) check_coupling(mechanism, c, flaws);
  for (const FixedTendon& t : mechanism.tendons()) check_tendon(mechanism, t, flaws);
  return std::move(flaws.found);
}

}  // namespace karakuri
