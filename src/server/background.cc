#include "server/background.h"

#include <utility>

namespace karakuri::server_detail {

Background::~Background() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
  for (const auto* pieces : {&waiting_, &done_})
    for (const Piece& piece : *pieces) server_.hear(piece.client, true);
}

void Background::start(ClientId client, Work work) {
  server_.hear(client, false);
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back({client, std::move(work), {}});
  }
  changed_.notify_all();
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
}

void Background::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return ending_ || !waiting_.empty(); });
    if (ending_) return;
    Piece piece = std::move(waiting_.front());
    waiting_.pop_front();
    working_ = true;
    lock.unlock();
    piece.finish = piece.work();
    piece.work = {};  // and what it holds
    lock.lock();
    working_ = false;
    done_.push_back(std::move(piece));
    changed_.notify_all();
  }
}

std::deque<Background::Piece> Background::take_done() {
  const std::lock_guard lock(mutex_);
  return std::exchange(done_, {});
}

void Background::finish() {
  for (const Piece& piece : take_done()) {
    server_.hear(piece.client, true);  // it may ask for more
    piece.finish();
  }
}

void Background::finish_all() {
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !working_ && waiting_.empty(); });
  }
  finish();
}

}  // namespace karakuri::server_detail
