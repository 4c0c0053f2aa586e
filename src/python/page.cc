// The live page of a world that a script steps, and what the script puts on it.
//
// Whoever steps serves the page between two steps. While nobody does, a thread of Python serves it
// (src/python/karakuri/_page.py). That thread does not take over what a script has written to q, v, tau and
// u, since it may see half of it: it only brings what clients have changed.
#include <chrono>
#include <cmath>
#include <filesystem>
#include <functional>

#include <fmt/format.h>
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include "python/errors.h"
#include "python/handles.h"

namespace karakuri::python {

namespace fs = std::filesystem;

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// Undoes a lock that was taken by hand.
class Leaving {
 public:
  explicit Leaving(std::function<void()> leave) : leave_(std::move(leave)) {}
  ~Leaving() { leave_(); }
  Leaving(const Leaving&) = delete;
  Leaving& operator=(const Leaving&) = delete;

 private:
  std::function<void()> leave_;
};

}  // namespace

// ---- serving

std::string PyWorld::show(const ServerOptions& options, bool real_time) {
  const Access access(*this);
  if (!own_) raise_runtime("the program that runs this world shows it already");
  if (page_) raise_runtime(fmt::format("it is shown at {}; close() that page first", page_->server.url()));
  Result<Server> server = Server::start(options);
  if (!server.ok()) raise_runtime(to_string(server.errors()));
  {
    const Unlocked unlocked;  // describing large meshes takes a while
    page_ = std::make_unique<Page>(*session_, std::move(*server), real_time, doubts);
  }
  const std::lock_guard lock(url_mutex_);
  url_ = page_->server.url();
  shown_ = true;
  return url_;
}

std::string PyWorld::page_url() {
  const std::lock_guard lock(url_mutex_);
  return url_;
}

void PyWorld::end_page() {
  page_.reset();
  const std::lock_guard lock(url_mutex_);
  url_.clear();
  shown_ = false;
}

/// In the thread that steps, without Python's lock.
void PyWorld::wait_for_page(Unlocked& unlocked) {
  while (page_) {
    if (closing_) return end_page();
    page_->live.serve();
    bool pressed = false;
    for (const ButtonCallback& b : buttons) pressed = pressed || session_->presses(b.name) != b.seen;
    if (pressed) {
      const Unlocked::Locked locked(unlocked);
      call_buttons();
      if (!page_) return;
    }
    if (page_->live.may_step(page_->real_time)) return;
    lend(unlocked);
  }
}

/// Between two steps, to the other threads: what the page holds may be held for hours.
void PyWorld::lend(Unlocked& unlocked) {
  {
    const Unlocked::Locked locked(unlocked);
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    pull();
  }
  const int depth = depth_;
  user_.store({}, std::memory_order_relaxed);
  mutex_.unlock();
  std::this_thread::sleep_for(milliseconds(1));
  mutex_.lock();
  user_.store(std::this_thread::get_id(), std::memory_order_relaxed);
  depth_ = depth;
  const Unlocked::Locked locked(unlocked);
  push();
}

struct PyWorld::Numbers {
  std::vector<double> q, v, tau, u;
};

PyWorld::Numbers PyWorld::numbers() const {
  const State& state = session_->world().state();
  Numbers out{state.q,
              state.v,
              std::vector<double>(state.v.size()),
              {session_->controls().begin(), session_->controls().end()}};
  session_->read_efforts(out.tau);
  return out;
}

/// Into the arrays, where it differs from before; what a script has written elsewhere stays to be taken over.
void PyWorld::take_changes(const Numbers& before) {
  const Numbers now = numbers();
  if (now.q.size() != q_.size() || now.v.size() != v_.size() || now.u.size() != u_.size() ||
      before.q.size() != now.q.size() || before.v.size() != now.v.size())
    return pull();
  const auto take = [](const std::vector<double>& old, const std::vector<double>& fresh, double* into) {
    for (std::size_t i = 0; i < fresh.size(); ++i)
      if (fresh[i] != old[i]) into[i] = fresh[i];
  };
  take(before.q, now.q, q_.data());
  take(before.v, now.v, v_.data());
  if (u_.array) take(before.u, now.u, u_.data());
  if (tau_.array) {
    take(before.tau, now.tau, tau_.data());
    take(before.tau, now.tau, tau_pushed_.data());
  }
  if (!poses_.array) return;
  if (poses_.size() == 16 * session_->world().model().links.size())
    pull_poses(session_->world());
  else
    poses_.array = py::object();
}

