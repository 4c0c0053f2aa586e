// The socket, opened again whenever it is lost.
import { decode, type Command, type Frame, type ServerMessage } from './protocol';

export interface Handlers {
  message(message: ServerMessage): void;
  geometry(block: ArrayBuffer): void;
  frame(frame: Frame): void;
  file(file: File): void;
  state(connected: boolean): void;
}

export class Connection {
  private socket: WebSocket | null = null;
  private wait = 250; // [ms] until the next try

  constructor(private readonly handlers: Handlers) {
    this.open();
  }

  send(command: Command): void {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(command));
  }

  sendBytes(bytes: Blob): void {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(bytes);
  }

  private open(): void {
    const token = new URLSearchParams(location.search).get('token') ?? '';
    const socket = new WebSocket(`ws://${location.host}/socket?token=${encodeURIComponent(token)}`);
    socket.binaryType = 'arraybuffer';
    socket.onopen = () => {
      this.wait = 250;
      this.handlers.state(true);
    };
    socket.onmessage = (event) => this.receive(event.data as string | ArrayBuffer);
    socket.onclose = () => {
      this.handlers.state(false);
      setTimeout(() => this.open(), this.wait);
      this.wait = Math.min(2000, this.wait * 1.5);
    };
    this.socket = socket;
  }

  private receive(data: string | ArrayBuffer): void {
    if (typeof data === 'string') return this.handlers.message(JSON.parse(data) as ServerMessage);
    const message = decode(data);
    if (message && 'geometry' in message) this.handlers.geometry(message.geometry);
    if (message && 'file' in message) this.handlers.file(message.file);
    if (message && 'frame' in message) this.handlers.frame(message.frame);
  }
}
