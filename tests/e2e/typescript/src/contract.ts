// The contract as a client in another language meets it: the published protos, read at run time, and no generated code.
// The types below name the few fields that this client looks at; everything else passes through untouched.

import * as grpc from "@grpc/grpc-js";
import * as loader from "@grpc/proto-loader";

/** An action. `action` names the one that is set; one from a list of legal actions is sent back as it is. */
export interface Action {
  action?: string;
  [name: string]: unknown;
}

export interface Outcome {
  scores: number[];
  places: number[];
  winners: number[];
}

export interface Snapshot {
  room: { version: number; match_id: string; legal: { actions: Action[] } | null; outcome: Outcome | null };
  resume_token: Uint8Array;
  reason: string;
}

export interface Update {
  version: number;
  events: { event: string; match_ended?: Outcome; match_started?: { proof: { match_id: string } } }[];
  /** Null: as before. */
  legal: { actions: Action[] } | null;
  resume_token: Uint8Array;
}

export interface Answer {
  request_id: Uint8Array;
  version: number;
  refusal: { reason: string; message: string } | null;
}

/** `message` names the one field that is set besides `answer`, if there is one. */
export interface PlayResponse {
  message?: "snapshot" | "update" | "bookmark" | "go_away" | "renew" | "chat" | "announcement";
  snapshot?: Snapshot;
  update?: Update;
  bookmark?: { version: number };
  go_away?: { reason: string; resume_token: Uint8Array };
  answer?: Answer | null;
}

export type PlayRequest =
  | { open: { room_id: string; resume_token: Uint8Array } }
  | { act: { request_id: Uint8Array; version: number; action: Action } };

export type PlayStream = grpc.ClientDuplexStream<PlayRequest, PlayResponse>;

export interface SignedIn {
  session: { player_id: string; token: string };
}

/** The services that this client calls, on one connection. */
export interface Services {
  identity: grpc.Client;
  matchmaking: grpc.Client;
  authority: grpc.Client;
}

export function connect(address: string, protos: string): Services {
  const files = ["identity", "matchmaking", "authority"].map((name) => `maumau/v1/${name}.proto`);
  const definition = loader.loadSync(files, {
    includeDirs: [protos],
    keepCase: true, // field names as the protos write them
    longs: Number, // versions stay far below 2^53
    enums: String,
    defaults: true,
    oneofs: true,
  });
  const packages = grpc.loadPackageDefinition(definition) as unknown as {
    maumau: { v1: Record<string, grpc.ServiceClientConstructor> };
  };
  const client = (name: string): grpc.Client => {
    const Service = packages.maumau.v1[name];
    if (Service === undefined) {
      throw new Error(`the protos declare no ${name}`);
    }
    return new Service(address, grpc.credentials.createInsecure());
  };
  return {
    identity: client("IdentityService"),
    matchmaking: client("MatchmakingService"),
    authority: client("GameAuthorityService"),
  };
}

/** One unary call, with ten seconds to be answered. */
export function call<Answered>(
  client: grpc.Client,
  method: string,
  request: object,
  metadata = new grpc.Metadata(),
): Promise<Answered> {
  const bound = (client as unknown as Record<string, Function>)[method]!.bind(client);
  return new Promise((resolve, reject) =>
    bound(request, metadata, { deadline: Date.now() + 10_000 }, (error: grpc.ServiceError | null, answer: Answered) =>
      error === null ? resolve(answer) : reject(error),
    ),
  );
}

export function openPlay(client: grpc.Client, metadata: grpc.Metadata): PlayStream {
  const stub = client as unknown as { Play(metadata: grpc.Metadata): PlayStream };
  return stub.Play(metadata);
}
