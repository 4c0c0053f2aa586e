// A setup as MuJoCo's file format, written in memory, and the world that MuJoCo makes of it.
#include "engine.h"

#ifdef KARAKURI_HAVE_MUJOCO

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>
#include <mujoco/mujoco.h>

#include "karakuri/spatial/types.h"

namespace karakuri::bench {

namespace {

constexpr int kDeepest = 80;        // bodies nested in one file: the reader refuses more than 100
constexpr int kMostBodies = 300;    // its buffers, rows times dofs and rows times rows, must not exceed 2 GB
constexpr int kLongestChain = 500;  // bodies of one tree: its mass matrix is dense there

std::string numbers(const Vec3& v) { return fmt::format("{:.17g} {:.17g} {:.17g}", v.x(), v.y(), v.z()); }
std::string numbers(const Mat3& R) {
  const Quat q(R);
  return fmt::format("{:.17g} {:.17g} {:.17g} {:.17g}", q.w(), q.x(), q.y(), q.z());
}
std::string place(const Transform& X) {
  return fmt::format(R"(pos="{}" quat="{}")", numbers(X.p), numbers(X.R));
}

double highest(const Heightfield& f) { return *std::max_element(f.heights.begin(), f.heights.end()); }

struct File {
  std::string name;
  std::string text;
};

class Writer {
 public:
  Writer(const Setup& setup, MujocoCone cone) : s_(setup), cone_(cone) {
    children_.resize(s_.bodies.size() + 1);
    for (std::size_t i = 0; i < s_.bodies.size(); ++i) {
      children_[static_cast<std::size_t>(s_.bodies[i].parent + 1)].push_back(static_cast<int>(i));
    }
  }

  std::vector<File> run() {
    files_.push_back({"model.xml", ""});
    add_children(-1, 0, 0);
    std::string bodies = std::move(files_[0].text);
    files_[0].text = head() + bodies + "</worldbody>\n" + tail() + "</mujoco>\n";
    return std::move(files_);
  }

 private:
  std::string head() const {
    const std::size_t contacts = most_contacts();
    const auto dofs = static_cast<std::size_t>(s_.dofs());
    const std::size_t rows = 4 * contacts + dofs / 2;
    const std::size_t stack = 1'000'000 + 3 * rows * dofs + 3 * dofs * dofs;
    return fmt::format(
        R"(<mujoco>
<compiler angle="radian" coordinate="local" inertiafromgeom="false" balanceinertia="false"/>
<option timestep="{:.17g}" gravity="0 0 -9.81" cone="{}" solver="{}"/>
<size nconmax="{}" njmax="{}" nstack="{}"/>
<default><geom friction="{:.17g}" condim="{}" {}/><joint {}/></default>
<asset>
{}</asset>
<worldbody>
<geom type="plane" size="0 0 1" friction="{:.17g}" condim="3"/>
{})",
        s_.dt, cone_ == MujocoCone::kElliptic ? "elliptic" : "pyramidal", method(), contacts, rows, stack,
        s_.body_friction, s_.body_friction > 0 ? 3 : 1, s_.mujoco_geom, s_.mujoco_joint, meshes(),
        s_.floor_friction, fixed());
  }

  std::string fixed() const {
    std::string text;
    for (std::size_t k = 0; k < s_.fixed.size(); ++k) {
      const std::string rubs = fmt::format(R"(friction="{:.17g}" condim="3")", s_.floor_friction);
      text += geom(-1, k, s_.fixed[k], rubs);
    }
    return text;
  }

  /// Newton's method factors one matrix for all bodies that touch: beyond some dozens conjugate gradients are
  /// faster.
  const char* method() const { return loose_bodies() > 50 ? "CG" : "Newton"; }

  std::size_t loose_bodies() const {
    std::vector<bool> has_child(s_.bodies.size(), false);
    for (const BodyPlan& body : s_.bodies)
      if (body.parent >= 0) has_child[static_cast<std::size_t>(body.parent)] = true;
    std::size_t n = 0;
    for (std::size_t i = 0; i < s_.bodies.size(); ++i) n += s_.bodies[i].is_free() && !has_child[i];
    return n;
  }

