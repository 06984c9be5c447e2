import { Command } from "commander";
import { recordingOn } from "../audit/sequence/acts.ts";
import {
  type CallbackPublicKeys,
  IMMEDIATELY,
  openSigningKeys,
  replaceSigningKeys,
} from "../callbacks/signing-keys.ts";
import { configuredMasterKey } from "../service/master-key.ts";
import { openStorage } from "../service/storage.ts";
import { printJson, tellLines } from "./output.ts";
import { openRuntime } from "./runtime.ts";
import { UsageError } from "./usage.ts";

type RotateOptions = { readonly now?: boolean; readonly lostMasterKey?: boolean };

/** `holderbook callbacks rotate`: a new key to sign callbacks with; running processes follow by themselves. */
export const rotateCommand = () =>
  new Command("rotate")
    .description(
      "renew the key that callbacks are signed with: announced for two days, then it signs, beside the old one for a day more; prints what callback_pk shows from now on",
    )
    .option(
      "--now",
      "the key is compromised: sign with a new one at once, trust the old one no more",
    )
    .option("--lost-master-key", "with --now: the master key that sealed the old ones is lost")
    .action(async ({ now = false, lostMasterKey = false }: RotateOptions) => {
      if (lostMasterKey && !now) throw new UsageError("--lost-master-key goes with --now");
      const { config, logger } = await openRuntime();
      await using storage = await openStorage(config, logger, { tables: "current" });
      const masterKey = await configuredMasterKey(config, { existing: !lostMasterKey });
      const details = { now, lostMasterKey };
      const on = recordingOn(storage.write, {
        command: "callbacks rotate",
        details,
        on: "deployment",
      });
      if (lostMasterKey) await replaceSigningKeys(on, masterKey);
      const keys = await openSigningKeys(storage.write, masterKey);
      const shown = lostMasterKey
        ? await keys.publicKeys()
        : await keys.rotate(now ? IMMEDIATELY : {}, on);
      tellLines(told(shown));
      if (lostMasterKey) tellLines(SEALED_ANEW);
      printJson(shown);
    });

const SEALED_ANEW =
  "it is sealed with the master key of this command (CALLBACK_MASTER_KEY, or callback-master-key in DATA_DIR): give every process the same one and restart it";

/** What happens when, and what the operator has to do: mostly nothing. */
const told = ({ keys: [fresh, old] }: CallbackPublicKeys): string =>
  old === undefined
    ? `key ${fresh?.keyId} signs now, alone; tell the receivers to read callback_pk again`
    : `key ${fresh?.keyId} is announced and signs from ${fresh?.notBefore} on; ${old.keyId} signs along until ${old.notAfter}`;
