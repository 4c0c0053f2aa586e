// What the page shows beside the scene, put there while it runs.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "session/impl.h"

namespace karakuri {

using namespace session_detail;

namespace {

using Errors = std::vector<Diagnostic>;

const std::string& label_of(const UiElement& element) {
  return std::visit([](const auto& e) -> const std::string& { return e.name; }, element);
}

const char* kind_of(const UiElement& element) {
  constexpr const char* kKinds[] = {"slider", "button", "text"};
  return kKinds[element.index()];
}

Diagnostic refused(std::string what, std::string remedy) {
  return {Severity::kError, "", std::move(what), std::move(remedy)};
}

Errors flaws_of(const LoadedScene& scene, const Slider& slider) {
  if (!std::isfinite(slider.min) || !std::isfinite(slider.max) || !(slider.min < slider.max))
    return {refused(fmt::format("slider '{}' goes from {} to {}", slider.name, slider.min, slider.max),
                    "give two finite numbers, the lower one first")};
  if (slider.key.empty()) return {};
  const Result<Reference> key = find_key(scene, slider.key);
  return key.ok() ? Errors{} : key.errors();
}

Errors flaws_of(const LoadedScene&, const Button&) { return {}; }

/// Each {SIGNAL} must be one.
Errors flaws_of(const LoadedScene& scene, const Text& text) {
  Errors errors;
  for (std::size_t open = text.text.find('{'); open != std::string::npos;
       open = text.text.find('{', open + 1)) {
    const std::size_t close = text.text.find('}', open);
    if (close == std::string::npos) break;
    const Result<Reference> found = find_signal(scene, text.text.substr(open + 1, close - open - 1));
    if (!found.ok()) errors.insert(errors.end(), found.errors().begin(), found.errors().end());
  }
  return errors;
}

}  // namespace

Errors Session::put(UiElement element) {
  Impl& s = *impl_;
  const std::string& name = label_of(element);
  if (name.empty()) return {refused(fmt::format("a {} without a name", kind_of(element)), "give it one")};
  Errors errors = std::visit([&](const auto& e) { return flaws_of(s.scene, e); }, element);
  if (!errors.empty()) return errors;
  std::vector<UiElement>& ui = s.scene.script.ui;
  auto old = std::ranges::find(ui, name, label_of);
  if (old != ui.end() && old->index() != element.index())
    return {refused(fmt::format("there is a {} '{}' already", kind_of(*old), name), "take another name")};
  const auto index = static_cast<std::size_t>(old - ui.begin());
  const bool is_new = old == ui.end();
  if (is_new) s.state.sliders.push_back(0), s.presses.push_back(0);
  if (const auto* slider = std::get_if<Slider>(&element)) {
    double& value = s.state.sliders[index];
    value = std::clamp(is_new ? slider->value : value, slider->min, slider->max);
  }
  is_new ? ui.push_back(std::move(element)) : void(*old = std::move(element));
  ++s.ui_version;
  return {};
}

Errors Session::put(Plot plot) {
  Impl& s = *impl_;
  Errors errors;
  if (plot.title.empty()) errors.push_back(refused("a plot without a title", "give it one"));
  if (plot.signals.empty())
    errors.push_back(refused("a plot of nothing", "name a signal, such as 'energy.total'"));
  for (const std::string& signal : plot.signals) {
    const Result<Reference> found = find_signal(s.scene, signal);
    if (!found.ok()) errors.insert(errors.end(), found.errors().begin(), found.errors().end());
  }
  if (!errors.empty()) return errors;
  std::vector<Plot>& plots = s.scene.script.plots;
  const auto old = std::ranges::find(plots, plot.title, &Plot::title);
  old == plots.end() ? plots.push_back(std::move(plot)) : void(*old = std::move(plot));
  ++s.ui_version;
  return {};
}

const UiElement* Session::find_ui(std::string_view name) const {
  const std::vector<UiElement>& ui = impl_->scene.script.ui;
  const auto found = std::ranges::find(ui, name, label_of);
  return found == ui.end() ? nullptr : &*found;
}

Errors Session::press(std::string_view name) {
  const UiElement* element = find_ui(name);
  const auto* button = element ? std::get_if<Button>(element) : nullptr;
  if (!button) return {refused(fmt::format("there is no button '{}'", name), "")};
  ++impl_->presses[static_cast<std::size_t>(element - impl_->scene.script.ui.data())];
  Errors errors;
  const std::vector<Action> actions = button->actions;  // one may change the page
  for (const Action& action : actions)
    for (Diagnostic& d : perform(action)) errors.push_back(std::move(d));
  return errors;
}

long long Session::presses(std::string_view name) const {
  const UiElement* element = find_ui(name);
  return element ? impl_->presses[static_cast<std::size_t>(element - impl_->scene.script.ui.data())] : 0;
}

int Session::ui_version() const { return impl_->ui_version; }

}  // namespace karakuri
