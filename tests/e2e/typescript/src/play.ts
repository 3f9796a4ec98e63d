// Plays one match of Mau-Mau against two bots and prints one line of JSON about it. It knows no rule of the game: it
// sends back one of the actions that the server lists as legal.
//   node build/play.js ADDRESS FOLDER_OF_PROTOS

import { randomBytes } from "node:crypto";

import * as grpc from "@grpc/grpc-js";

import { call, connect, type Action, type SignedIn } from "./contract.js";
import { Room } from "./room.js";

/** Whatever is dealt, a match of so many rounds goes on after the first action in it, and gives time for more. */
const ROUNDS = "rounds:5";
const BREAK_AFTER_ACTIONS = 1;

async function main(address: string, protos: string): Promise<void> {
  const services = connect(address, protos);
  const { session } = await call<SignedIn>(services.identity, "SignInAsGuest", { display_name: "TypeScript" });
  const metadata = new grpc.Metadata();
  metadata.set("authorization", `Bearer ${session.token}`);
  const created = await call<{ room_id: string }>(
    services.matchmaking,
    "CreateRoom",
    {
      ruleset: { preset: "mau-mau-32", options: { "match.target": { choice: ROUNDS } } },
      settings: { seats: 3, pause_seconds: 0 },
      request_id: randomBytes(16),
    },
    metadata,
  );
  metadata.set("x-maumau-room", created.room_id);

  const room = new Room(created.room_id, services.authority, metadata, fail);
  await room.news();
  await start(room);
  const { accepted, refused } = await playToTheEnd(room);
  room.close();
  const { id: roomId, version, firstVersion, matchId, faults, resumed, outcome } = room;
  console.log(JSON.stringify({ roomId, version, firstVersion, matchId, faults, resumed, accepted, refused, ...outcome }));
  Object.values(services).forEach((client: grpc.Client) => client.close());
}

async function start(room: Room): Promise<void> {
  const steps: Action[] = [
    { add_bot: { level: "BOT_LEVEL_RANDOM" } },
    { add_bot: { level: "BOT_LEVEL_HEURISTIC" } },
    { set_ready: { ready: true, contribution: randomBytes(32) } },
    { start: {} },
  ];
  for (const step of steps) {
    const { refusal } = await room.act(step);
    if (refusal) {
      throw new Error(`${JSON.stringify(step)} was refused: ${refusal.message}`);
    }
  }
}

async function playToTheEnd(room: Room): Promise<{ accepted: number; refused: string[] }> {
  const refused: string[] = [];
  let accepted = 0;
  while (!room.outcome) {
    const action = choose(room.legal);
    if (action === undefined) {
      await room.news();
      continue;
    }
    const decidedAt = room.version;
    const { refusal } = await room.act(action);
    if (!refusal) {
      accepted += 1;
      if (accepted === BREAK_AFTER_ACTIONS) {
        room.breakStream();
      }
      continue;
    }
    refused.push(refusal.reason); // somebody else was faster: what is legal now has come, or is on its way
    if (room.version === decidedAt) {
      await room.news();
    }
  }
  return { accepted, refused };
}

/** A card rather than anything else, so that the match comes to its end. */
function choose(legal: Action[]): Action | undefined {
  return legal.find(({ action }) => action === "play") ?? legal[0];
}

function fail(error: unknown): never {
  console.error(error);
  process.exit(1);
}

const [address, protos] = process.argv.slice(2);
if (address === undefined || protos === undefined) {
  fail("usage: play ADDRESS FOLDER_OF_PROTOS");
}
main(address, protos).catch(fail);
