// A small second verifier of transcripts: it checks the hash chain, the shuffle, the cards, the coins, the proof and
// the signature. It needs only Node 20 or newer. The report page runs the same module in the browser.
//
//     node docs/verify_example.mjs FILE [PUBLIC KEY]
//
// It is an example for authors of verifiers (docs/transcript-format.md). It does not judge whose turn it was.

import { readFileSync } from "node:fs";
import { CLAIMS, verify } from "../service/report/verify.mjs";

const MISSING = {
  crypto: "nothing is checked: this Node has no WebCrypto",
  checkpoint: "not proven: there is no checkpoint, so the service did not sign this match",
  key: "not checked here: the signature of the checkpoint, since no key is given",
  ed25519: "not checked here: the signature of the checkpoint, since this Node has no Ed25519",
};

const { checks, missing } = await verify(new Uint8Array(readFileSync(process.argv[2])), process.argv[3]);
for (const { claim, value, holds, error } of checks) {
  console.log(holds ? "ok  " : "FALSE", CLAIMS[claim].replace("#", value) + (error ? ` (${error})` : ""));
}
const isRefuted = checks.some(({ holds }) => !holds);
if (missing && !isRefuted) console.log(MISSING[missing]);
console.log("not checked here: turns, limits of the attack, time and the shares of the bank");
process.exit(isRefuted || missing === "crypto" ? 1 : 0);
