// A setup as a world of ours.
#include "engine.h"
#include "scenes/build_scene.h"

namespace karakuri::bench {

namespace {

class Ours : public Engine {
 public:
  Ours(const Setup& setup, World world, BuiltScene built)
      : world_(std::move(world)), built_(std::move(built)) {
    for (const BodyPlan& body : setup.bodies) coms_.push_back(inertia_of(body).com);
    set_velocities(setup, built_, world_);
    set_drives(built_, world_);
  }

  void step() override {
    set_drives(built_, world_);
    world_.step();
  }
  Vec3 position(int body) const override { return world_.pose(built_.links[body]) * coms_[body]; }
  int contacts() const override {
    int n = 0;
    for (const Contact& c : world_.contacts()) n += c.state != ContactState::kOpen;
    return n;
  }
  double penetration() const override { return world_.report().penetration; }
  std::optional<StepReport> report() const override { return world_.report(); }
  std::optional<StepTimes> times() const override { return world_.times(); }

 private:
  World world_;
  BuiltScene built_;
  std::vector<Vec3> coms_;
};

}  // namespace

Made make_karakuri(const Setup& setup, const WorldSettings& wanted) {
  BuiltScene built = build_scene(setup);
  WorldSettings settings = wanted;
  settings.dt = setup.dt;
  settings.sleep.enabled = false;
  Result<World> world = World::make(std::move(built.scene), settings);
  if (!world) return world.errors();
  return std::unique_ptr<Engine>(std::make_unique<Ours>(setup, std::move(world).value(), std::move(built)));
}

}  // namespace karakuri::bench
