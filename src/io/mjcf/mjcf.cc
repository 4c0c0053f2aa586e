// MJCF (mujoco.readthedocs.io/en/stable/XMLreference.html).
#include <fmt/format.h>

#include "io/mjcf/context.h"
#include "io/mjcf/schema.h"

namespace karakuri {

namespace io {

namespace {

/// Sections may stand in any order and several times; they are read in the order of what needs what.
template <class Read>
void for_sections(MjcfContext& c, const XmlElement& root, std::string_view name, const Read& read) {
  for (const XmlElement& e : root.children) {
    if (e.name == name && !c.xml.report.full()) read(e);
  }
}

void read_file_sections(MjcfContext& c, XmlElement& root) {
  for_sections(c, root, "compiler", [&](const XmlElement& e) { read_compiler(c, e); });
  if (!c.xml.report.ok() || !expand_replicates(c, root)) return;
  for_sections(c, root, "option", [&](const XmlElement& e) { read_option(c, e); });
  if (!c.flags.gravity) c.build.out.gravity.setZero();
  if (!c.flags.damper && !c.flags.spring) c.build.out.fluid = {};  // passive forces are off
  for_sections(c, root, "default", [&](const XmlElement& e) { c.defaults.read(c.xml, e); });
  for_sections(c, root, "asset", [&](const XmlElement& e) { read_assets(c, e); });

  std::vector<const XmlElement*> contact;
  for_sections(c, root, "contact", [&](const XmlElement& e) {
    contact.push_back(&e);
    for (const XmlElement& pair : e.children) {
      if (pair.name == "pair") c.paired_geoms.insert({pair.get("geom1"), pair.get("geom2")});
    }
  });
  XmlElement world{.name = "worldbody", .file = root.file, .line = root.line};
  for_sections(c, root, "worldbody", [&](const XmlElement& e) {
    world.children.insert(world.children.end(), e.children.begin(), e.children.end());
  });
  read_worldbody(c, world);
  scale_total_mass(c);
  if (!c.xml.report.ok()) return;  // what follows refers to what may be missing

  set_spring_dampers(c);
  soften_limits(c);
  read_contact(c, contact);
  for_sections(c, root, "equality", [&](const XmlElement& e) { read_equality(c, e); });
  for_sections(c, root, "tendon", [&](const XmlElement& e) { read_tendons(c, e); });
  for_sections(c, root, "equality", [&](const XmlElement& e) { read_tendon_equalities(c, e); });
  for_sections(c, root, "actuator", [&](const XmlElement& e) { read_actuators(c, e); });
  for_sections(c, root, "sensor", [&](const XmlElement& e) { read_sensors(c, e); });
  for_sections(c, root, "keyframe", [&](const XmlElement& e) { read_keyframes(c, e); });
}

}  // namespace

}  // namespace io

Result<LoadedScene> load_mjcf(std::string_view text, const std::filesystem::path& path,
                              const LoadOptions& options) {
  io::Report report(options.strict);
  io::XmlFile xml(report);
  io::XmlElement root;
  if (!xml.parse(text, path.string(), root) || !io::expand_includes(xml, path, root))
    return report.take_errors();
  if (root.name != "mujoco" && root.name != "mujocoinclude") {
    xml.error(root, fmt::format("the root is <{}>, not <mujoco>", root.name), "give an MJCF file");
    return report.take_errors();
  }
  io::check_mjcf_schema(xml, root);
  if (!report.ok()) return report.take_errors();
  io::SceneBuilder build(options, report);
  io::MjcfContext context(xml, build, path);
  build.out.name = root.get("model");
  build.out.settings.dt = 0.002;  // MuJoCo's default
  context.bodies.push_back({.name = "world", .link = build.mechanism().world()});
  context.body_by_name["world"] = 0;
  io::read_file_sections(context, root);
  return build.finish();
}

}  // namespace karakuri
