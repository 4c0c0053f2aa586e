// <replicate>: what it holds, several times, each copy moved on from the one before by (offset, euler). Names
// in it get a number, and so do copies of what refers to them elsewhere. Pure rewriting: copies are <frame>s.
#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>

#include "io/mjcf/context.h"

namespace karakuri::io {

namespace {

constexpr int kMostCopies = 100'000;
constexpr int kMostNesting = 100;               // as elements may be nested
constexpr std::size_t kMostElements = 200'000;  // as a file may have

/// Attributes that name a thing of a body.
constexpr std::string_view kReferences[] = {"joint", "jointinparent", "site",    "body",    "body1",
                                            "body2", "geom1",         "geom2",   "joint1",  "joint2",
                                            "site1", "site2",         "tendon",  "objname", "actuator",
                                            "geom",  "tendon1",       "tendon2", "refname"};
constexpr std::string_view kSections[] = {"contact", "equality", "tendon", "actuator", "sensor"};

/// How often, and what is put after names.
struct Copies {
  std::string separator;
  int count = 0;

  std::string suffix(int i) const {
    return fmt::format("{}{:0{}}", separator, i, std::to_string(count).size());
  }
};

std::size_t size_of(const XmlElement& e) {
  std::size_t n = 1;
  for (const XmlElement& child : e.children) n += size_of(child);
  return n;
}

void rename(XmlElement& e, const std::string& suffix) {
  if (e.has("name")) e.set("name", e.get("name") + suffix);
  for (XmlElement& child : e.children) rename(child, suffix);
}

class Replicator {
 public:
  explicit Replicator(MjcfContext& c) : c_(c) {}

  bool expand(XmlElement& e) {
    if (std::ranges::none_of(e.children, [](const XmlElement& child) { return !child.children.empty(); }))
      return true;
    std::vector<XmlElement> expanded;
    for (XmlElement& child : e.children) {
      if (!expand(child)) return false;
      if (child.name != "replicate") {
        expanded.push_back(std::move(child));
      } else if (!add_copies(child, expanded)) {
        return false;
      }
    }
    e.children = std::move(expanded);
    return true;
  }

  /// What refers to things that there are several of now.
  bool follow(XmlElement& section) {
    std::vector<XmlElement> followed;
    for (XmlElement& e : section.children)
      if (!follow(std::move(e), 0, followed)) return false;
    section.children = std::move(followed);
    return true;
  }

 private:
  bool add_copies(const XmlElement& e, std::vector<XmlElement>& to) {
    const int count = c_.xml.integer(e, "count", -1);
    if (count < 0 || count > kMostCopies) {
      c_.xml.error(e, fmt::format("the count of a <replicate> is {}", e.get("count")),
                   fmt::format("give a number from 0 to {}", kMostCopies));
      return false;
    }
    const Copies copies{.separator = e.get("sep"), .count = count};
    for (const XmlElement& child : e.children) note_names(child, all_.size());
    all_.push_back(copies);
    XmlElement step{.name = e.name, .file = e.file, .line = e.line};
    if (e.has("offset")) step.set("pos", e.get("offset"));
    if (e.has("euler")) step.set("euler", e.get("euler"));
    const Transform move = read_place(c_, step);
    Transform X;
    for (int i = 0; i < count; ++i, X = X * move) {
      if (!within_budget(e, size_of(e))) return false;
      XmlElement frame{.name = "frame", .children = e.children, .file = e.file, .line = e.line};
      const Quat r = Quat(X.R).normalized();
      frame.set("pos", fmt::format("{} {} {}", X.p.x(), X.p.y(), X.p.z()));
      frame.set("quat", fmt::format("{} {} {} {}", r.w(), r.x(), r.y(), r.z()));
      if (e.has("childclass")) frame.set("childclass", e.get("childclass"));
      for (XmlElement& child : frame.children) rename(child, copies.suffix(i));
      to.push_back(std::move(frame));
    }
    return true;
  }

  bool within_budget(const XmlElement& e, std::size_t more) {
    elements_ += more;
    if (elements_ <= kMostElements) return true;
    c_.xml.error(e, fmt::format("<replicate> makes more than {} elements of this file", kMostElements),
                 "repeat less");
    return false;
  }

  /// A name in several <replicate>s is given twice, which is told later.
  void note_names(const XmlElement& e, std::size_t copies) {
    if (e.has("name")) names_.try_emplace(e.get("name"), copies);
    for (const XmlElement& child : e.children) note_names(child, copies);
  }

  /// By which of them; the innermost comes first, and the names that it makes are those of the next. -1:
  /// none.
  int refers(const XmlElement& e) const {
    int first = -1;
    const auto take = [&](int found) {
      if (found >= 0 && (first < 0 || found < first)) first = found;
    };
    for (const XmlAttribute& a : e.attributes) {
      if (std::ranges::find(kReferences, a.name) == std::end(kReferences)) continue;
      const auto known = names_.find(a.value);
      if (known != names_.end()) take(static_cast<int>(known->second));
    }
    for (const XmlElement& child : e.children) take(refers(child));
    return first;
  }

  bool follow(XmlElement e, int depth, std::vector<XmlElement>& to) {
    if (depth > kMostNesting) {
      c_.xml.error(e, "it refers to copies of copies of copies without end", "give other names");
      return false;
    }
    const int by = refers(e);
    if (by < 0) {
      to.push_back(std::move(e));
      return true;
    }
    const auto index = static_cast<std::size_t>(by);
    if (e.has("name")) names_.try_emplace(e.get("name"), index);
    for (int i = 0; i < all_[index].count; ++i) {
      XmlElement copy = e;
      const std::string suffix = all_[index].suffix(i);
      point_to(copy, index, suffix);
      if (copy.has("name")) copy.set("name", copy.get("name") + suffix);
      if (!within_budget(e, size_of(e)) || !follow(std::move(copy), depth + 1, to)) return false;
    }
    return true;
  }

  void point_to(XmlElement& e, std::size_t copies, const std::string& suffix) const {
    for (XmlAttribute& a : e.attributes) {
      if (std::ranges::find(kReferences, a.name) == std::end(kReferences)) continue;
      const auto known = names_.find(a.value);
      if (known != names_.end() && known->second == copies) a.value += suffix;
    }
    for (XmlElement& child : e.children) point_to(child, copies, suffix);
  }

  MjcfContext& c_;
  std::vector<Copies> all_;                             // the innermost first
  std::unordered_map<std::string, std::size_t> names_;  // of things that there are several of
  std::size_t elements_ = 0;
};

}  // namespace

bool expand_replicates(MjcfContext& c, XmlElement& root) {
  Replicator replicator(c);
  for (XmlElement& e : root.children)
    if (e.name == "worldbody" && !replicator.expand(e)) return false;
  for (const std::string_view section : kSections)
    for (XmlElement& e : root.children)
      if (e.name == section && !replicator.follow(e)) return false;
  return true;
}

}  // namespace karakuri::io
