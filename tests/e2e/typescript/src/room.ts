// One room as this player sees it: a `Play` stream that is resumed when it ends, and a promise for each action.

import { randomBytes } from "node:crypto";

import * as grpc from "@grpc/grpc-js";

import { openPlay, type Action, type Answer, type Outcome, type PlayResponse, type PlayStream } from "./contract.js";

/** Without a message for so long the line is dead: there is a bookmark every 10 s. */
const SILENCE_MS = 25_000;
/** How long a version that a bookmark named may take to arrive. */
const CATCH_UP_MS = 2_000;
const FIRST_PAUSE_MS = 400;
const LONGEST_PAUSE_MS = 5_000;

/** How a stream ends that is resumed: sent away in good order, broken off, without its server, not read in time. */
const RESUMED = [grpc.status.OK, grpc.status.CANCELLED, grpc.status.UNAVAILABLE, grpc.status.RESOURCE_EXHAUSTED];

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
  private online = false;
  private closed = false;
  /** Streams in a row that brought nothing. */
  private attempts = 0;
  private silence?: NodeJS.Timeout;
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
      if (this.online) {
        this.stream.write({ act: request });
      }
    });
  }

  /** Resolves after the next message that says something new about the room. */
  news(): Promise<void> {
    return new Promise((resolve) => this.waiting.push(resolve));
  }

  /** Breaks the stream, as a bad line would; it is resumed. */
  breakStream(): void {
    this.stream.cancel();
  }

  close(): void {
    this.closed = true;
    clearTimeout(this.silence);
    this.stream.end();
  }

  private open(): void {
    const stream = openPlay(this.authority, this.metadata);
    this.stream = stream;
    this.online = true;
    stream.on("data", (message: PlayResponse) => this.take(message));
    stream.on("error", () => {}); // the status says the same
    stream.on("status", (status: grpc.StatusObject) => this.ended(status));
    stream.write({ open: { room_id: this.id, resume_token: this.resumeToken } });
    for (const { request } of this.pending.values()) {
      stream.write({ act: request });
    }
    this.expectNews();
  }

  private expectNews(): void {
    clearTimeout(this.silence);
    this.silence = setTimeout(() => this.stream.cancel(), SILENCE_MS);
  }

  private ended(status: grpc.StatusObject): void {
    clearTimeout(this.silence);
    this.online = false;
    if (this.closed) {
      return;
    }
    if (!RESUMED.includes(status.code)) {
      this.failed(new Error(status.details)); // among them TAKEN_OVER and TOKEN_EXPIRED, which a new stream meets again
      return;
    }
    // A pause by chance, so that clients which a server lost at once do not come back at once.
    const longest = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** this.attempts);
    this.attempts += 1;
    setTimeout(() => this.resume(), Math.random() * longest);
  }

  private resume(): void {
    if (!this.closed) {
      this.resumed += 1;
      this.open();
    }
  }

  /** Takes what the message tells of the room first, and then the answer that may come with it. */
  private take(message: PlayResponse): void {
    if (this.closed) {
      return;
    }
    this.attempts = 0;
    this.expectNews();
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
    } else if (message.bookmark) {
      this.expect(message.bookmark.version);
    } else if (message.go_away?.reason === "GO_AWAY_REASON_ROOM_CLOSED") {
      this.failed(new Error("the room was closed"));
    }
  }

  /** A version that a bookmark names is here, on its way, or lost. */
  private expect(version: number): void {
    const stream = this.stream;
    if (version > this.version) {
      setTimeout(() => version > this.version && stream.cancel(), CATCH_UP_MS).unref();
    }
  }
}
