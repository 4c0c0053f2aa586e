// Which geoms touch, and with what friction.
//
// MuJoCo lets two geoms touch when the contype of one meets the conaffinity of the other, either way; ours is
// a category in the other's mask, both ways. So each combination of contype and conaffinity that occurs
// becomes a category of its own, whose mask lists those that it may touch. Geoms of a <pair> are combinations
// of their own.
//
// Friction of two geoms is that of the one with the higher priority, else the larger of both; their softness
// is mixed by solmix, and becomes a spring by the masses of both bodies (softness.cc). Every pair of
// materials is therefore written down.
#include <algorithm>
#include <array>
#include <tuple>

#include <fmt/format.h>

#include "io/mjcf/context.h"

namespace karakuri::io {

namespace {

struct Pair {
  int a, b;  // geoms
  XmlElement element;
};

class ContactReader {
 public:
  explicit ContactReader(MjcfContext& c) : c_(c) {}

  void run(const std::vector<const XmlElement*>& sections) {
    for (const XmlElement* section : sections) {
      for (const XmlElement& e : section->children) {
        if (e.name == "exclude") read_exclude(e);
        if (e.name == "pair") read_pair(e);
      }
    }
    assign_categories();
    assign_materials();
    if (c_.flags.filter_parent) return exclude_parents();
    c_.xml.report.unsupported("filterparent", c_.path.string() + ":1",
                              "bodies that a joint joins never touch, also where filterparent is disabled");
  }

 private:
  ShapePlacement& placement(const MjcfGeom& g) {
    const LinkId link = c_.bodies[static_cast<std::size_t>(g.body)].link;
    return c_.build.mechanism().link(link).shapes[g.placement];
  }

  void read_exclude(const XmlElement& e) {
    const int a = c_.named(c_.body_by_name, e, "body1", "body"),
              b = c_.named(c_.body_by_name, e, "body2", "body");
    if (a < 0 || b < 0) return;
    c_.build.out.scene.no_contact.emplace_back(c_.bodies[static_cast<std::size_t>(a)].link,
                                               c_.bodies[static_cast<std::size_t>(b)].link);
  }

  void read_pair(const XmlElement& given) {
    XmlElement e = c_.defaults.resolved(c_.xml, given, "pair", "");
    const int a = c_.named(c_.geom_by_name, e, "geom1", "geom"),
              b = c_.named(c_.geom_by_name, e, "geom2", "geom");
    if (a < 0 || b < 0) return;
    if (next_class_ > 28) {
      return c_.xml.report.unsupported("pairs", c_.where(given), "only the first few <pair>s are supported",
                                       "use contype and conaffinity");
    }
    for (const int g : {a, b}) {
      int& own = c_.geoms[static_cast<std::size_t>(g)].pair_class;
      if (own < 0) own = next_class_++;
    }
    pairs_.push_back({a, b, std::move(e)});
  }

  // ---- categories

  using Key = std::array<std::int64_t, 3>;
  static Key key_of(const MjcfGeom& g) { return {g.contype, g.conaffinity, g.pair_class}; }

  bool may_touch(const Key& a, const Key& b) const {
    if (((a[0] & b[1]) | (b[0] & a[1])) != 0) return true;
    return std::any_of(pairs_.begin(), pairs_.end(), [&](const Pair& p) {
      const Key ka = key_of(c_.geoms[static_cast<std::size_t>(p.a)]),
                kb = key_of(c_.geoms[static_cast<std::size_t>(p.b)]);
      return (ka == a && kb == b) || (ka == b && kb == a);
    });
  }

  void assign_categories() {
    constexpr std::size_t kMost = 32;
    std::vector<Key> keys{{1, 1, -1}};  // the usual one is category 1, as everywhere
    for (const MjcfGeom& g : c_.geoms) {
      if (std::find(keys.begin(), keys.end(), key_of(g)) != keys.end()) continue;
      if (keys.size() == kMost) {
        c_.xml.report.unsupported(
            "categories", c_.path.string() + ":1",
            "more than 32 combinations of contype, conaffinity and <pair>: those beyond are taken "
            "for the usual one",
            "use fewer");
        break;
      }
      keys.push_back(key_of(g));
    }
    std::vector<std::uint32_t> masks(keys.size(), 0);
    for (std::size_t i = 0; i < keys.size() && c_.flags.contact; ++i) {
      for (std::size_t k = 0; k < keys.size(); ++k) masks[i] |= may_touch(keys[i], keys[k]) ? 1u << k : 0u;
    }
    for (const MjcfGeom& g : c_.geoms) {
      const auto at = std::find(keys.begin(), keys.end(), key_of(g));
      const std::size_t own = at == keys.end() ? 0 : static_cast<std::size_t>(at - keys.begin());
      placement(g).category = 1u << own;
      placement(g).mask = masks[own];
    }
  }

  // ---- friction

  struct Material {
    int condim, priority;
    Vec3 friction;
    int pair_class;
    MjcfSoftness softness;
    double mix;
    double mobility;  // of the body, where anything is soft
    MaterialId id;
  };

  static Surface surface(int condim, const Vec3& friction, const SpringAndDamper& spring) {
    Surface s;
    s.stiffness = spring.stiffness;
    s.damping = spring.damping;
    s.static_friction = s.kinetic_friction = condim >= 3 ? friction[0] : 0;
    s.torsional_friction = condim >= 4 ? friction[1] : 0;
    s.rolling_friction = condim >= 6 ? friction[2] : 0;
    return s;
  }

  SpringAndDamper spring(const Material& a, const Material& b, const MjcfSoftness& softness) const {
    return spring_of(c_, softness, a.mobility + b.mobility);
  }

