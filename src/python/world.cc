// The class World: loading, stepping, reading and setting, changing its structure.
#include <filesystem>
#include <optional>

#include <fmt/format.h>
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include "karakuri/io/json.h"
#include "karakuri/io/load.h"
#include "karakuri/io/save.h"
#include "karakuri/io/trust.h"
#include "karakuri/session/doubts.h"
#include "python/errors.h"
#include "python/handles.h"

namespace karakuri::python {

namespace fs = std::filesystem;

namespace {

// ---- making

std::unique_ptr<PyWorld> start(LoadedScene scene, std::uint64_t seed, const std::string& keyframe) {
  Session session = take(Session::make(std::move(scene), {.seed = seed, .keyframe = keyframe}));
  std::vector<Diagnostic> doubts = find_doubts(session);
  auto world = std::make_unique<PyWorld>(std::move(session));
  world->doubts = std::move(doubts);
  return world;
}

Base base_from(const std::string& name) {
  if (name == "auto") return Base::kAuto;
  if (name == "fixed") return Base::kFixed;
  if (name == "free") return Base::kFree;
  raise_value(fmt::format("base='{}': it is 'auto', 'fixed' or 'free'", name));
}

std::unique_ptr<PyWorld> load(const fs::path& path, std::uint64_t seed, const std::string& keyframe,
                              const std::string& base, bool strict, const std::vector<std::string>& packages,
                              bool overlapping_touch) {
  LoadOptions options{.strict = strict, .package_paths = packages, .base = base_from(base)};
  options.overlapping_touch = overlapping_touch;
  const py::gil_scoped_release unlocked;  // meshes take a while; nothing else knows this world yet
  Result<LoadedScene> scene = load_scene(path, options);
  const py::gil_scoped_acquire locked;
  return start(take(std::move(scene)), seed, keyframe);
}

Result<LoadedScene> read_text(const std::string& text, const fs::path& path) {
  const bool has_format = path.has_extension();
  const fs::path named = has_format ? path : path / "scene.scene.yaml";
  const Result<SceneFormat> format = scene_format(text, named);
  if (!format.ok()) return format.errors();
  switch (*format) {
    case SceneFormat::kUrdf: return load_urdf(text, named);
    case SceneFormat::kMjcf: return load_mjcf(text, named);
    case SceneFormat::kSdf: return load_sdf(text, named);
    case SceneFormat::kNative: break;
  }
  return load_native(text, named);
}

std::unique_ptr<PyWorld> from_text(const std::string& text, const fs::path& path, std::uint64_t seed,
                                   const std::string& keyframe) {
  return start(take(read_text(text, path)), seed, keyframe);
}

/// What keeps a scene's values from being given to a world of another one; empty: nothing.
std::string other_structure(const Mechanism& old, const Mechanism& now) {
  const std::vector<LinkId> links = old.link_ids();
  const std::vector<JointId> joints = old.joint_ids();
  if (links != now.link_ids() || joints != now.joint_ids()) return "it has other numbers of bodies or joints";
  for (const LinkId id : links)
    if (old.link(id).name != now.link(id).name)
      return fmt::format("'{}' is where '{}' is in the world", now.link(id).name, old.link(id).name);
  for (const JointId id : joints) {
    const Joint &a = old.joint(id), &b = now.joint(id);
    if (a.name != b.name) return fmt::format("'{}' is where '{}' is in the world", b.name, a.name);
    if (a.kind != b.kind || a.parent != b.parent || a.child != b.child)
      return fmt::format("the joint '{}' is of another kind or joins others", a.name);
  }
  return "";
}

void edit(PyWorld& w, const std::string& text, const fs::path& path) {
  std::optional<Result<LoadedScene>> read;
  {
    const py::gil_scoped_release unlocked;  // meshes take a while
    read.emplace(read_text(text, path));
  }
  const LoadedScene given = take(std::move(*read));
  Access access(w);
  if (const std::string other = other_structure(access.mechanism(), given.scene.mechanism); !other.empty())
    raise_value("the scene is not one of this world's structure: " + other + "; make a new world from it");
  raise_if_any(access.session().edit([&](Scene& scene) { scene = given.scene; }));
  access.changed();
}

/// Of a file's text, for karakuri.Scene.
std::string as_json(const std::string& text, const std::string& name) {
  return take(json_from_yaml(text, name));
}

/// [(name, file, {parameter: value})]
py::list named_behaviours(PyWorld& w) {
  const Access access(w);
  py::list all;
  for (const Behaviour& b : access.session().scene().script.behaviours) {
    py::dict parameters;
    for (const auto& [name, value] : b.parameters) parameters[name.c_str()] = py::cast(value);
    all.append(py::make_tuple(b.name, b.file.string(), parameters));
  }
  return all;
}

void refuse_untrusted_code(PyWorld& w, const fs::path& file, const fs::path& bundled) {
  const Access access(w);
  std::vector<fs::path> folders = take(trusted_folders());
  folders.push_back(bundled);
  const std::vector<Diagnostic> refusal =
      refuse_untrusted(code_of(access.session().scene(), file, folders), file,
                       "behaviours=True runs it, behaviours=False leaves it alone; to trust all scenes and "
                       "code of its folder: karakuri trust FOLDER");
  if (!refusal.empty()) raise_untrusted(refusal);
}

void bind_making(py::class_<PyWorld>& world) {
  world.def_static("_load", &load, py::arg("path"), py::arg("seed"), py::arg("keyframe"), py::arg("base"),
                   py::arg("strict"), py::arg("package_paths"), py::arg("overlapping_touch"));
  world.def_static("from_text", &from_text, py::arg("text"), py::arg("path") = fs::path("."),
                   py::arg("seed") = 0, py::arg("keyframe") = "",
                   "A world from the text of a scene: native YAML, URDF, MJCF or SDF. What it names is "
                   "looked for beside path.");
  world.def("_edit", &edit, py::arg("text"), py::arg("path"));
  world.def_static("_as_json", &as_json, py::arg("text"), py::arg("name"));
  world.def_static("_borrow", [](const py::capsule& session) {
    if (std::string_view(session.name() ? session.name() : "") != "karakuri.Session")
      raise_type("a capsule 'karakuri.Session' is wanted");
    return std::make_unique<PyWorld>(session.get_pointer<Session>());
  });
  world.def("_enter", [](PyWorld& w) { w.session(), w.pull(); });
  world.def("_leave", [](PyWorld& w) { const Access access(w); });
  world.def("_release", &PyWorld::release);
  world.def("_named_behaviours", &named_behaviours);
  world.def("_refuse_untrusted_code", &refuse_untrusted_code);
  world.def("_run_behaviours", &PyWorld::run_behaviours);
  world.def(
      "save_scene",
      [](PyWorld& w, const fs::path& path, bool keep) {
        const Access access(w);
        LoadedScene scene = access.session().scene();
        if (keep) keep_state(scene, access.world());
        raise_if_any(save_native(scene, path));
      },
      py::arg("path"), py::arg("keep_state") = false,
      "Writes the scene as native YAML; with keep_state the present state becomes the initial one.");
  world.def_property_readonly(
      "notes",
      [](PyWorld& w) {
        std::vector<std::string> notes;
        for (const Diagnostic& d : Access(w).session().scene().notes) notes.push_back(to_string(d));
        for (const Diagnostic& d : w.doubts) notes.push_back(to_string(d));
        return notes;
      },
      "What the file asked for and was understood otherwise, and what was doubtful at the start, one line "
      "each.");
  world.def_property_readonly(
      "name", [](PyWorld& w) { return Access(w).session().scene().name; }, "The scene's name.");
}

// ---- stepping

int steps_of(PyWorld& w, double duration) {
  const Access access(w);
  const double steps = std::round(duration / access.world().settings().dt);
  if (!(steps >= 0 && steps < 2e9))
    raise_value(fmt::format("run({}): give a duration in seconds, 0 or more", duration));
  return static_cast<int>(steps);
}

void reset(PyWorld& w, const std::string& keyframe) {
  Access access(w);
  if (const auto found = access.session().reset(keyframe); !found.empty()) raise_unknown(found);
  w.events.clear();
  access.changed();
}

void set_dt(PyWorld& w, double dt) {
  const Access access(w);
  WorldSettings settings = access.world().settings();
  settings.dt = dt;
  raise_if_any(access.world().set_settings(settings));
}

void bind_stepping(py::class_<PyWorld>& world) {
  world.def("step", &PyWorld::step, py::arg("n") = 1,
            "n steps of dt. Other threads of Python run meanwhile; callbacks are called before each step.");
  world.def(
      "run", [](PyWorld& w, double duration) { w.step(steps_of(w, duration)); }, py::arg("duration"),
      "As many steps as fill a duration [s].");
  world.def("reset", &reset, py::arg("keyframe") = "",
            "Back to the start, or to a keyframe by its name. Callbacks and recordings stay.");
  world.def_property(
      "time", [](PyWorld& w) { return Access(w).session().time(); },
      [](PyWorld& w, double time) {
        if (!Access(w).world().set_time(time)) raise_value("time must be finite");
      },
      "Time since the start [s].");
  world.def_property(
      "dt", [](PyWorld& w) { return Access(w).world().settings().dt; }, &set_dt, "Length of a step [s].");
  world.def_property(
      "gravity",
      [](PyWorld& w) {
        Array copy = to_array(Access(w).world().gravity());
        copy.attr("flags").attr("writeable") = false;  // writing to one component of a copy would do nothing
        return copy;
      },
      [](PyWorld& w, const py::object& g) {
        const Vec3 gravity = vector3(g, "gravity");
        if (!Access(w).world().set_gravity(gravity)) raise_value("gravity must be finite");
      },
      "Acceleration of free fall [m/s^2]. Assign all three at once.");
}

// ---- the state as arrays

void assign(const py::object& to, const py::object& value, const char* name, const char* of) {
  to[py::ellipsis()] = numbers(value, py::len(to), name, of);
}

void bind_arrays(py::class_<PyWorld>& world) {
  world.def_property(
      "q", &PyWorld::q,
      [](PyWorld& w, const py::object& x) {
        assign(w.q(), x, "q", "one for each coordinate of the world");
        const Access access(w);
      },
      "Coordinates of all joints, (nq,) [rad or m]: one live array. Write to it to move joints.");
  world.def_property(
      "v", &PyWorld::v,
      [](PyWorld& w, const py::object& x) {
        assign(w.v(), x, "v", "one for each degree of freedom of the world");
        const Access access(w);
      },
      "Velocities of all degrees of freedom, (nv,) [rad/s or m/s]: one live array.");
  world.def_property(
      "tau", &PyWorld::tau,
      [](PyWorld& w, const py::object& x) {
        assign(w.tau(), x, "tau", "one for each degree of freedom of the world");
        const Access access(w);
      },
      "Efforts on all degrees of freedom, (nv,) [N m or N]: one live array. They act until they are "
      "changed.");
  world.def_property(
      "u", &PyWorld::u,
      [](PyWorld& w, const py::object& x) {
        assign(w.u(), x, "u", "one for each actuator");
        const Access access(w);
      },
      "Controls of all actuators: one live array.");
  world.def_property_readonly(
      "poses", &PyWorld::poses,
      "Poses of all links in the world, (links, 4, 4) [m]: one array to read, kept up to date by step().");
  world.def_property_readonly(
      "nq", [](PyWorld& w) { return Access(w).model().nq; }, "Number of coordinates.");
  world.def_property_readonly(
      "nv", [](PyWorld& w) { return Access(w).model().nv; }, "Number of degrees of freedom.");
  world.def_property_readonly(
      "nu", [](PyWorld& w) { return Access(w).session().controls().size(); }, "Number of actuators.");
}

// ---- names

template <class Things>
std::vector<std::string> names_of(const Things& things) {
  std::vector<std::string> names;
  for (const auto& thing : things) names.push_back(thing.name);
  return names;
}

int index_of(const std::vector<std::string>& names, const char* kind, const std::string& name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) raise_unknown(kind, name, names);
  return static_cast<int>(found - names.begin());
}

std::vector<JointHandle> all_joints(PyWorld& w) {
  const Access access(w);
  std::vector<JointHandle> all;
  for (const JointEntry& joint : access.model().joints) all.emplace_back(w, joint.id, joint.name);
  for (const Attachment& a : access.world().attachments()) all.emplace_back(w, a.id, a.joint.name);
  return all;
}

std::vector<LinkHandle> all_links(PyWorld& w) {
  const Access access(w);
  std::vector<LinkHandle> all;
  for (const LinkEntry& link : access.model().links) all.emplace_back(w, link.id, link.name);
  return all;
}

template <class Handle>
std::vector<Handle> numbered(PyWorld& w, std::size_t count) {
  std::vector<Handle> all;
  for (std::size_t i = 0; i < count; ++i) all.emplace_back(w, static_cast<int>(i));
  return all;
}

Value value_from(const py::handle& value) {
  if (py::isinstance<py::bool_>(value)) return std::string(py::cast<bool>(value) ? "true" : "false");
  if (py::isinstance<py::str>(value)) return py::cast<std::string>(value);
  const Array a = numbers(value, "the value");
  if (a.ndim() == 0) return *a.data();
  return std::vector<double>(a.data(), a.data() + a.size());
}

double get_item(PyWorld& w, const std::string& signal) {
  const Access access(w);
  const Result<double> value = access.session().get(signal);
  if (!value.ok()) raise_unknown(value.errors());
  return *value;
}

void set_item(PyWorld& w, const std::string& key, const py::object& value) {
  const Value to = value_from(value);
  Access access(w);
  if (const auto known = find_key(access.session().scene(), key); !known.ok()) raise_unknown(known.errors());
  raise_if_any(access.session().set(key, to));
  access.changed();
}

void bind_names(py::class_<PyWorld>& world) {
  world.def("link", &find_link, py::arg("name"), "The link of this name.");
  world.def("joint", &find_joint, py::arg("name"), "The joint of this name, also one that was attached.");
  world.def(
      "sensor",
      [](PyWorld& w, const std::string& name) {
        const Access access(w);
        return SensorHandle(w, index_of(names_of(access.session().scene().sensors), "sensor", name));
      },
      py::arg("name"), "The sensor of this name.");
  world.def(
      "actuator",
      [](PyWorld& w, const std::string& name) {
        const Access access(w);
        return ActuatorHandle(w, index_of(names_of(access.session().scene().actuators), "actuator", name));
      },
      py::arg("name"), "The actuator of this name.");
  world.def_property_readonly("links", &all_links, "All links; the first is the world itself.");
  world.def_property_readonly("joints", &all_joints, "All joints, those that were attached last.");
  world.def_property_readonly(
      "sensors",
      [](PyWorld& w) { return numbered<SensorHandle>(w, Access(w).session().scene().sensors.size()); },
      "All sensors.");
  world.def_property_readonly(
      "actuators",
      [](PyWorld& w) { return numbered<ActuatorHandle>(w, Access(w).session().scene().actuators.size()); },
      "All actuators, in the order of u.");
  world.def_property_readonly(
      "keyframes", [](PyWorld& w) { return names_of(Access(w).session().scene().keyframes); },
      "Names of the states that reset() knows.");
  world.def("__getitem__", &get_item, py::arg("signal"),
            "The value of a signal, such as 'joint.elbow.q' or 'energy.total' (docs/scenes.md).");
  world.def("__setitem__", &set_item, py::arg("key"), py::arg("value"),
            "Sets what a key names, such as 'joint.elbow.target' or 'settings.solver' (docs/scenes.md).");
}

// ---- structure

JointKind kind_from(const std::string& wanted) {
  std::vector<std::string> names;
  for (int i = 0; i <= static_cast<int>(JointKind::kDistance); ++i) {
    names.emplace_back(name(static_cast<JointKind>(i)));
    if (names.back() == wanted) return static_cast<JointKind>(i);
  }
  raise_unknown("kind of joint", wanted, names);
}

JointHandle attach(PyWorld& w, const py::object& a, const py::object& b, const std::string& kind,
                   const py::object& at, const py::object& axis, const py::object& second_axis, double pitch,
                   double distance, std::string name, bool tree) {
  Joint joint{.kind = kind_from(kind),
              .axis = vector3(axis, "axis"),
              .second_axis = vector3(second_axis, "second_axis"),
              .pitch = pitch,
              .distance = distance};
  const LinkHandle on = link_of(w, a, "a"), to = link_of(w, b, "b");
  const std::optional<Transform> given = at.is_none() ? std::nullopt : std::optional(pose(at, "at"));
  Access access(w);
  joint.name = name.empty() ? fmt::format("{}-{}", on.name, to.name) : std::move(name);
  const Transform X_WJ = given ? *given : access.world().pose(to.id);
  const JointId id =
      take(access.world().attach_here(on.id, to.id, X_WJ, joint, tree ? Joining::kTree : Joining::kLoop));
  w.attached_names[id] = joint.name;
  access.changed();
  return {w, id, joint.name};
}

void detach(PyWorld& w, const py::object& which) {
  const JointHandle joint = joint_of(w, which, "joint");
  Access access(w);
  joint.joint(access);
  raise_if_any(access.world().detach(joint.id));
  access.changed();
}

void bind_structure(py::class_<PyWorld>& world) {
  world.def(
      "attach", &attach, py::arg("a"), py::arg("b"), py::kw_only(), py::arg("kind") = "fixed",
      py::arg("at") = py::none(), py::arg("axis") = py::make_tuple(0, 0, 1),
      py::arg("second_axis") = py::make_tuple(1, 0, 0), py::arg("pitch") = 0.0, py::arg("distance") = 0.0,
      py::arg("name") = "", py::arg("tree") = false,
      "Joins two links as they are now, by a joint of any kind, with a plastic impact. `at` is the "
      "joint's pose in the world\n"
      "[m], else that of b; the axes are in it; pitch [m/rad], distance [m]. With `tree`, one of the two "
      "must float and becomes\n"
      "part of the other's tree instead of closing a loop: exact by the joint's coordinates. q and v are "
      "other arrays then.");
  world.def("detach", &detach, py::arg("joint"),
            "Parts two links; velocities stay. What hung on a joint of a tree is free from then on: q and v "
            "are other arrays.");
}

// ---- sensing

py::object ray_cast(PyWorld& w, const py::object& origin, const py::object& direction, double limit,
                    const py::object& ignore) {
  const Vec3 from = vector3(origin, "origin"), along = vector3(direction, "direction");
  if (along.isZero(0)) raise_value("direction is zero");
  const LinkId ignored = ignore.is_none() ? LinkId{} : link_of(w, ignore, "ignore").id;
  const Access access(w);
  const auto hit = access.world().ray_cast(from, along, limit, ignored);
  if (!hit) return py::none();
  py::dict out;
  out["link"] = LinkHandle(w, hit->link, access.model().find(hit->link)->name);
  out["distance"] = hit->hit.t * along.norm();
  out["point"] = to_array(hit->hit.point);
  out["normal"] = to_array(hit->hit.normal);
  return out;
}

}  // namespace

void bind_world(py::module_& m) {
  py::class_<PyWorld> world(
      m, "World", collected<PyWorld>(),
      "A scene that runs: bodies, joints, contacts, controllers and sensors. SI units, radians, z up.\n"
      "World.load(path) reads one, Scene builds one.");
  bind_making(world);
  bind_stepping(world);
  bind_arrays(world);
  bind_names(world);
  bind_structure(world);
  bind_dynamics(m, world);
  bind_snapshot(m, world);
  bind_recording(m, world);
  bind_events(m, world);
  bind_page(m, world);
  world.def("ray_cast", &ray_cast, py::arg("origin"), py::arg("direction"), py::arg("limit") = 1e3,
            py::arg("ignore") = py::none(),
            "The first shape that a ray meets, a dict of link, distance [m], point [m] and normal; None "
            "where it meets none. limit\n"
            "in lengths of direction; the shapes of the link `ignore` let it pass.");
  world.def("__repr__", [](PyWorld& w) {
    const Access access(w);
    return fmt::format("<karakuri.World '{}': {} links, {} degrees of freedom, t = {:.6g} s>",
                       access.session().scene().name, access.model().links.size() - 1, access.model().nv,
                       access.session().time());
  });
}

}  // namespace karakuri::python
