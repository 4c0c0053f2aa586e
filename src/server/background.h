// Work that takes long, done beside the thread that serves: one piece after the other, each asked for by a
// client, of whom nothing else is heard until it is done. So the others are answered meanwhile, and what
// waits is at most one piece for each client.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "karakuri/server/server.h"

namespace karakuri::server_detail {

class Background {
 public:
  /// What is to be done with the result, by the thread that serves.
  using Finish = std::function<void()>;
  /// Touches nothing that the serving thread changes.
  using Work = std::function<Finish()>;

  explicit Background(Server& server) : server_(server) {}
  /// What has not begun is left; what has, is waited for.
  ~Background();
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  /// What it throws ends the program: it must not.
  void start(ClientId client, Work work);
  /// Ends what is done. By the thread that serves.
  void finish();
  /// Waits until everything is done, and ends it.
  void finish_all();

 private:
  struct Piece {
    ClientId client = 0;
    Work work;
    Finish finish;
  };
  void run();
  std::deque<Piece> take_done();

  Server& server_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Piece> waiting_, done_;
  bool working_ = false, ending_ = false;
  std::thread thread_;  // from the first piece on
};

}  // namespace karakuri::server_detail
