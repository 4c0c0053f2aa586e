// Requests: the page's files, and the way to a WebSocket.
#include "server/http.h"

namespace karakuri::server_detail {

namespace {

constexpr std::size_t kMostHeader = 8 * 1024;

/// The value of token=... in a target.
std::string_view token_in(std::string_view target) {
  static constexpr std::string_view kKey = "token=";
  const auto query = target.find('?');
  while (query != target.npos) {
    target.remove_prefix(std::min(target.size(), target.find_first_of("?&") + 1));
    const auto end = target.find('&');
    if (target.starts_with(kKey)) return target.substr(kKey.size(), end - kKey.size());
    if (end == target.npos) break;
  }
  return {};
}

std::string_view view(beast::string_view text) { return {text.data(), text.size()}; }

}  // namespace

Http::Http(Server::Impl& server, tcp::socket socket, Slot slot)
    : server_(server), slot_(std::move(slot)), stream_(std::move(socket)) {
  stranger_ = server_.strangers.insert(server_.strangers.end(), this);
}

Http::~Http() { is_known(); }

void Http::is_known() {
  if (const auto place = std::exchange(stranger_, std::nullopt)) server_.strangers.erase(*place);
}

void Http::give_way() {
  Error ignored;
  end_now(stream_, ignored);
  is_known();
  slot_.free();
}

void Http::read() {
  parser_.emplace();
  parser_->header_limit(kMostHeader);
  parser_->body_limit(kMostHeader);
  stream_.expires_after(std::chrono::duration_cast<std::chrono::nanoseconds>(
      std::chrono::duration<double>(server_.options.request_seconds)));
  http::async_read(stream_, input_, *parser_, [self = shared_from_this()](Error error, std::size_t) {
    if (error == http::error::end_of_stream || error == beast::error::timeout ||
        error == asio::error::operation_aborted)
      return;  // the socket closes
    if (error) return self->answer(http::status::bad_request, "This is not a request that is understood.\n");
    self->handle(self->parser_->release());
  });
}

void Http::handle(const Request& request) {
  keep_alive_ = request.keep_alive();
  const std::string_view host = view(request[http::field::host]), target = view(request.target());
  if (!host_allowed(host, server_.port, server_.loopback_only))
    return answer(http::status::forbidden,
                  "This host name is not served: use the address as it was printed.\n");
  if (!origin_allowed(view(request[http::field::origin]), host))
    return answer(http::status::forbidden, "Pages of other sites are not served.\n");
  const std::string_view path = target.substr(0, target.find('?'));
  const bool is_page = path == "/" || path == "/index.html", is_socket = path == "/socket";
  if ((is_page || is_socket) && !server_.is_token(token_in(target)))
    return answer(http::status::unauthorized,
                  "The token is missing or of another run: use the address as it was printed.\n");
  if (is_page || is_socket) is_known();
  if (is_socket) return upgrade(request);
  if (request.method() != http::verb::get)
    return answer(http::status::method_not_allowed, "Only GET is served.\n");
  const auto file = server_.bundle.find(is_page ? std::string_view("/index.html") : path);
  if (file == server_.bundle.end()) return answer(http::status::not_found, "There is no such file.\n");
  answer(http::status::ok, file->second.content, file->second.type);
}

void Http::upgrade(const Request& request) {
  if (!websocket::is_upgrade(request))
    return answer(http::status::upgrade_required, "This address is for a WebSocket.\n");
  const ClientId id = ++server_.last_client;
  auto socket = std::make_shared<Socket>(server_, id, std::move(stream_), std::move(slot_));
  {
    const std::lock_guard lock(server_.mutex);
    server_.sockets[id] = socket;
  }
  socket->accept(request);
}

void Http::answer(http::status status, std::string_view text, std::string_view type) {
  auto response = std::make_shared<http::response<http::string_body>>(status, 11);
  response->set(http::field::content_type, beast::string_view(type.data(), type.size()));
  response->set(http::field::cache_control, "no-store");
  response->set("X-Content-Type-Options", "nosniff");
  // a notebook is another origin, of this machine; what it frames still asks for the token
  const bool framed = server_.options.in_notebooks;
  if (!framed) response->set("X-Frame-Options", "SAMEORIGIN");
  response->set("Referrer-Policy", "no-referrer");
  response->set(
      "Content-Security-Policy",
      std::string("default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
                  "font-src 'self' data:; connect-src 'self'; object-src 'none'; base-uri 'none'; ") +
          (framed ? "frame-ancestors 'self' http://localhost:* http://127.0.0.1:* vscode-webview:"
                  : "frame-ancestors 'self'"));
  response->body() = std::string(text);
  response->keep_alive(keep_alive_ && status == http::status::ok);
  response->prepare_payload();
  http::async_write(stream_, *response, [self = shared_from_this(), response](Error error, std::size_t) {
    if (!error && response->keep_alive()) return self->read();
    self->stream_.socket().shutdown(tcp::socket::shutdown_send, error);
  });
}

}  // namespace karakuri::server_detail