bool PyWorld::serve() {
  if (!shown_) return false;
  if (user_.load(std::memory_order_relaxed) == std::this_thread::get_id()) return true;
  if (!mutex_.try_lock()) return true;  // somebody uses it; who steps serves
  user_.store(std::this_thread::get_id(), std::memory_order_relaxed);
  depth_ = 1;
  const Leaving leaving([this] { leave(); });
  if (closing_) end_page();
  if (!page_) return false;
  const Numbers before = numbers();
  {
    const Unlocked unlocked;
    page_->live.touched();
    page_->live.serve();
  }
  take_changes(before);
  call_buttons();
  return shown_;
}

bool PyWorld::close_page(double seconds) {
  if (user_.load(std::memory_order_relaxed) == std::this_thread::get_id()) {  // from a callback
    end_page();
    return true;
  }
  closing_ = true;
  {
    const Unlocked unlocked;
    const auto start = Clock::now();
    while (shown_ && std::chrono::duration<double>(Clock::now() - start).count() < seconds) {
      if (mutex_.try_lock()) {
        end_page();
        mutex_.unlock();
      } else {
        std::this_thread::sleep_for(milliseconds(1));  // who steps ends it
      }
    }
  }
  closing_ = false;
  return !shown_;
}

void PyWorld::call_buttons() {
  for (std::size_t i = 0; i < buttons.size(); ++i) {  // a function may add another
    const long long now = session_->presses(buttons[i].name);
    for (long long k = std::exchange(buttons[i].seen, now); k < now; ++k) {
      const py::object function = buttons[i].function;
      pull();
      function(self());
      push();
    }
  }
}

// ---- what a script puts there

