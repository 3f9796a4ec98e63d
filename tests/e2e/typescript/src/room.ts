// One room as this player sees it: a `Play` stream that is resumed when it ends, and a promise for each action.

import { randomBytes } from "node:crypto";

import * as grpc from "@grpc/grpc-js";

import { openPlay, type Action, type Answer, type Outcome, type PlayResponse, type PlayStream } from "./contract.js";

interface Pending {
  request: { request_id: Uint8Array; version: number; action: Action };
  answered: (answer: Answer) => void;
}

export class Room {
  /** The newest version seen, and the first one that this client saw. */
  version = 0;
  firstVersion = 0;
  matchId = "";
  legal: Action[] = [];
  outcome: Outcome | null = null;
  /** What must not happen: versions that were left out or came twice, in words. */
  readonly faults: string[] = [];
  resumed = 0;

  private stream!: PlayStream;
  private resumeToken: Uint8Array = Buffer.alloc(0);
  private readonly pending = new Map<string, Pending>();
  private waiting: (() => void)[] = [];

  constructor(
    readonly id: string,
    private readonly authority: grpc.Client,
    private readonly metadata: grpc.Metadata,
    private readonly failed: (error: Error) => void,
  ) {
    this.open();
  }

  /** Resolves with the server's answer. Sent again, under the same request id, when the stream breaks before. */
  act(action: Action): Promise<Answer> {
    const request = { request_id: randomBytes(16), version: this.version, action };
    return new Promise((answered) => {
      this.pending.set(request.request_id.toString("hex"), { request, answered });
      this.stream.write({ act: request });
    });
  }

  /** Resolves after the next message that says something new about the room. */
  news(): Promise<void> {
    return new Promise((resolve) => this.waiting.push(resolve));
  }

  /** Breaks the stream, as a bad line would, and resumes it. */
  breakStream(): void {
    this.stream.cancel();
  }

  close(): void {
    this.stream.removeAllListeners("error").on("error", () => {});
    this.stream.removeAllListeners("data");
    this.stream.end();
  }

  private open(): void {
    const stream = openPlay(this.authority, this.metadata);
    this.stream = stream;
    stream.on("data", (message: PlayResponse) => this.take(message));
    stream.on("error", (error: grpc.ServiceError) => this.ended(error));
    stream.write({ open: { room_id: this.id, resume_token: this.resumeToken } });
    for (const { request } of this.pending.values()) {
      stream.write({ act: request });
    }
  }

  private ended(error: grpc.ServiceError): void {
    if (error.code !== grpc.status.CANCELLED && error.code !== grpc.status.UNAVAILABLE) {
      this.failed(error); // among them TAKEN_OVER and TOKEN_EXPIRED, which a new stream would only meet again
      return;
    }
    this.resumed += 1;
    this.open();
  }

  /** Takes what the message tells of the room first, and then the answer that may come with it. */
  private take(message: PlayResponse): void {
    this.takeNews(message);
    if (message.answer) {
      const id = Buffer.from(message.answer.request_id).toString("hex");
      if (message.answer.version > this.version) {
        this.faults.push(`the answer for version ${message.answer.version} came before its events`);
      }
      this.pending.get(id)?.answered(message.answer);
      this.pending.delete(id);
    }
    if (message.message !== undefined) {
      this.waiting.splice(0).forEach((tell) => tell());
    }
  }

  private takeNews(message: PlayResponse): void {
    if (message.snapshot) {
      const { room, resume_token, reason } = message.snapshot;
      if (this.version > 0) {
        this.faults.push(`a snapshot instead of the missed versions: ${reason}`);
      }
      this.firstVersion = this.version = room.version;
      this.legal = room.legal?.actions ?? [];
      this.outcome = room.outcome;
      this.resumeToken = resume_token;
    } else if (message.update) {
      const { version, events, legal, resume_token } = message.update;
      if (version !== this.version + 1) {
        this.faults.push(`version ${version} after ${this.version}`);
      }
      this.version = version;
      this.legal = legal?.actions ?? this.legal;
      this.resumeToken = resume_token;
      for (const event of events) {
        this.matchId = event.match_started?.proof.match_id ?? this.matchId;
        this.outcome = event.match_ended ?? this.outcome;
      }
    } else if (message.bookmark && message.bookmark.version > this.version) {
      this.faults.push(`a bookmark of version ${message.bookmark.version} after ${this.version}`);
    }
  }
}
