#include "karakuri/model/joint.h"

namespace karakuri {

namespace {

struct KindFacts {
  std::string_view name;
  int q;
  int v;
  const char* dofs;  // one letter each: t translation, r rotation, s screw
};

constexpr KindFacts kFacts[] = {
    {"fixed", 0, 0, ""},         {"revolute", 1, 1, "r"},    {"prismatic", 1, 1, "t"},
    {"cylindrical", 2, 2, "tr"}, {"screw", 1, 1, "s"},       {"universal", 2, 2, "rr"},
    {"planar", 3, 3, "ttr"},     {"spherical", 4, 3, "rrr"}, {"free", 7, 6, "tttrrr"},
    {"point-on-line", 0, 0, ""}, {"distance", 0, 0, ""},
};

const KindFacts& facts(JointKind kind) { return kFacts[static_cast<int>(kind)]; }

}  // namespace

std::string_view name(JointKind kind) { return facts(kind).name; }
int q_size(JointKind kind) { return facts(kind).q; }
int v_size(JointKind kind) { return facts(kind).v; }

DofKind dof_kind(JointKind kind, int dof) {
  switch (facts(kind).dofs[dof]) {
    case 't': return DofKind::kTranslation;
    case 'r': return DofKind::kRotation;
    default: return DofKind::kScrew;
  }
}

bool has_quaternion(JointKind kind) { return kind == JointKind::kSpherical || kind == JointKind::kFree; }

bool needs_axis(JointKind kind) {
  return kind != JointKind::kFixed && kind != JointKind::kDistance && !has_quaternion(kind);
}

}  // namespace karakuri