namespace {

std::vector<std::string> ui_names(const Access& access, std::size_t kind) {
  std::vector<std::string> names;
  for (const UiElement& e : access.session().scene().script.ui)
    if (e.index() == kind) names.push_back(std::visit([](const auto& x) { return x.name; }, e));
  return names;
}

/// The element that a handle names.
template <class Element>
const Element& element_of(const Access& access, const std::string& name, const char* kind,
                          std::size_t index) {
  const UiElement* found = access.session().find_ui(name);
  const auto* element = found ? std::get_if<Element>(found) : nullptr;
  if (!element) raise_unknown(kind, name, ui_names(access, index));
  return *element;
}

struct SliderHandle : Owned {
  SliderHandle(PyWorld& w, std::string n) : Owned(w), name(std::move(n)) {}
  std::string name;
  const Slider& slider(const Access& access) const { return element_of<Slider>(access, name, "slider", 0); }
};
struct ButtonHandle : Owned {
  ButtonHandle(PyWorld& w, std::string n) : Owned(w), name(std::move(n)) {}
  std::string name;
  long long seen = 0;
};
struct TextHandle : Owned {
  TextHandle(PyWorld& w, std::string n) : Owned(w), name(std::move(n)) {}
  std::string name;
};
struct PlotHandle : Owned {
  PlotHandle(PyWorld& w, std::string t) : Owned(w), title(std::move(t)) {}
  std::string title;
};

double value_of(const SliderHandle& self) {
  const Access access(*self.world);
  self.slider(access);
  return *access.session().get("ui." + self.name);
}

void set_value(const SliderHandle& self, double value) {
  Access access(*self.world);
  const Slider& slider = self.slider(access);
  if (!(value >= slider.min && value <= slider.max))
    raise_value(fmt::format("slider '{}' goes from {:g} to {:g}, not to {:g}", self.name, slider.min,
                            slider.max, value));
  raise_if_any(access.session().set("ui." + self.name, value));
  access.changed();
}

SliderHandle add_slider(PyWorld& w, const std::string& name, const std::optional<double>& low,
                        const std::optional<double>& high, const std::optional<double>& value,
                        const std::string& key) {
  const SliderHandle handle(w, name);
  Access access(w);
  if (!low && !high && !value && key.empty()) return handle.slider(access), handle;
  if (!low || !high)
    raise_value(fmt::format(
        "slider('{}'): give both ends, as slider('{}', 0, 1); or none, for one that is there", name, name));
  // a slider must stand where that is which it sets
  const Result<double> now = key.empty() ? Result<double>(*low) : access.session().get(key);
  if (!now.ok() && !value)
    raise_value(
        fmt::format("slider('{}', key='{}'): that cannot be read; give a value to begin with", name, key));
  raise_if_any(access.session().put(
      Slider{.name = name, .key = key, .min = *low, .max = *high, .value = now.ok() ? *now : *value}));
  if (value) set_value(handle, *value);
  access.changed();
  return handle;
}

ButtonHandle add_button(PyWorld& w, const std::string& name, const py::object& function) {
  if (!function.is_none() && !PyCallable_Check(function.ptr()))
    raise_type(fmt::format("button('{}', function): the function takes the world", name));
  Access access(w);
  const UiElement* old = access.session().find_ui(name);
  const auto* button = old ? std::get_if<Button>(old) : nullptr;
  raise_if_any(access.session().put(button ? *button : Button{name, {}}));
  const long long presses = access.session().presses(name);
  if (!function.is_none()) {
    std::erase_if(w.buttons, [&](const ButtonCallback& b) { return b.name == name; });
    w.buttons.push_back({name, function, presses});
  }
  ButtonHandle handle(w, name);
  handle.seen = presses;
  return handle;
}

void press(const ButtonHandle& self) {
  Access access(*self.world);
  raise_if_any(access.session().press(self.name));
  access.changed();
  self.world->call_buttons();
}

bool was_pressed(ButtonHandle& self) {
  const Access access(*self.world);
  const long long now = access.session().presses(self.name);
  return std::exchange(self.seen, now) < now;
}

void set_text(const TextHandle& self, const std::string& text) {
  const Access access(*self.world);
  const UiElement* old = access.session().find_ui(self.name);
  if (const Text* now = old ? std::get_if<Text>(old) : nullptr; now && now->text == text) return;
  raise_if_any(access.session().put(Text{self.name, text}));
}

TextHandle add_text(PyWorld& w, const std::string& name, const std::string& text) {
  TextHandle handle(w, name);
  set_text(handle, text);
  return handle;
}

void set_signals(const PlotHandle& self, const std::vector<std::string>& signals) {
  const Access access(*self.world);
  for (const std::string& signal : signals)
    if (const Result<Signal> found = access.session().find(signal); !found.ok())
      raise_unknown(found.errors());
  raise_if_any(access.session().put(Plot{self.title, signals}));
}

std::vector<std::string> signals_of(const PlotHandle& self) {
  const Access access(*self.world);
  for (const Plot& plot : access.session().scene().script.plots)
    if (plot.title == self.title) return plot.signals;
  raise_gone(fmt::format("there is no plot '{}' any more", self.title));
}

PlotHandle add_plot(PyWorld& w, const std::string& title, const py::args& signals) {
  std::vector<std::string> names;
  for (const py::handle& signal : signals) {
    if (!py::isinstance<py::str>(signal)) raise_type("signals are words, such as 'joint.elbow.q'");
    names.push_back(py::cast<std::string>(signal));
  }
  PlotHandle handle(w, title);
  set_signals(handle, names);
  return handle;
}

// ---- binding

void bind_slider(py::module_& m) {
  py::class_<SliderHandle> slider(m, "Slider", collected<SliderHandle>(),
                                  "A slider on the page: World.slider().");
  slider.def_readonly("name", &SliderHandle::name, "As the page shows it.");
  slider.def_property("value", &value_of, &set_value,
                      "Where it stands; the page and the script both move it.");
  slider.def_property_readonly(
      "range",
      [](const SliderHandle& s) {
        const Access access(*s.world);
        return py::make_tuple(s.slider(access).min, s.slider(access).max);
      },
      "Its two ends.");
  slider.def("__float__", &value_of);
  slider.def("__repr__", [](const SliderHandle& s) {
    return fmt::format("<karakuri.Slider '{}': {:g}>", s.name, value_of(s));
  });
}

void bind_button(py::module_& m) {
  py::class_<ButtonHandle> button(m, "Button", collected<ButtonHandle>(),
                                  "A button on the page: World.button().");
  button.def_readonly("name", &ButtonHandle::name, "As the page shows it.");
  button.def_property_readonly("pressed", &was_pressed, "Whether it was pressed since this was last asked.");
  button.def_property_readonly(
      "count", [](const ButtonHandle& b) { return Access(*b.world).session().presses(b.name); },
      "How often it was pressed.");
  button.def("press", &press, "Presses it.");
  button.def("__repr__", [](const ButtonHandle& b) { return fmt::format("<karakuri.Button '{}'>", b.name); });
}

void bind_text_and_plot(py::module_& m) {
  py::class_<TextHandle> text(m, "Text", collected<TextHandle>(), "A line on the page: World.text().");
  text.def_readonly("name", &TextHandle::name, "By which it is found again; not shown.");
  text.def_property(
      "text",
      [](const TextHandle& t) {
        const Access access(*t.world);
        return element_of<Text>(access, t.name, "text", 2).text;
      },
      &set_text, "What is shown; {SIGNAL} stands for its value, as it changes.");
  text.def("__repr__", [](const TextHandle& t) { return fmt::format("<karakuri.Text '{}'>", t.name); });
  py::class_<PlotHandle> plot(m, "Plot", collected<PlotHandle>(), "A plot on the page: World.plot().");
  plot.def_readonly("title", &PlotHandle::title, "As the page shows it.");
  plot.def_property("signals", &signals_of, &set_signals, "What is plotted over time.");
  plot.def("__repr__", [](const PlotHandle& p) { return fmt::format("<karakuri.Plot '{}'>", p.title); });
}

std::string show(PyWorld& w, const fs::path& bundle, const std::string& address, int port, bool real_time) {
  if (port < 0 || port > 65535)
    raise_value(fmt::format("port={}: a port is a number from 0 (any) to 65535", port));
  return w.show(
      {.address = address, .port = static_cast<std::uint16_t>(port), .bundle = bundle, .in_notebooks = true},
      real_time);
}

}  // namespace