  /// A box has at most eight contacts on those below it, a robot's shape two on the floor; of many robots'
  /// shapes not all lie there.
  std::size_t most_contacts() const {
    if (!s_.articulated() || loose_bodies() > 0) return 200 + 9 * shape_count();
    if (s_.crowded) return 200 + 3 * shape_count();
    return 100 + (shape_count() < 500 ? 2 * shape_count() : shape_count() * 7 / 10);
  }

  std::size_t shape_count() const {
    std::size_t n = 0;
    for (const BodyPlan& body : s_.bodies) n += body.parts.size();
    return n;
  }

  std::string tail() const {
    std::string text = "<contact>\n";
    for (const auto& [a, b] : s_.apart) {
      text += fmt::format("<exclude body1=\"b{}\" body2=\"b{}\"/>\n", a, b);
    }
    text += "</contact>\n<actuator>\n";
    each_servo([&](std::size_t i, std::size_t k, const Servo& servo) {
      text += fmt::format("<position joint=\"j{}.{}\" kp=\"{:.17g}\"/>\n", i, k, servo.stiffness);
    });
    return text + "</actuator>\n";
  }

  template <class Call>
  void each_servo(const Call& call) const {
    for (std::size_t i = 0; i < s_.bodies.size(); ++i) {
      for (std::size_t k = 0; k < s_.bodies[i].hinges.size(); ++k) {
        const Servo& servo = s_.bodies[i].hinges[k].servo;
        if (servo.used()) call(i, k, servo);
      }
    }
  }

  std::string meshes() const {
    std::string text;
    for (std::size_t i = 0; i < s_.bodies.size(); ++i) {
      for (std::size_t k = 0; k < s_.bodies[i].parts.size(); ++k) {
        const Shape& shape = s_.bodies[i].parts[k].shape;
        if (shape.kind() != ShapeKind::kHull) continue;
        text += fmt::format("<mesh name=\"m{}.{}\" vertex=\"", i, k);
        for (int v = 0; v < shape.as_hull().vertex_count; ++v) {
          text += numbers(shape.as_hull().vertex(v)) + "  ";
        }
        text += "\"/>\n";
      }
    }
    for (std::size_t k = 0; k < s_.fixed.size(); ++k) {
      const Shape& shape = s_.fixed[k].shape;
      if (shape.kind() == ShapeKind::kHeightfield) text += hills(k, shape.as_heightfield());
    }
    return text;
  }

  /// Its heights are written into the model, see fill_heightfields().
  static std::string hills(std::size_t k, const Heightfield& f) {
    return fmt::format(
        "<hfield name=\"m-1.{}\" nrow=\"{}\" ncol=\"{}\" size=\"{:.17g} {:.17g} {:.17g} 1\"/>\n", k, f.rows,
        f.columns, -f.x0, -f.y0, highest(f));
  }

  void add_children(int parent, std::size_t file, int depth) {
    for (const int i : children_[static_cast<std::size_t>(parent + 1)]) {
      if (depth < kDeepest) {
        add_body(i, file, depth);
        continue;
      }
      const std::string name = fmt::format("part{}.xml", files_.size());
      files_[file].text += fmt::format("<include file=\"{}\"/>\n", name);
      files_.push_back({name, "<mujocoinclude>\n"});
      const std::size_t part = files_.size() - 1;
      add_body(i, part, 0);
      files_[part].text += "</mujocoinclude>\n";
    }
  }

