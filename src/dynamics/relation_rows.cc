// With y = q_leader - leader_start and P a polynomial of degree four,
//   x = sum scale_k q_k - P(y)                                                               (1)
//   dx/dt = sum scale_k v_k - P'(y) v_leader                                                 (2)
//   d2x/dt2 = sum scale_k a_k - P'(y) a_leader - P''(y) v_leader^2                           (3)
#include "karakuri/dynamics/relation_rows.h"

#include <cassert>

namespace karakuri {

namespace {

/// P and its first two derivatives at y, by Horner's rule.
struct Polynomial {
  double value = 0, slope = 0, bend = 0;

  Polynomial(const Relation& r, VecIn q) {
    const double y = r.has_leader ? q[r.leader.q] - r.leader_start : 0;
    for (int k = 4; k >= 0; --k) {
      bend = bend * y + 2 * slope;
      slope = slope * y + value;
      value = value * y + r.polynomial[k];
    }
  }
};

/// Moment that works on the turning about `axis` and not on that about `idle`.
Vec3 dual(const Vec3& axis, const Vec3& idle) {
  const Vec3 m = axis - axis.dot(idle) * idle;
  // at a universal joint's singularity the two axes fall together and no such moment exists
  return m / std::max(m.dot(axis), 1e-6);
}

ImpulseRow scaled_row(const Model& model, const Workspace& ws, int dof, double scale) {
  ImpulseRow row = dof_row(model, ws, dof);
  row.force *= scale;
  row.moment *= scale;
  return row;
}

}  // namespace

ImpulseRow dof_row(const Model& model, const Workspace& ws, int dof) {
  const int i = model.dofs[dof].body;
  const Body& body = model.bodies[i];
  const Vec3 axis = ws.axis[dof];
  ImpulseRow row{.body = i, .other = body.parent, .point = ws.pose[i].p};
  if (model.dofs[dof].kind == DofKind::kTranslation)
    row.force = axis;
  else if (body.kind == JointKind::kUniversal)
    row.moment = dual(axis, ws.axis[dof == body.first_v ? dof + 1 : dof - 1]);
  else
    row.moment = axis;
  return row;
}

double relation_position(const Relation& r, VecIn q) {
  double x = -Polynomial(r, q).value;
  for (const Relation::Term& t : r.terms) x += t.scale * q[t.q];
  return x;  // (1)
}

double relation_rate(const Relation& r, VecIn q, VecIn v) {
  double u = r.has_leader ? -Polynomial(r, q).slope * v[r.leader.dof] : 0;
  for (const Relation::Term& t : r.terms) u += t.scale * v[t.dof];
  return u;  // (2)
}

double relation_bias(const Relation& r, VecIn q, VecIn v) {
  return r.has_leader ? -Polynomial(r, q).bend * v[r.leader.dof] * v[r.leader.dof] : 0;  // (3)
}

ImpulseRow relation_row(const Model& model, const Relation& r, VecIn q, const Workspace& ws, double sign,
                        std::vector<ImpulseRow>& parts) {
  assert(parts.capacity() - parts.size() >= relation_parts(r));
  const ImpulseRow* rest = nullptr;
  const auto append = [&](int dof, double scale) {
    parts.push_back(scaled_row(model, ws, dof, sign * scale));
    parts.back().more = rest;
    rest = &parts.back();
  };
  if (r.has_leader) append(r.leader.dof, -Polynomial(r, q).slope);
  for (std::size_t k = r.terms.size() - 1; k > 0; --k) append(r.terms[k].dof, r.terms[k].scale);
  ImpulseRow row = scaled_row(model, ws, r.terms[0].dof, sign * r.terms[0].scale);
  row.more = rest;
  return row;
}

}  // namespace karakuri
