"""A browser, as far as a page's socket sees one: RFC 6455 over plain bytes."""
import json
import re
import socket
import struct
import time


class Client:
    def __init__(self, url):
        port, token = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/\?token=(\w+)", url).groups()
        self.socket = socket.create_connection(("127.0.0.1", int(port)), timeout=20)
        self.socket.sendall(f"GET /socket?token={token} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: Upgrade\r\n"
                            "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n".encode())
        self.input = b""
        while b"\r\n\r\n" not in self.input:
            self._more()
        head, self.input = self.input.split(b"\r\n\r\n", 1)
        assert head.startswith(b"HTTP/1.1 101"), head

    def __enter__(self):
        return self

    def __exit__(self, *args):
        self.socket.close()

    def _more(self):
        some = self.socket.recv(65536)
        if not some:
            raise EOFError("the server has ended the connection")
        self.input += some

    def _take(self, size):
        while len(self.input) < size:
            self._more()
        taken, self.input = self.input[:size], self.input[size:]
        return taken

    def send(self, **message):
        data = json.dumps(message).encode()
        length = struct.pack("!B", 0x80 | len(data)) if len(data) < 126 else struct.pack("!BH", 0x80 | 126, len(data))
        self.socket.sendall(b"\x81" + length + bytes(4) + data)  # a mask of zeros

    def next(self):
        """The next message: a dict, or bytes. Ours are never in pieces that a ping could come between."""
        data = b""
        while True:
            head, length = self._take(2)
            length &= 0x7F
            if length == 126:
                length = struct.unpack("!H", self._take(2))[0]
            elif length == 127:
                length = struct.unpack("!Q", self._take(8))[0]
            part = self._take(length)
            if head & 0x0F == 8:
                raise EOFError("closed")
            if head & 0x0F in (0, 1, 2):
                if head & 0x0F:
                    binary = head & 0x0F == 2
                data += part
                if head & 0x80:
                    return data if binary else json.loads(data)

    def wait_for(self, kind, fits=lambda message: True, seconds=20):
        """The next message of this type that fits."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            message = self.next()
            if isinstance(message, dict) and message["type"] == kind and fits(message):
                return message
        raise TimeoutError(f"no message '{kind}' that fits")

    def frame_time(self, fits=lambda time: True):
        """The scene's time in the next frame for which it fits."""
        while True:
            message = self.next()
            if isinstance(message, bytes) and message[:4] == b"\x02\0\0\0":
                now = struct.unpack_from("<d", message, 24)[0]
                if fits(now):
                    return now