  static MjcfSoftness softness_between(const Material& a, const Material& b) {
    const double sum = a.mix + b.mix;
    return mixed(a.softness, b.softness, sum > 0 ? a.mix / sum : 0.5);
  }

  Surface between(const Material& a, const Material& b) const {
    if (a.priority != b.priority) {
      const Material& m = a.priority > b.priority ? a : b;
      return surface(m.condim, m.friction, spring(a, b, m.softness));
    }
    return surface(std::max(a.condim, b.condim), a.friction.cwiseMax(b.friction),
                   spring(a, b, softness_between(a, b)));
  }

  MaterialId material_of(const MjcfGeom& g) {
    const double mobility = mobilities_.empty() ? 0 : mobilities_[static_cast<std::size_t>(g.body)];
    const auto key = std::tuple(g.friction[0], g.friction[1], g.friction[2], g.condim, g.priority,
                                g.pair_class, g.softness, g.mix, mobility);
    const auto [known, is_new] = material_at_.try_emplace(key, materials_.size());
    if (!is_new) return materials_[known->second].id;
    Material m{g.condim, g.priority, g.friction, g.pair_class, g.softness, g.mix, mobility, {}};
    const std::string name = fmt::format("{}friction{}", c_.build.options.prefix, materials_.size());
    m.id = c_.build.mechanism().add_material({name, between(m, m)});
    materials_.push_back(m);
    return m.id;
  }

  /// Masses matter only where something is soft.
  void find_mobilities() {
    bool soft = std::any_of(c_.geoms.begin(), c_.geoms.end(),
                            [](const MjcfGeom& g) { return !g.softness.is_rigid(); });
    for (const Pair& p : pairs_) soft = soft || p.element.has("solref") || p.element.has("solimp");
    if (!soft) return;
    for (const MjcfBody& body : c_.bodies) mobilities_.push_back(body_mobility(c_, body));
  }

  void assign_materials() {
    find_mobilities();
    for (const MjcfGeom& g : c_.geoms) placement(g).material = material_of(g);
    constexpr std::size_t kMost = 64;  // their pairs are a table
    if (materials_.size() > kMost) {
      c_.xml.report.unsupported("materials", c_.path.string() + ":1",
                                "more than 64 different frictions: of two geoms with others the mean is used",
                                "use fewer");
    }
    const std::size_t n = std::min(materials_.size(), kMost);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t k = i + 1; k < n; ++k) {
        const Material &a = materials_[i], &b = materials_[k];
        if (!explicit_pair(a, b)) add(a, b, between(a, b));
      }
    }
  }

  void add(const Material& a, const Material& b, const Surface& s) {
    c_.build.out.scene.pairs.push_back({a.id, b.id, s});
  }

  /// What a <pair> says of these two, if one does.
  bool explicit_pair(const Material& a, const Material& b) {
    if (a.pair_class < 0 || b.pair_class < 0) return false;
    for (const Pair& p : pairs_) {
      const MjcfGeom &ga = c_.geoms[static_cast<std::size_t>(p.a)],
                     &gb = c_.geoms[static_cast<std::size_t>(p.b)];
      const bool these = (ga.pair_class == a.pair_class && gb.pair_class == b.pair_class) ||
                         (ga.pair_class == b.pair_class && gb.pair_class == a.pair_class);
      if (!these) continue;
      const int condim = c_.xml.integer(p.element, "condim", std::max(a.condim, b.condim));
      Vec3 friction = a.friction.cwiseMax(b.friction);
      // two tangential numbers, one for spinning, two for rolling
      const std::vector<double> f = c_.xml.numbers(p.element, "friction", 1, 5);
      if (!f.empty()) friction[0] = f[0];
      if (f.size() > 2) friction[1] = f[2];
      if (f.size() > 3) friction[2] = f[3];
      if ((f.size() > 1 && f[1] != f[0]) || (f.size() > 4 && f[4] != f[3])) {
        c_.xml.report.unsupported(
            "anisotropic", c_.where(p.element),
            "friction that differs between directions is not supported: the first is used");
      }
      const bool soft = p.element.has("solref") || p.element.has("solimp");
      const MjcfSoftness softness = soft ? read_softness(c_, p.element, "contacts") : softness_between(a, b);
      add(a, b, surface(condim, friction, spring(a, b, softness)));
      return true;
    }
    return false;
  }

  // ---- bodies and their parents

  /// MuJoCo excludes what moves as one with a body against what moves as one with its parent, unless that is
  /// the world. Of two bodies that one joint joins every world knows it; several joints are several links
  /// here.
  void exclude_parents() {
    std::map<int, std::vector<LinkId>> by_weld;
    for (const MjcfBody& body : c_.bodies) {
      if (!c_.build.mechanism().link(body.link).shapes.empty()) by_weld[body.weld].push_back(body.link);
    }
    for (const auto& [weld, links] : by_weld) {
      const MjcfBody& body = c_.bodies[static_cast<std::size_t>(weld)];
      if (weld == 0 || body.joints < 2) continue;
      const auto parents = by_weld.find(c_.bodies[static_cast<std::size_t>(body.parent)].weld);
      if (parents == by_weld.end() || parents->first == 0) continue;
      for (const LinkId link : links) {
        for (const LinkId parent : parents->second) c_.build.out.scene.no_contact.emplace_back(parent, link);
      }
    }
  }

  MjcfContext& c_;
  std::vector<Pair> pairs_;
  int next_class_ = 0;
  std::vector<Material> materials_;
  std::map<std::tuple<double, double, double, int, int, int, MjcfSoftness, double, double>, std::size_t>
      material_at_;
  std::vector<double> mobilities_;  // of bodies; empty: nothing is soft
};

}  // namespace

void read_contact(MjcfContext& c, const std::vector<const XmlElement*>& sections) {
  ContactReader(c).run(sections);
}

}  // namespace karakuri::io
