// A client of plain bytes, independent of the library that the server is made with.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <string>

#include <nlohmann/json.hpp>

namespace karakuri::test {

inline std::string upgrade_request(const std::string& target, std::uint16_t port,
                                   const std::string& more = "") {
  return "GET " + target + " HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(port) +
         "\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
         "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n" +
         more + "\r\n";
}

/// RFC 6455, section 5.2, with a mask of zeros.
inline std::string text_frame(const std::string& text) {
  std::string out = "\x81";
  if (text.size() < 126) {
    out += static_cast<char>(0x80 | text.size());
  } else {
    out += static_cast<char>(0x80 | 126);
    out += static_cast<char>(text.size() >> 8);
    out += static_cast<char>(text.size() & 0xff);
  }
  return out + std::string(4, '\0') + text;
}

class Client {
 public:
  explicit Client(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const timeval limit{10, 0};
    setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    EXPECT_EQ(connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  ~Client() { ::close(socket_); }

  /// What the other side does not take any more is dropped.
  void send(const std::string& bytes) const {
    std::size_t done = 0;
    while (done < bytes.size()) {
      const ssize_t n = ::send(socket_, bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL);
      if (n <= 0) return;
      done += static_cast<std::size_t>(n);
    }
  }
  std::string read_some() const {
    char buffer[65536];
    const ssize_t n = recv(socket_, buffer, sizeof buffer, 0);
    return n > 0 ? std::string(buffer, static_cast<std::size_t>(n)) : std::string();
  }
  /// Until the other side ends it.
  std::string read_all() const {
    std::string all;
    for (std::string some = read_some(); !some.empty(); some = read_some()) all += some;
    return all;
  }
  void drain() const {
    while (!read_some().empty()) {
    }
  }
  void open_socket(const std::string& token) const {
    sockaddr_in address{};
    socklen_t size = sizeof address;
    getpeername(socket_, reinterpret_cast<sockaddr*>(&address), &size);
    send(upgrade_request("/socket?token=" + token, ntohs(address.sin_port)));
    EXPECT_EQ(read_some().substr(0, 12), "HTTP/1.1 101");
  }

 private:
  int socket_;
};

/// A WebSocket that sends texts and takes messages apart.
class Socket {
 public:
  Socket(std::uint16_t port, const std::string& token) : client_(port) {
    client_.send(upgrade_request("/socket?token=" + token, port));
    std::size_t end = std::string::npos;
    while ((end = input_.find("\r\n\r\n")) == std::string::npos && more()) {
    }
    EXPECT_EQ(input_.substr(0, 12), "HTTP/1.1 101");
    input_.erase(0, end + 4);
  }

  void send_text(const std::string& text) const { client_.send(text_frame(text)); }

  struct Message {
    bool binary = false;
    std::string data;
  };
  /// The next message; empty data where there is none any more. RFC 6455, section 5.2, whole frames.
  Message next() {
    Message out;
    for (bool last = false; !last;) {
      if (!need(2)) return {};
      const auto head = static_cast<unsigned char>(input_[0]);
      last = (head & 0x80) != 0;
      const int opcode = head & 0x0f;  // 0: goes on, 2: binary, 8: the end, 9: a ping
      if (opcode == 8) return {};
      if (opcode == 1 || opcode == 2) out.binary = opcode == 2;
      std::size_t size = input_[1] & 0x7f, at = 2;
      const std::size_t wide = size == 126 ? 2 : size == 127 ? 8 : 0;
      if (!need(at + wide)) return {};
      if (wide > 0) size = 0;
      for (std::size_t i = 0; i < wide; ++i) size = size << 8 | static_cast<unsigned char>(input_[at++]);
      if (!need(at + size)) return {};
      if (opcode < 8) out.data += input_.substr(at, size);
      last = last && opcode < 8;
      input_.erase(0, at + size);
    }
    return out;
  }
  /// The next text of this type; null where the connection ends.
  nlohmann::json wait_for(const std::string& type) {
    for (Message m = next(); !m.data.empty(); m = next()) {
      if (m.binary) continue;
      nlohmann::json json = nlohmann::json::parse(m.data, nullptr, false);
      if (json.is_object() && json.value("type", "") == type) return json;
    }
    return nullptr;
  }
  /// The next binary message of this kind; empty where the connection ends.
  std::string wait_for_binary(std::uint32_t kind) {
    for (Message m = next(); !m.data.empty(); m = next()) {
      std::uint32_t found = 0;
      if (m.binary && m.data.size() >= 4) std::memcpy(&found, m.data.data(), 4);
      if (found == kind) return m.data;
    }
    return {};
  }

 private:
  bool more() {
    const std::string some = client_.read_some();
    input_ += some;
    return !some.empty();
  }
  bool need(std::size_t bytes) {
    while (input_.size() < bytes) {
      if (!more()) return false;
    }
    return true;
  }

  Client client_;
  std::string input_;
};

}  // namespace karakuri::test
