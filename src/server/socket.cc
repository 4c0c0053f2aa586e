// One client's WebSocket: reads messages, writes what waits, a frame only when nothing else does.
#include "server/impl.h"

namespace karakuri::server_detail {

void end_now(Stream& stream, Error& error) {
  stream.socket().shutdown(tcp::socket::shutdown_both, error);
  stream.socket().close(error);
}

Socket::Socket(Server::Impl& server, ClientId id, Stream stream, Slot slot)
    : server_(server), id_(id), slot_(std::move(slot)), stream_(std::move(stream)) {}

void Socket::accept(const Request& request) {
  beast::get_lowest_layer(stream_).expires_never();
  websocket::stream_base::timeout timeout{};
  const auto seconds = [](double s) {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(s));
  };
  timeout.handshake_timeout = seconds(server_.options.request_seconds);
  timeout.idle_timeout = seconds(server_.options.idle_seconds);
  timeout.keep_alive_pings = true;
  stream_.set_option(timeout);
  stream_.read_message_max(server_.options.max_message);
  stream_.async_accept(request, [self = shared_from_this()](Error error) {
    if (error) return self->fail();
    self->open_ = true;
    self->server_.tell({ClientEventKind::kOpened, self->id_, {}});
    self->told_ = true;
    self->read();
    self->pump();
  });
}

void Socket::read() {
  if (!open_) return;
  stream_.async_read(input_, [self = shared_from_this()](Error error, std::size_t) {
    if (error) return self->fail();
    const bool room =
        self->server_.tell({ClientEventKind::kMessage, self->id_,
                            beast::buffers_to_string(self->input_.data()), self->stream_.got_binary()});
    self->input_.clear();
    if (room) self->read();
  });
}

void Socket::pump() {
  if (!open_) return;
  {
    const std::lock_guard lock(server_.mutex);
    if (outbox.overflow) return fail();
    if (writing_) return;
    if (!outbox.kept.empty()) {
      sending_ = std::move(outbox.kept.front());
      outbox.kept.pop_front();
      sending_kept_ = true;
    } else if (auto& last = outbox.status ? outbox.status : outbox.frame) {
      sending_ = std::move(*last);
      last.reset();
    } else {
      return;
    }
  }
  writing_ = true;
  stream_.binary(sending_.binary);
  const std::array<asio::const_buffer, 2> buffers = {
      sending_.shared ? asio::buffer(*sending_.shared) : asio::const_buffer(), asio::buffer(sending_.own)};
  stream_.async_write(buffers, [self = shared_from_this()](Error error, std::size_t) {
    self->written();
    if (error) return self->fail();
    self->pump();
  });
}

/// What was on its way is held no longer.
void Socket::written() {
  const Outbox::Message done = std::exchange(sending_, {});
  const bool was_kept = std::exchange(sending_kept_, false);
  writing_ = false;
  const std::lock_guard lock(server_.mutex);
  if (was_kept) outbox.bytes -= done.cost();
}

/// At once, without a farewell: the other side may be silent.
void Socket::close() {
  Error ignored;
  open_ = false;
  beast::get_lowest_layer(stream_).socket().close(ignored);
}

void Socket::fail() {
  close();
  asio::post(server_.io, [self = shared_from_this()] {
    {
      const std::lock_guard lock(self->server_.mutex);
      self->server_.sockets.erase(self->id_);
    }
    if (std::exchange(self->told_, false)) self->server_.tell({ClientEventKind::kClosed, self->id_, {}});
  });
}

}  // namespace karakuri::server_detail
