#include "interrupt.h"

#include <signal.h>

#include <initializer_list>

namespace karakuri::cli {

namespace {
volatile sig_atomic_t interrupted = 0;
}

void catch_interrupts() {
  struct sigaction action{};
  action.sa_handler = [](int) { interrupted = 1; };
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  for (const int signal : {SIGINT, SIGTERM}) sigaction(signal, &action, nullptr);
}

bool was_interrupted() { return interrupted != 0; }

}  // namespace karakuri::cli