void bind_page(py::module_& m, py::class_<PyWorld>& world) {
  bind_slider(m);
  bind_button(m);
  bind_text_and_plot(m);
  world.def("_show", &show);
  world.def("_page_url", &PyWorld::page_url);
  world.def("_serve", &PyWorld::serve);
  world.def("_close_page", &PyWorld::close_page);
  world.def(
      "slider", &add_slider, py::arg("name"), py::arg("min") = py::none(), py::arg("max") = py::none(),
      py::arg("value") = py::none(), py::kw_only(), py::arg("key") = "",
      "A slider on the page, between min and max; with key it sets that key of the scene. Where there is "
      "one of this name\n"
      "it gets these ends and keeps its value; without ends it is only looked up. The signal ui.NAME is its "
      "value.");
  world.def(
      "button", &add_button, py::arg("name"), py::arg("function") = py::none(),
      "A button on the page. function(world) is called when it is pressed: between steps, or by the page's "
      "thread while\n"
      "nobody steps.");
  world.def(
      "text", &add_text, py::arg("name"), py::arg("text"),
      "A line on the page; {SIGNAL} in it stands for the signal's value. The same name again changes it.");
  world.def("plot", &add_plot, py::arg("title"), "Signals over time, on the page.");
}

}  // namespace karakuri::python
