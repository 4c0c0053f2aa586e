#include "interrupt.h"

#include <semaphore.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <initializer_list>
#include <utility>

#include "common.h"

namespace karakuri::cli {

namespace {

constexpr std::chrono::milliseconds kPatience{500};

volatile sig_atomic_t interrupted = 0;
sem_t asked;  // a handler of a signal may post it

void on_signal(int) {
  interrupted = 1;
  sem_post(&asked);
}

}  // namespace

Interrupts::Interrupts(std::function<void()> give_up) : give_up_(std::move(give_up)) {
  sem_init(&asked, 0, 0);
  struct sigaction action{};
  action.sa_handler = on_signal;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  for (const int signal : {SIGINT, SIGTERM}) sigaction(signal, &action, nullptr);
  watch_ = std::thread([this] { watch(); });
}

Interrupts::~Interrupts() {
  seen();
  sem_post(&asked);
  watch_.join();
}

void Interrupts::seen() {
  {
    const std::lock_guard lock(mutex_);
    seen_ = true;
  }
  changed_.notify_all();
}

void Interrupts::watch() {
  while (sem_wait(&asked) != 0) {
  }
  {
    std::unique_lock lock(mutex_);
    if (changed_.wait_for(lock, kPatience, [&] { return seen_; })) return;
  }
  give_up_();
  _exit(kFailed);  // what is in the midst of a step cannot be torn down
}

bool was_interrupted() { return interrupted != 0; }

}  // namespace karakuri::cli
