// One HTTP connection.
#pragma once

#include "server/impl.h"

namespace karakuri::server_detail {

class Http : public std::enable_shared_from_this<Http> {
 public:
  Http(Server::Impl& server, tcp::socket socket, Slot slot);
  ~Http();
  void read();
  /// Ends at once, and leaves its place to another.
  void give_way();

 private:
  void handle(const Request& request);
  void upgrade(const Request& request);
  /// It is no stranger any more.
  void is_known();
  void answer(http::status status, std::string_view text,
              std::string_view type = "text/plain; charset=utf-8");

  Server::Impl& server_;
  Slot slot_;
  std::optional<std::list<Http*>::iterator> stranger_;  // its place among them
  Stream stream_;
  beast::flat_buffer input_{16 * 1024};
  std::optional<http::request_parser<http::empty_body>> parser_;
  bool keep_alive_ = false;
};

}  // namespace karakuri::server_detail
