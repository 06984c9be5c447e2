/** `holderbook keys rotate` and `keys revoke-deployment-key`: the deployment's signing key. */
import { Command } from "commander";
import {
  changeDeploymentKey,
  replaceLostKey,
  revokeDeploymentKey,
} from "../audit/sequence/key-change.ts";
import { configuredKey, configuredMasterKey } from "../service/configured-keys.ts";
import { bigintArgument, reasonArgument, urlArgument } from "./arguments.ts";
import { openDatabase } from "./open-database.ts";
import { printJson, printMessages } from "./output.ts";

type RotateOptions = { readonly signerBefore?: URL; readonly lost?: boolean };

export const rotateCommand = () =>
  new Command("rotate")
    .description(
      "replace the deployment's key, which signs statements, packs and the sequence. The signer at DEPLOYMENT_SIGNER_URL holds the new key; without a signer it is sealed in the database. The previous key names it in an entry of the sequence, which is printed",
    )
    .option(
      "--signer-before <url>",
      "signer that holds the previous key, if any; its token comes from DEPLOYMENT_SIGNER_BEFORE_TOKEN",
      urlArgument("https://signer.internal/sign"),
    )
    .option(
      "--lost",
      "the previous key is lost (the command checks that it cannot sign): the new key names itself, and auditors need its public key from you",
    )
    .action(async ({ signerBefore, lost = false }: RotateOptions) => {
      await using storage = await openDatabase();
      const { config } = storage;
      const { masterKey, signer } = configuredKey(config, { existing: true });
      const entry = await (lost ? replaceLostKey : changeDeploymentKey)(storage.write, {
        masterKey,
        nextMasterKey: () => configuredMasterKey(config, { existing: !lost }),
        signer,
        before:
          signerBefore === undefined
            ? undefined
            : { url: signerBefore.href, token: config.signerBeforeToken },
      });
      printMessages(...(lost ? LOST : []), ROTATED);
      printJson(entry);
    });

const ROTATED =
  "the new key signs from now on. Restart the processes that index and serve, which sign nothing until then, and publish the public key where auditors look for it";

const LOST = [
  "the previous key did not name this one: auditors who know only that key can verify nothing signed from now on until you give them the new public key",
  "if the master key is also lost, see `holderbook callbacks rotate --now --lost-master-key`",
];

type RevokeOptions = { readonly from: bigint; readonly why: string };

export const revokeDeploymentKeyCommand = () =>
  new Command("revoke-deployment-key")
    .description(
      "record in the sequence that a former key of the deployment is not trusted from an entry on; the newest key signs this, so rotate first; prints the entry",
    )
    .argument("<keyId>", "its id, from GET /deployment-keys")
    .requiredOption(
      "--from <number>",
      "number of the first entry whose signature is not trusted",
      bigintArgument(/^(0|[1-9]\d{0,17})$/, "the number of an entry"),
    )
    .requiredOption("--why <text>", "reason, published in the sequence", reasonArgument)
    .action(async (keyId: string, { from, why }: RevokeOptions) => {
      await using storage = await openDatabase();
      const { config } = storage;
      const key = await configuredKey(config, { existing: true }).open(storage);
      const entry = await revokeDeploymentKey(storage.write, key, { keyId, from, why });
      printMessages(
        `${keyId} is revoked from entry ${from} on: ask auditors to fetch GET /sequence again, and publish the public key of ${key.keyId}: what rests on a signature of ${keyId} alone is no longer trusted`,
      );
      printJson(entry);
    });
