// The socket, opened again whenever it is lost.
import { decode, type Command, type Frame, type ServerMessage } from './protocol';

export interface Handlers {
  message(message: Exclude<ServerMessage, { type: 'problem' }>): void;
  problem(why: string): void;
  geometry(block: ArrayBuffer): void;
  frame(frame: Frame): void;
  file(file: File): void;
  state(connected: boolean): void;
}

/** Hears what is wrong with a command. */
export type Refused = (why: string) => void;
export type Send = (command: Command, refused?: Refused) => void;

const MOST_ASKERS = 1000;

export class Connection {
  private socket: WebSocket | null = null;
  private wait = 250; // [ms] until the next try
  private sent = 0;
  private readonly askers = new Map<number, Refused>();

  constructor(private readonly handlers: Handlers) {
    this.open();
  }

  /** `refused` is told what the server finds wrong with the command, in place of the handlers. */
  send(command: Command, refused?: Refused): void {
    if (this.socket?.readyState !== WebSocket.OPEN) return;
    const id = ++this.sent;
    if (refused) this.askers.set(id, refused);
    this.askers.delete(id - MOST_ASKERS);
    this.socket.send(JSON.stringify(refused ? { ...command, id } : command));
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
    if (typeof data === 'string') return this.hear(JSON.parse(data) as ServerMessage);
    const message = decode(data);
    if (message && 'geometry' in message) this.handlers.geometry(message.geometry);
    if (message && 'file' in message) this.handlers.file(message.file);
    if (message && 'frame' in message) this.handlers.frame(message.frame);
  }

  private hear(message: ServerMessage): void {
    if (message.type !== 'problem') return this.handlers.message(message);
    const why = [message.where, message.what, message.remedy].filter(Boolean).join(': ');
    const asker = message.id === null ? undefined : this.askers.get(message.id);
    if (asker) asker(why);
    else this.handlers.problem(why);
  }
}
