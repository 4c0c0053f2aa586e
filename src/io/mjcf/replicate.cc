// <replicate>: what it holds, several times, each copy moved on from the one before by (offset, euler). Names
// in it get a number, and so do copies of what refers to them elsewhere. Pure rewriting: copies are <frame>s.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "io/mjcf/context.h"

namespace karakuri::io {

namespace {

constexpr int kMostCopies = 100'000;
constexpr std::size_t kMostReplicates = 1000;
constexpr std::size_t kMostElements = 200'000;  // as a file may have

/// Attributes that name a thing of a body.
constexpr std::string_view kReferences[] = {"joint", "jointinparent", "site",    "body",    "body1",
                                            "body2", "geom1",         "geom2",   "joint1",  "joint2",
                                            "site1", "site2",         "tendon",  "objname", "actuator",
                                            "geom",  "tendon1",       "tendon2", "refname"};
constexpr std::string_view kSections[] = {"contact", "equality", "tendon", "actuator", "sensor"};

struct Copies {
  std::set<std::string, std::less<>> names;  // in it
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

void collect_names(const XmlElement& e, Copies& to) {
  if (e.has("name")) to.names.insert(e.get("name"));
  for (const XmlElement& child : e.children) collect_names(child, to);
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
    for (const Copies& copies : all_) {
      std::vector<XmlElement> followed;
      Copies own{.separator = copies.separator, .count = copies.count};
      for (XmlElement& e : section.children) {
        if (!refers(e, copies)) {
          followed.push_back(std::move(e));
          continue;
        }
        if (e.has("name")) own.names.insert(e.get("name"));
        for (int i = 0; i < copies.count; ++i) {
          XmlElement copy = e;
          point_to(copy, copies, copies.suffix(i));
          if (copy.has("name")) copy.set("name", copy.get("name") + copies.suffix(i));
          followed.push_back(std::move(copy));
          if (!within_budget(e, 1)) return false;
        }
      }
      section.children = std::move(followed);
      if (!own.names.empty()) later_.push_back(std::move(own));
    }
    all_.insert(all_.end(), later_.begin(), later_.end());  // sensors of actuators, actuators of tendons
    later_.clear();
    return true;
  }

 private:
  bool add_copies(const XmlElement& e, std::vector<XmlElement>& to) {
    const int count = c_.xml.integer(e, "count", -1);
    if (all_.size() >= kMostReplicates) {  // each is looked for in what refers to things
      c_.xml.error(e, fmt::format("there are more than {} <replicate>s", kMostReplicates), "use fewer");
      return false;
    }
    if (count < 0 || count > kMostCopies) {
      c_.xml.error(e, fmt::format("the count of a <replicate> is {}", e.get("count")),
                   fmt::format("give a number from 0 to {}", kMostCopies));
      return false;
    }
    Copies copies{.separator = e.get("sep"), .count = count};
    for (const XmlElement& child : e.children) collect_names(child, copies);
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
    all_.push_back(std::move(copies));
    return true;
  }

  bool within_budget(const XmlElement& e, std::size_t more) {
    elements_ += more;
    if (elements_ <= kMostElements) return true;
    c_.xml.error(e, fmt::format("<replicate> makes more than {} elements of this file", kMostElements),
                 "repeat less");
    return false;
  }

  static bool refers(const XmlElement& e, const Copies& copies) {
    for (const std::string_view reference : kReferences)
      if (e.has(reference) && copies.names.contains(e.get(reference))) return true;
    return std::ranges::any_of(e.children, [&](const XmlElement& child) { return refers(child, copies); });
  }

  static void point_to(XmlElement& e, const Copies& copies, const std::string& suffix) {
    for (const std::string_view reference : kReferences)
      if (e.has(reference) && copies.names.contains(e.get(reference)))
        e.set(reference, e.get(reference) + suffix);
    for (XmlElement& child : e.children) point_to(child, copies, suffix);
  }

  MjcfContext& c_;
  std::vector<Copies> all_, later_;  // the innermost first
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
