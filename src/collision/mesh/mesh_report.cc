// A mesh report in words.
#include "core/compose.h"
#include "karakuri/collision/mesh.h"

namespace karakuri {

namespace {

std::string list_of(const auto& numbers) {
  std::string text;
  for (const int number : numbers) text += compose(text.empty() ? "{}" : ", {}", number);
  return text;
}

void tell(std::vector<Diagnostic>& all, Severity severity, const MeshFinding& finding, const char* thing,
          const char* what, const char* remedy) {
  if (finding.count == 0) return;
  all.push_back({severity, "mesh",
                 compose("{} {} {}: {}{}", finding.count, thing, what, list_of(finding.first),
                         finding.count > static_cast<int>(finding.first.size()) ? ", ..." : ""),
                 remedy});
}

}  // namespace

std::vector<Diagnostic> to_diagnostics(const MeshReport& r, MeshUse use) {
  std::vector<Diagnostic> all;
  const bool solid = use == MeshUse::kSolid;
  const Severity hole = solid ? Severity::kError : Severity::kNote;
  tell(all, Severity::kError, r.not_finite, "vertices", "are not finite", "mend the file");
  tell(all, Severity::kError, r.bad_index, "faces", "name a vertex that does not exist", "mend the file");
  tell(all, hole, r.open_edge, "open edges, at faces", "", "close the mesh, or use it as a surface");
  tell(all, hole, r.non_manifold_edge, "faces", "meet at an edge shared by three or more",
       "separate the parts, or use it as a surface");
  tell(all, Severity::kNote, r.duplicate_vertex, "vertices", "equal earlier ones and were joined", "");
  tell(all, Severity::kNote, r.unused_vertex, "vertices", "belong to no face and were dropped", "");
  tell(all, Severity::kWarning, r.degenerate_face, "faces", "have no area", "");
  tell(all, Severity::kWarning, r.duplicate_face, "faces", "repeat earlier ones and were dropped", "");
  tell(all, Severity::kWarning, r.misoriented_face, "faces", "ran against their neighbours and were turned",
       "");
  if (r.inside_out > 0) {
    all.push_back({Severity::kWarning, "mesh",
                   compose("{} of {} parts were inside out and were turned", r.inside_out, r.components),
                   ""});
  }
  if (r.components == 0) all.push_back({Severity::kError, "mesh", "has no usable faces", ""});
  const bool counted = r.open_edge.count || r.non_manifold_edge.count || r.components == 0;
  if (solid && !r.closed && !counted) {
    all.push_back({Severity::kError, "mesh", "is one-sided (a Moebius strip): it has no inside",
                   "use it as a surface"});
  }
  return all;
}

}  // namespace karakuri