  void add_body(int i, std::size_t file, int depth) {
    const BodyPlan& body = s_.bodies[i];
    std::string text = fmt::format("<body name=\"b{}\" {}>\n", i, place(body.X_PB));
    if (body.is_free()) text += "<freejoint/>\n";
    for (std::size_t k = 0; k < body.hinges.size(); ++k) text += joint(i, k, body.hinges[k]);
    const Inertia inertia = inertia_of(body);
    const Principal principal = principal_of(inertia);
    text += fmt::format("<inertial mass=\"{:.17g}\" diaginertia=\"{}\" {}/>\n", inertia.mass,
                        numbers(principal.moments), place({principal.axes, inertia.com}));
    for (std::size_t k = 0; k < body.parts.size(); ++k) text += geom(i, k, body.parts[k]);
    files_[file].text += text;
    add_children(i, file, depth + 1);
    files_[file].text += "</body>\n";
  }

  static std::string joint(int i, std::size_t k, const Hinge& h) {
    std::string limits;
    if (h.lower > -kInfinity)
      limits = fmt::format(R"(limited="true" range="{:.17g} {:.17g}")", h.lower, h.upper);
    // its Euler steps are implicit in the joints' damping, not in that of actuators
    return fmt::format(
        "<joint name=\"j{}.{}\" type=\"hinge\" pos=\"{}\" axis=\"{}\" stiffness=\"{:.17g}\" "
        "damping=\"{:.17g}\" armature=\"{:.17g}\" {}/>\n",
        i, k, numbers(h.anchor), numbers(h.axis), h.stiffness, h.damping + h.servo.damping, h.armature,
        limits);
  }

  static std::string geom(int i, std::size_t k, const Part& part, const std::string& more = "") {
    const Vec3& size = part.shape.size();
    std::string what;
    switch (part.shape.kind()) {
      case ShapeKind::kSphere: what = fmt::format(R"(type="sphere" size="{:.17g}")", size.x()); break;
      case ShapeKind::kCapsule:
        what = fmt::format(R"(type="capsule" size="{:.17g} {:.17g}")", size.x(), size.z());
        break;
      case ShapeKind::kCylinder:
        what = fmt::format(R"(type="cylinder" size="{:.17g} {:.17g}")", size.x(), size.z());
        break;
      case ShapeKind::kBox: what = fmt::format(R"(type="box" size="{}")", numbers(size)); break;
      case ShapeKind::kHeightfield: what = fmt::format(R"(type="hfield" hfield="m{}.{}")", i, k); break;
      default: what = fmt::format(R"(type="mesh" mesh="m{}.{}")", i, k); break;
    }
    return fmt::format("<geom {} {} {}/>\n", what, place(part.X_BS), more);
  }

  const Setup& s_;
  MujocoCone cone_;
  std::vector<std::vector<int>> children_;  // of body i at i + 1; of the world at 0
  std::vector<File> files_;
};

struct FreeModel {
  void operator()(mjModel* m) const { mj_deleteModel(m); }
};
struct FreeData {
  void operator()(mjData* d) const { mj_deleteData(d); }
};

/// nullptr, with the reason, where MuJoCo refuses.
mjModel* load(const std::vector<File>& files, std::string& reason) {
  const auto vfs = std::make_unique<mjVFS>();  // 2 MB
  mj_defaultVFS(vfs.get());
  for (const File& file : files) {
    if (mj_makeEmptyFileVFS(vfs.get(), file.name.c_str(), static_cast<int>(file.text.size())) == 0) {
      std::memcpy(vfs->filedata[vfs->nfile - 1], file.text.data(), file.text.size());
    }
  }
  char error[1000] = "";
  mjModel* model = mj_loadXML(files[0].name.c_str(), vfs.get(), error, sizeof error);
  if (!model) reason = error;
  mj_deleteVFS(vfs.get());
  return model;
}

class Mujoco : public Engine {
 public:
  Mujoco(const Setup& setup, mjModel* model) : s_(setup), m_(model), d_(mj_makeData(model)) {
    for (const BodyPlan& body : s_.bodies) {
      for (const Hinge& h : body.hinges) {
        if (h.servo.used()) servos_.push_back(&h.servo);
      }
    }
    fill_heightfields();
    if (!d_) return;
    for (std::size_t i = 0; i < s_.bodies.size(); ++i) {
      ids_.push_back(mj_name2id(m_.get(), mjOBJ_BODY, fmt::format("b{}", i).c_str()));
      if (!s_.bodies[i].velocity.isZero(0))
        Eigen::Map<Vec3>(d_->qvel + m_->body_dofadr[ids_.back()]) = s_.bodies[i].velocity;
    }
  }

