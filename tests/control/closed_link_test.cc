// Boxes that tumble down a slope, and a chain that is closed by two vectors: Nakaoka et al. (2007), figures
// 2, 3.
#include <gtest/gtest.h>

#include <cmath>

#include "karakuri/io/load.h"
#include "karakuri/session/session.h"

namespace karakuri {
namespace {

Session start(const std::string& name, bool published) {
  Result<LoadedScene> scene =
      load_scene(std::string(KARAKURI_SOURCE_DIR) + "/scenes/" + name + ".scene.yaml", {.cache = false});
  if (!scene.ok()) {
    ADD_FAILURE() << to_string(scene.errors());
    std::abort();
  }
  if (published) {
    scene->settings.solver = solver::Method::kPgs;
    scene->settings.integrator = Integrator::kRk4;
    scene->settings.max_sweeps = 120;
  }
  Result<Session> session = Session::make(std::move(*scene));
  if (!session.ok()) {
    ADD_FAILURE() << to_string(session.errors());
    std::abort();
  }
  return std::move(*session);
}

TEST(TumblingBoxesSlow, ComeToRestAtTheLedge) {
  for (const bool published : {false, true}) {
    SCOPED_TRACE(published ? "pgs, rk4" : "default");
    Session session = start("tumbling", published);
    const Mechanism& m = session.world().scene().mechanism;
    double turned = 0;
    while (session.time() < 8) {
      session.step();
      if (session.time() < 3)
        turned = std::max(turned, session.world().velocity(m.find_link("box_00")).angular.norm());
    }
    EXPECT_GT(turned, 2);  // they tumble [rad/s]
    for (const LinkId link : m.link_ids()) {
      if (m.link(link).name.rfind("box_", 0) != 0) continue;
      const Motion v = session.world().velocity(link);
      EXPECT_LT(v.linear.norm(), 1e-6) << m.link(link).name;
      EXPECT_LT(v.angular.norm(), 1e-6) << m.link(link).name;
      EXPECT_LT(session.world().pose(link).p.x(), 1) << m.link(link).name;  // none is beyond the ledge by far
      EXPECT_GT(session.world().pose(link).p.z(), 0.05) << m.link(link).name;
    }
  }
}

/// How far the point of the red bar is from the line of the blue one.
double gap(const Session& session) {
  const Mechanism& m = session.world().scene().mechanism;
  const Transform red = session.world().pose(m.find_link("red")),
                  blue = session.world().pose(m.find_link("blue"));
  const Vec3 apart = blue.inverse_apply(red * Vec3(0, 0, -0.35)) - Vec3(0, 0, -0.2);
  return std::hypot(apart.x(), apart.z());
}

TEST(ClosedLink, StaysClosedByTwoVectors) {
  for (const bool published : {false, true}) {
    Session session = start("closed-link", published);
    session.step(50);  // places of the file are given to some digits
    double worst = 0, moved = 0;
    for (int i = 0; i < 5000; ++i) {
      session.step();
      worst = std::max(worst, gap(session));
      moved = std::max(moved, std::abs(*session.get("joint.crank.v")));
    }
    EXPECT_GT(moved, 0.5);
    // measured: 2e-13 m under the default, 4e-12 m under pgs
    EXPECT_LT(worst, published ? 1e-9 : 1e-10) << (published ? "pgs, rk4" : "default");
    RecordProperty(published ? "open_under_pgs" : "open_under_default", std::to_string(worst));
  }
}

}  // namespace
}  // namespace karakuri
