// Collision against Bullet and FCL in the same run: time per pair or per update, and the ratio.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "karakuri/collision/broadphase.h"
#include "karakuri/collision/narrowphase.h"
#include "karakuri/core/random.h"
#include "karakuri/spatial/rotation.h"
#include "support/options.h"
#include "support/report.h"
#include "support/slab.h"

#ifdef KARAKURI_HAVE_BULLET
#include <btBulletCollisionCommon.h>
#endif
#ifdef KARAKURI_HAVE_FCL
#include <fcl/fcl.h>
#endif

namespace karakuri::bench {
namespace {

struct Row {
  std::string name, unit;
  double ours = 0, bullet = 0, fcl = 0;      // [us]; 0: not measured
  double contacts = 0, bullet_contacts = 0;  // mean per pair, or pairs found
};

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Best of three passes, each of at least 50 ms: what the code costs when the machine does nothing else. [us
// per item]
template <class Work>
double measure(int items, Work&& work) {
  work();
  double best = 1e300;
  for (int pass = 0; pass < 3; ++pass) {
    const double start = now();
    int rounds = 0;
    do work(), ++rounds;
    while (now() - start < 0.05);
    best = std::min(best, (now() - start) / rounds / items * 1e6);
  }
  return best;
}

Vec3 random_unit(Random& r) {
  Vec3 v;
  do v = Vec3(r.normal(), r.normal(), r.normal());
  while (v.norm() < 1e-6);
  return v.normalized();
}

std::vector<Vec3> hull_points(Random& r) {
  std::vector<Vec3> p;
  for (int i = 0; i < 32; ++i) p.push_back(0.5 * random_unit(r));
  return p;
}

// A closed slab with a wavy top: 6720 triangles.
Mesh bumpy_slab() {
  const auto wave = [](double x, double y) { return 0.1 * std::sin(1.7 * x) * std::cos(1.3 * y); };
  const test::TriangleSoup soup = test::slab(40, 10, 1, wave);
  return make_mesh(soup.vertices, soup.faces).value();
}

struct Pairs {
  Shape a, b;
  std::vector<Transform> X_WA, X_WB;
};

// Pairs as a simulation sees them: touching, sunk in by up to 2 mm or apart by as much, faces turned freely
// or laid flat.
Pairs make_pairs(const Shape& a, const Shape& b, Random& r, bool on_top) {
  Pairs p{a, b, {}, {}};
  CollisionWorkspace ws;
  while (p.X_WA.size() < 512) {
    Transform X_WA, X_WB;
    const bool flat = p.X_WA.size() % 2 == 0;
    if (!on_top) X_WA = {rotation_exp(3 * random_unit(r)), Vec3::Zero()};
    X_WB.R =
        flat ? Mat3(X_WA.R * rotation_exp(Vec3(0, 0, r.uniform(0, 3)))) : rotation_exp(3 * random_unit(r));
    const Vec3 d = on_top ? Vec3::UnitZ() : Vec3(flat ? Vec3(X_WA.R.col(2)) : random_unit(r));
    const Vec3 aside = on_top ? Vec3(r.uniform(-4, 4), r.uniform(-4, 4), 0) : Vec3(0.1 * d.unitOrthogonal());
    X_WB.p = aside + 4 * d;
    const double gap = r.uniform(-0.002, 0.002);
    ClosestPoints c;
    for (int k = 0; k < 60; ++k) {  // bring them to the gap along d
      closest_points(a, X_WA, b, X_WB, ws, c);
      const double along = std::max(0.2, c.normal.dot(d));
      if (std::abs(c.separation - gap) < 1e-6) break;
      X_WB.p -= (c.separation - gap) / along * d;
    }
    if (std::abs(c.separation - gap) > 1e-3) continue;
    p.X_WA.push_back(X_WA), p.X_WB.push_back(X_WB);
  }
  return p;
}

double run_ours(const Pairs& p, double margin, double* contacts) {
  CollisionWorkspace ws;
  std::vector<Manifold> out;
  out.reserve(64);
  long points = 0, pairs = 0;
  const double t = measure(static_cast<int>(p.X_WA.size()), [&] {
    for (std::size_t i = 0; i < p.X_WA.size(); ++i) {
      out.clear();
      collide(p.a, p.X_WA[i], p.b, p.X_WB[i], {.margin = margin}, ws, out);
      for (const Manifold& m : out) points += m.count;
      ++pairs;
    }
  });
  *contacts = static_cast<double>(points) / static_cast<double>(pairs);
  return t;
}

#ifdef KARAKURI_HAVE_BULLET
btVector3 to_bullet(const Vec3& v) {
  return btVector3(static_cast<btScalar>(v.x()), static_cast<btScalar>(v.y()), static_cast<btScalar>(v.z()));
}
btTransform to_bullet(const Transform& X) {
  const Mat3& R = X.R;
  const auto f = [](double x) { return static_cast<btScalar>(x); };
  return btTransform(btMatrix3x3(f(R(0, 0)), f(R(0, 1)), f(R(0, 2)), f(R(1, 0)), f(R(1, 1)), f(R(1, 2)),
                                 f(R(2, 0)), f(R(2, 1)), f(R(2, 2))),
                     to_bullet(X.p));
}

struct BulletShape {
  std::unique_ptr<btCollisionShape> shape;
  std::unique_ptr<btTriangleMesh> triangles;
};
BulletShape bullet_shape(const Shape& s) {
  BulletShape r;
  const Vec3& h = s.size();
  switch (s.kind()) {
    case ShapeKind::kBox: r.shape = std::make_unique<btBoxShape>(to_bullet(h)); break;
    case ShapeKind::kCapsule:
      r.shape =
          std::make_unique<btCapsuleShapeZ>(static_cast<btScalar>(h.x()), static_cast<btScalar>(2 * h.z()));
      break;
    case ShapeKind::kHull: {
      auto hull = std::make_unique<btConvexHullShape>();
      for (int i = 0; i < s.as_hull().vertex_count; ++i)
        hull->addPoint(to_bullet(s.as_hull().vertex(i)), false);
      hull->recalcLocalAabb();
      hull->setMargin(btScalar(0.001));
      hull->initializePolyhedralFeatures();
      r.shape = std::move(hull);
      break;
    }
    default: {
      r.triangles = std::make_unique<btTriangleMesh>();
      const Mesh& m = s.as_mesh();
      for (const Triangle& t : m.faces) {
        r.triangles->addTriangle(to_bullet(m.vertices[t[0]]), to_bullet(m.vertices[t[1]]),
                                 to_bullet(m.vertices[t[2]]));
      }
      r.shape = std::make_unique<btBvhTriangleMeshShape>(r.triangles.get(), true);
    }
  }
  return r;
}

// The pair's algorithm persists, as in a step; its manifold is cleared after each call, since the poses are
// unrelated.
double run_bullet(const Pairs& p, double* contacts) {
  btDefaultCollisionConfiguration configuration;
  btCollisionDispatcher dispatcher(&configuration);
  BulletShape sa = bullet_shape(p.a), sb = bullet_shape(p.b);
  btCollisionObject oa, ob;
  oa.setCollisionShape(sa.shape.get()), ob.setCollisionShape(sb.shape.get());
  btCollisionObjectWrapper wa(nullptr, oa.getCollisionShape(), &oa, oa.getWorldTransform(), -1, -1);
  btCollisionObjectWrapper wb(nullptr, ob.getCollisionShape(), &ob, ob.getWorldTransform(), -1, -1);
  btCollisionAlgorithm* algorithm = dispatcher.findAlgorithm(&wa, &wb, nullptr, BT_CONTACT_POINT_ALGORITHMS);
  btDispatcherInfo info;
  std::vector<btTransform> xa, xb;
  for (std::size_t i = 0; i < p.X_WA.size(); ++i)
    xa.push_back(to_bullet(p.X_WA[i])), xb.push_back(to_bullet(p.X_WB[i]));
  long points = 0, pairs = 0;
  btManifoldArray manifolds;
  const double t = measure(static_cast<int>(p.X_WA.size()), [&] {
    for (std::size_t i = 0; i < xa.size(); ++i) {
      oa.setWorldTransform(xa[i]), ob.setWorldTransform(xb[i]);
      btManifoldResult result(&wa, &wb);
      algorithm->processCollision(&wa, &wb, info, &result);
      manifolds.resize(0);
      algorithm->getAllContactManifolds(manifolds);
      for (int k = 0; k < manifolds.size(); ++k)
        points += manifolds[k]->getNumContacts(), manifolds[k]->clearManifold();
      ++pairs;
    }
  });
  *contacts = static_cast<double>(points) / static_cast<double>(pairs);
  algorithm->~btCollisionAlgorithm();
  dispatcher.freeCollisionAlgorithm(algorithm);
  return t;
}
#endif

#ifdef KARAKURI_HAVE_FCL
fcl::Transform3d to_fcl(const Transform& X) {
  fcl::Transform3d T = fcl::Transform3d::Identity();
  T.linear() = X.R, T.translation() = X.p;
  return T;
}
std::shared_ptr<fcl::CollisionGeometryd> fcl_shape(const Shape& s) {
  const Vec3& h = s.size();
  switch (s.kind()) {
    case ShapeKind::kBox: return std::make_shared<fcl::Boxd>(2 * h.x(), 2 * h.y(), 2 * h.z());
    case ShapeKind::kCapsule: return std::make_shared<fcl::Capsuled>(h.x(), 2 * h.z());
    case ShapeKind::kHull: {
      const ConvexHull& hull = s.as_hull();
      auto v = std::make_shared<std::vector<fcl::Vector3d>>();
      for (int i = 0; i < hull.vertex_count; ++i) v->push_back(hull.vertex(i));
      auto f = std::make_shared<std::vector<int>>();
      for (const HullFace& face : hull.faces) {
        f->push_back(face.count);
        for (int k = 0; k < face.count; ++k) f->push_back(hull.origin[face.first + k]);
      }
      return std::make_shared<fcl::Convexd>(v, static_cast<int>(hull.faces.size()), f, false);
    }
    default: {
      const Mesh& m = s.as_mesh();
      auto model = std::make_shared<fcl::BVHModel<fcl::OBBRSSd>>();
      model->beginModel();
      for (const Triangle& t : m.faces)
        model->addTriangle(m.vertices[t[0]], m.vertices[t[1]], m.vertices[t[2]]);
      model->endModel();
      return model;
    }
  }
}
double run_fcl(const Pairs& p) {
  fcl::CollisionObjectd oa(fcl_shape(p.a)), ob(fcl_shape(p.b));
  std::vector<fcl::Transform3d> xa, xb;
  for (std::size_t i = 0; i < p.X_WA.size(); ++i)
    xa.push_back(to_fcl(p.X_WA[i])), xb.push_back(to_fcl(p.X_WB[i]));
  fcl::CollisionRequestd request(8, true);
  request.gjk_solver_type = fcl::GST_INDEP;
  return measure(static_cast<int>(p.X_WA.size()), [&] {
    for (std::size_t i = 0; i < xa.size(); ++i) {
      oa.setTransform(xa[i]), ob.setTransform(xb[i]);
      fcl::CollisionResultd result;
      fcl::collide(&oa, &ob, request, result);
    }
  });
}
#endif

Row pair_row(const std::string& name, const Shape& a, const Shape& b, double margin = 0.01,
             bool on_top = false) {
  Random r(11);
  const Pairs p = make_pairs(a, b, r, on_top);
  Row row{name, "us/pair", 1e300, 0, 0, 0, 0};
  const auto keep = [](double& best, double t) { best = best > 0 ? std::min(best, t) : t; };
  for (int turn = 0; turn < 4; ++turn) {  // in turns, so that other work on the machine hits all alike
    keep(row.ours, run_ours(p, margin, &row.contacts));
#ifdef KARAKURI_HAVE_BULLET
    keep(row.bullet, run_bullet(p, &row.bullet_contacts));
#endif
#ifdef KARAKURI_HAVE_FCL
    keep(row.fcl, run_fcl(p));
#endif
  }
  return row;
}

// ---- broad phase: boxes of 1 m that drift about at 1 m/s, dt = 1/60, packed so that each has a few
// neighbours ----

struct Cloud {
  std::vector<Vec3> p, v;
  double side;
  Random r{5};
  explicit Cloud(int n) : side(1.5 * std::cbrt(double(n))) {
    for (int i = 0; i < n; ++i) {
      p.push_back(Vec3(r.uniform(), r.uniform(), r.uniform()) * side);
      v.push_back(random_unit(r));
    }
  }
  void step() {
    for (std::size_t i = 0; i < p.size(); ++i) {
      p[i] += v[i] / 60;
      for (int k = 0; k < 3; ++k) {
        if (p[i][k] < 0 || p[i][k] > side) v[i][k] = -v[i][k];
      }
    }
  }
  Aabb box(std::size_t i) const { return {p[i] - Vec3::Constant(0.5), p[i] + Vec3::Constant(0.5)}; }
};

// Time of the updates alone; the motion is the same for all. Mean over 300 steps, best of three runs. [us per
// update]
template <class Update>
double run_steps(int n, Update&& update) {
  double best = 1e300;
  for (int pass = 0; pass < 3; ++pass) {
    Cloud cloud(n);
    auto state = update.start(cloud);
    double spent = 0;
    for (int k = 0; k < 300; ++k) {
      cloud.step();
      const double start = now();
      update.step(*state, cloud);
      spent += now() - start;
    }
    best = std::min(best, spent / 300 * 1e6);
    update.finish(*state);
  }
  return best;
}

struct OurUpdate {
  double pairs = 0;
  std::unique_ptr<Broadphase> start(const Cloud& c) {
    auto b = std::make_unique<Broadphase>();
    for (std::size_t i = 0; i < c.p.size(); ++i) b->insert(c.box(i));
    b->update();
    return b;
  }
  void step(Broadphase& b, const Cloud& c) {
    for (std::size_t i = 0; i < c.p.size(); ++i) b.move(static_cast<ProxyId>(i), c.box(i));
    b.update();
  }
  void finish(Broadphase& b) { pairs = static_cast<double>(b.pairs().size()); }
};

#ifdef KARAKURI_HAVE_BULLET
struct BulletUpdate {
  double pairs = 0;
  struct State {
    btDefaultCollisionConfiguration configuration;
    btCollisionDispatcher dispatcher{&configuration};
    btDbvtBroadphase broadphase;
    std::vector<btBroadphaseProxy*> proxies;
    ~State() {
      for (btBroadphaseProxy* p : proxies) broadphase.destroyProxy(p, &dispatcher);
    }
  };
  std::unique_ptr<State> start(const Cloud& c) {
    auto s = std::make_unique<State>();
    for (std::size_t i = 0; i < c.p.size(); ++i) {
      const Aabb b = c.box(i);
      s->proxies.push_back(s->broadphase.createProxy(to_bullet(b.lo), to_bullet(b.hi), BOX_SHAPE_PROXYTYPE,
                                                     nullptr, 1, -1, &s->dispatcher));
    }
    s->broadphase.calculateOverlappingPairs(&s->dispatcher);
    return s;
  }
  void step(State& s, const Cloud& c) {
    for (std::size_t i = 0; i < c.p.size(); ++i) {
      const Aabb b = c.box(i);
      s.broadphase.setAabb(s.proxies[i], to_bullet(b.lo), to_bullet(b.hi), &s.dispatcher);
    }
    s.broadphase.calculateOverlappingPairs(&s.dispatcher);
  }
  void finish(State& s) { pairs = s.broadphase.getOverlappingPairCache()->getNumOverlappingPairs(); }
};
#endif

#ifdef KARAKURI_HAVE_FCL
struct FclUpdate {
  double pairs = 0;
  struct State {
    fcl::DynamicAABBTreeCollisionManagerd manager;
    std::vector<std::unique_ptr<fcl::CollisionObjectd>> objects;
    std::vector<fcl::CollisionObjectd*> pointers;
    long found = 0;
  };
  std::unique_ptr<State> start(const Cloud& c) {
    auto s = std::make_unique<State>();
    const auto box = std::make_shared<fcl::Boxd>(1, 1, 1);
    box->computeLocalAABB();
    for (const Vec3& p : c.p) {
      s->objects.push_back(std::make_unique<fcl::CollisionObjectd>(box, to_fcl(Transform::translation(p))));
      // the cube's own box, not the sphere's around it, as the others are given
      s->objects.back()->computeAABB();
      s->pointers.push_back(s->objects.back().get());
    }
    s->manager.registerObjects(s->pointers);
    s->manager.setup();
    return s;
  }
  void step(State& s, const Cloud& c) {
    for (std::size_t i = 0; i < c.p.size(); ++i) {
      s.objects[i]->setTranslation(c.p[i]);
      s.objects[i]->computeAABB();
    }
    s.manager.update();
    s.found = 0;
    s.manager.collide(&s.found, [](fcl::CollisionObjectd*, fcl::CollisionObjectd*, void* data) {
      ++*static_cast<long*>(data);
      return false;
    });
  }
  void finish(State& s) { pairs = static_cast<double>(s.found); }
};
#endif

Row broad_row(int n) {
  Row row{fmt::format("broad phase, {} moving boxes", n), "us/update", 0, 0, 0, 0, 0};
  OurUpdate ours;
  row.ours = run_steps(n, ours);
  row.contacts = ours.pairs;
#ifdef KARAKURI_HAVE_BULLET
  BulletUpdate bullet;
  row.bullet = run_steps(n, bullet);
  row.bullet_contacts = bullet.pairs;
#endif
#ifdef KARAKURI_HAVE_FCL
  FclUpdate fcl;
  row.fcl = run_steps(n, fcl);
#endif
  return row;
}

void add_to(Report& report, const Row& r) {
  const std::string task = r.unit;
  Comparison c{r.name, task, {{kOurs, r.ours, r.ours}}};
  if (r.bullet > 0) c.timings.push_back({"Bullet", r.bullet, r.bullet});
  if (r.fcl > 0) c.timings.push_back({"FCL", r.fcl, r.fcl});
  report.comparisons.push_back(c);
  for (const char* peer : {"Bullet", "FCL"}) report.aim_for_ratio(r.name, task, peer, 1.0);
  report.notes.push_back(
      fmt::format("{}: {:.2f} contacts or pairs, Bullet {:.2f}", r.name, r.contacts, r.bullet_contacts));
}

Report run() {
  Random r(1);
  const Shape box = Shape::box({0.5, 0.4, 0.3}), hull = Shape::hull(make_convex_hull(hull_points(r)).value());
  const Shape mesh = Shape::mesh(bumpy_slab());
  Report report{.title = "Collision, microseconds per pair or update", .peers = {"Bullet", "FCL"}};
  const auto add = [&](const Row& row) { add_to(report, row); };
  show_progress("pairs");
  // Bullet's boxes report only what overlaps; so does the first row. The second looks 1 cm ahead, as a step
  // does.
  add(pair_row("box-box", box, box, 0));
  add(pair_row("box-box, 1 cm ahead", box, box));
  add(pair_row("hull-hull (32 vertices)", hull, hull));
  add(pair_row("capsule-box", Shape::capsule(0.2, 0.4), box));
  add(pair_row(fmt::format("hull-mesh ({} triangles)", mesh.as_mesh().faces.size()), mesh, hull, 0.01, true));
  show_progress("broad phase");
  add(broad_row(1000));
  add(broad_row(10000));
  show_progress("");
  return report;
}

}  // namespace
}  // namespace karakuri::bench

int main(int argc, char** argv) {
  using namespace karakuri::bench;
  std::string json;
  CLI::App app("Times collision detection against Bullet and FCL in the same run.");
  app.add_option("--json", json, "Write all numbers to this file");
  if (const auto code = parse_options(app, argc, argv)) return *code;
  pin_to_core();
  const Report report = run();
  print(report);
  return write_json(report, json) ? 0 : 2;
}
