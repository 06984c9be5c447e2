/** The genesis transaction: framework, system state, clock, coin registry, and the first coin. */
import { ByteWriter } from "../wire/byte-writer.ts";
import { hash } from "../wire/digest.ts";
import type { MoveObject, PackageObject } from "../wire/object.ts";
import { GAS_COIN_TYPE } from "../wire/type-tag.ts";
import { executeSystem } from "./execute.ts";
import { CLOCK, COIN_REGISTRY, createdId, FRAMEWORK, STDLIB, SYSTEM, SYSTEM_STATE } from "./ids.ts";
import { type Chain, coinContents, type OpenCheckpoint } from "./state.ts";

/** Version of everything that genesis creates. */
const FIRST_VERSION = 1n;
/** Version of the state's layout. */
const SYSTEM_STATE_VERSION = 2n;
const NO_TRANSACTION = new Uint8Array(32);
/** All SUI, in its smallest unit. */
const TOTAL_SUI = 10_000_000_000_000_000_000n;

export const clockContents = (timestampMs: bigint): Uint8Array =>
  new ByteWriter().address(CLOCK).u64(timestampMs).done();

/** The state's content is in a dynamic field, which is not simulated. */
export const systemStateContents = (): Uint8Array =>
  new ByteWriter().address(SYSTEM_STATE).u64(SYSTEM_STATE_VERSION).done();

/** @param faucet owner of the first coin */
export const executeGenesis = (chain: Chain, open: OpenCheckpoint, faucet: string): void => {
  const coin = createdId(hash(Buffer.from("genesis purse")), 0);
  const objects: readonly MoveObject[] = [
    system(SYSTEM_STATE, `${SYSTEM}::sui_system::SuiSystemState`, systemStateContents()),
    system(CLOCK, `${FRAMEWORK}::clock::Clock`, clockContents(open.timestampMs)),
    system(COIN_REGISTRY, `${FRAMEWORK}::coin_registry::CoinRegistry`, idOnly(COIN_REGISTRY)),
    {
      ...system(coin, GAS_COIN_TYPE, coinContents(coin, TOTAL_SUI)),
      publicTransfer: true,
      owner: { kind: "address", address: faucet },
    },
  ];
  const packages = [
    framework(STDLIB, ["ascii", "option", "string", "type_name", "vector"]),
    framework(FRAMEWORK, ["balance", "clock", "coin", "coin_registry", "object", "transfer"]),
    framework(SYSTEM, ["sui_system", "sui_system_state_inner", "validator", "validator_set"]),
  ];
  const kind = {
    kind: "genesis" as const,
    objects: [
      ...objects.map((move) => ({ move, owner: move.owner })),
      ...packages.map((published) => ({ package: published })),
    ],
  };
  executeSystem(chain, open, kind, [], (execution) => {
    for (const object of objects) {
      execution.create(object.id, {
        ...object,
        owner: object.owner.kind === "shared" ? "share" : object.owner,
      });
    }
    for (const published of packages) {
      execution.publish({ ...published, originalId: published.id });
    }
  });
  chain.gasCoins.set(faucet, coin);
};

const system = (id: string, type: string, contents: Uint8Array): MoveObject => ({
  id,
  version: FIRST_VERSION,
  type,
  publicTransfer: false,
  contents,
  owner: { kind: "shared", initialSharedVersion: FIRST_VERSION },
  previousTransaction: NO_TRANSACTION,
  storageRebate: 0n,
});

const idOnly = (id: string): Uint8Array => new ByteWriter().address(id).done();

const framework = (id: string, modules: readonly string[]): PackageObject => ({
  id,
  version: FIRST_VERSION,
  modules: new Map(modules.map((name) => [name, moduleCode(name, 1n)])),
  typeOrigins: [],
  linkage: [],
  previousTransaction: NO_TRANSACTION,
  storageRebate: 0n,
});

/**
 * Substitute for compiled code: Move's magic number and version, then bytes derived from the name.
 * Invalid for a VM; indexers never read it.
 */
export const moduleCode = (name: string, version: bigint): Uint8Array => {
  const writer = new ByteWriter().raw(Uint8Array.of(0xa1, 0x1c, 0xeb, 0x0b)).u32(6);
  for (let part = 0; part < 4; part += 1) {
    writer.raw(hash(Buffer.from(`code/${name}/${version}/${part}`)));
  }
  return writer.done();
};