  bool ready() const { return d_ != nullptr; }

  void step() override {
    for (std::size_t k = 0; k < servos_.size(); ++k) d_->ctrl[k] = servos_[k]->target_at(d_->time);
    mj_step(m_.get(), d_.get());
  }
  Vec3 position(int body) const override {
    return Vec3(d_->xipos + 3 * ids_[static_cast<std::size_t>(body)]);
  }
  int contacts() const override { return d_->ncon; }
  std::string trouble() const override {
    const bool full = d_->warning[mjWARN_CONTACTFULL].number + d_->warning[mjWARN_CNSTRFULL].number > 0;
    return full ? "stopped: its buffers are full" : d_->warning[mjWARN_BADQACC].number > 0 ? "blew up" : "";
  }
  double penetration() const override {
    double deepest = 0;
    for (int k = 0; k < d_->ncon; ++k) deepest = std::max(deepest, -d_->contact[k].dist);
    return deepest;
  }

 private:
  void fill_heightfields() {
    int at = 0;
    for (const Part& part : s_.fixed) {
      if (part.shape.kind() != ShapeKind::kHeightfield) continue;
      const Heightfield& f = part.shape.as_heightfield();
      float* data = m_->hfield_data + m_->hfield_adr[at++];
      const double unit = highest(f);
      for (std::size_t k = 0; k < f.heights.size(); ++k) data[k] = static_cast<float>(f.heights[k] / unit);
    }
  }

  const Setup& s_;
  std::unique_ptr<mjModel, FreeModel> m_;
  std::unique_ptr<mjData, FreeData> d_;
  std::vector<const Servo*> servos_;  // in the order of the actuators
  std::vector<int> ids_;              // MuJoCo's, of each body
};

}  // namespace

Made make_mujoco(const Setup& setup, MujocoCone cone) {
  if (static_cast<int>(setup.bodies.size()) > kMostBodies && !setup.articulated()) {
    return too_slow("MuJoCo", setup, "its buffers may not exceed 2 GB");
  }
  if (largest_tree(setup) > kLongestChain) {
    return too_slow("MuJoCo", setup, "the mass matrix of a chain is dense: more than a second a step");
  }
  mju_user_warning = [](const char*) {};   // see trouble()
  mju_user_error = [](const char* text) {  // its own waits for a key
    fmt::print(stderr, "MuJoCo: {}\n", text);
    std::exit(1);
  };
  std::string reason;
  mjModel* model = load(Writer(setup, cone).run(), reason);
  if (!model) return Diagnostic{Severity::kError, "MuJoCo", reason, ""};
  auto engine = std::make_unique<Mujoco>(setup, model);
  if (!engine->ready()) return Diagnostic{Severity::kError, "MuJoCo", "not enough memory", ""};
  return std::unique_ptr<Engine>(std::move(engine));
}

std::optional<MujocoFile> read_with_mujoco(const std::string& path) {
  char error[1000] = "";
  const std::unique_ptr<mjModel, FreeModel> model(mj_loadXML(path.c_str(), nullptr, error, sizeof error));
  if (!model) return std::nullopt;
  return MujocoFile{mj_getTotalmass(model.get()), model->nv};
}

}  // namespace karakuri::bench

#else

namespace karakuri::bench {
Made make_mujoco(const Setup&, MujocoCone) { return not_installed("MuJoCo", "libmujoco-dev"); }
std::optional<MujocoFile> read_with_mujoco(const std::string&) { return std::nullopt; }
}  // namespace karakuri::bench

#endif
