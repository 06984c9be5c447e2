/** Publishes and describes the coin types, and creates their treasuries. */
import { Draft } from "../chain/draft.ts";
import type { Execution } from "../chain/execution.ts";
import { COIN_REGISTRY, derivedId, FRAMEWORK, fieldId } from "../chain/ids.ts";
import { u64 } from "../contract/layouts.ts";
import { createTreasury } from "../contract/roles.ts";
import { runningPackage } from "../contract/securities.ts";
import type { CoinModel } from "../model.ts";
import { ByteWriter } from "../wire/byte-writer.ts";
import { type Coin, coinMetadata, currency, idOnly, treasuryCap } from "./coin-objects.ts";
import { publish, type Sources } from "./packages.ts";
import { staffOf } from "./people.ts";
import { perform, type Stage } from "./stage.ts";

export type CoinPlan = {
  readonly symbol: string;
  readonly name: string;
  readonly decimals: number;
  readonly sources: Sources;
  /** Type inside its package, `@` for the package's address. */
  readonly type: string;
  /** Legacy metadata object; registry entry in two steps by a one-time witness, or directly. */
  readonly described: "metadata" | "registry-witness" | "registry";
};

/** All kinds of descriptions, and a type with a type parameter. */
export const COINS: readonly CoinPlan[] = [
  {
    symbol: "ACME",
    name: "Acme Holdings Class A",
    decimals: 6,
    sources: { acme: ["ACME"] },
    type: "@::acme::ACME",
    described: "metadata",
  },
  {
    symbol: "BIRCH",
    name: "Birch Forestry Fund",
    decimals: 9,
    sources: { birch: ["BIRCH"] },
    type: "@::birch::BIRCH",
    described: "metadata",
  },
  {
    symbol: "CEDAR",
    name: "Cedar Street Property",
    decimals: 0,
    sources: { cedar: ["CEDAR"] },
    type: "@::cedar::CEDAR",
    described: "registry-witness",
  },
  {
    symbol: "DELTA",
    name: "Delta Shipping Preferred",
    decimals: 2,
    sources: { series: ["Preferred", "Share"] },
    type: "@::series::Share<@::series::Preferred>",
    described: "registry",
  },
];

/** The first ContractAdmin of a coin. */
const adminOf = (stage: Stage, symbol: string): string => staffOf(stage.keyring, symbol).admin;

/** Publishes a coin's package and description, and creates its treasury. */
export const issueCoin = (stage: Stage, plan: CoinPlan): void => {
  const sender = adminOf(stage, plan.symbol);
  let coin: Coin = { ...plan, coinType: plan.type };
  let caps: Caps = { treasuryCap: "", metadataCap: "" };
  let unregistered = "";
  publish(stage, sender, plan.sources, (execution, packageId) => {
    coin = { ...coin, coinType: plan.type.replaceAll("@", packageId) };
    if (plan.described === "registry") return;
    caps = createCaps(execution, sender, coin, plan.described !== "metadata");
    if (plan.described === "metadata") createMetadata(execution, coin, { kind: "immutable" });
    else unregistered = createUnregistered(execution, coin, caps);
  });
  if (plan.described === "registry-witness") {
    finalizeRegistration(stage, sender, coin, caps, unregistered);
  }
  if (plan.described === "registry") caps = registerDirectly(stage, sender, coin);
  openTreasury(stage, sender, coin, caps, plan.described);
};

type Caps = { readonly treasuryCap: string; readonly metadataCap: string };

const createCaps = (
  execution: Execution,
  sender: string,
  coin: Coin,
  withMetadataCap: boolean,
): Caps => {
  const owner = { kind: "address" as const, address: sender };
  const cap = execution.newId();
  execution.create(cap, {
    type: `${FRAMEWORK}::coin::TreasuryCap<${coin.coinType}>`,
    contents: treasuryCap(cap),
    owner,
    publicTransfer: true,
  });
  if (!withMetadataCap) return { treasuryCap: cap, metadataCap: "" };
  const metadataCap = execution.newId();
  execution.create(metadataCap, {
    type: `${FRAMEWORK}::coin_registry::MetadataCap<${coin.coinType}>`,
    contents: idOnly(metadataCap),
    owner,
    publicTransfer: true,
  });
  return { treasuryCap: cap, metadataCap };
};

const createMetadata = (
  execution: Execution,
  coin: Coin,
  owner: { readonly kind: "immutable" } | { readonly kind: "object"; readonly address: string },
): string => {
  const id = execution.newId();
  execution.create(id, {
    type: `${FRAMEWORK}::coin::CoinMetadata<${coin.coinType}>`,
    contents: coinMetadata(id, coin),
    owner,
    publicTransfer: true,
  });
  return id;
};

/** Field with the legacy metadata of an entry waiting for the registry. */
const LEGACY_NAME = `${FRAMEWORK}::dynamic_object_field::Wrapper<u64>`;
const legacyField = (entry: string): string => fieldId(entry, LEGACY_NAME, u64(0n));

/** An entry sent to the registry, with legacy metadata until accepted. */
const createUnregistered = (execution: Execution, coin: Coin, caps: Caps): string => {
  const id = execution.newId();
  execution.create(id, {
    type: `${FRAMEWORK}::coin_registry::Currency<${coin.coinType}>`,
    contents: currency(id, coin, caps),
    owner: { kind: "address", address: COIN_REGISTRY },
  });
  const field = legacyField(id);
  const metadata = createMetadata(execution, coin, { kind: "object", address: field });
  execution.create(field, {
    type: `${FRAMEWORK}::dynamic_field::Field<${LEGACY_NAME},${FRAMEWORK}::object::ID>`,
    contents: new ByteWriter().address(field).u64(0n).address(metadata).done(),
    owner: { kind: "object", address: id },
  });
  return id;
};

/** The registry accepts the entry under the id derived from its coin type. */
const finalizeRegistration = (
  stage: Stage,
  sender: string,
  coin: Coin,
  caps: Caps,
  unregistered: string,
): void => {
  const draft = new Draft();
  draft.call(
    { package: FRAMEWORK, function: "coin_registry::finalize_registration" },
    [coin.coinType],
    [draft.shared(COIN_REGISTRY, "write"), draft.receiving(unregistered)],
  );
  const field = legacyField(unregistered);
  const stored = stage.world.chain.objects.get(field);
  perform(stage, sender, draft, (execution) => {
    if (stored !== undefined) {
      execution.remove(`0x${Buffer.from(stored.contents.subarray(40, 72)).toString("hex")}`);
      execution.remove(field);
    }
    execution.remove(unregistered);
    createRegistered(execution, coin, caps);
  });
};

/** Registers a coin of an object type in one step. */
const registerDirectly = (stage: Stage, sender: string, coin: Coin): Caps => {
  const draft = new Draft();
  draft.call(
    { package: coin.coinType.slice(0, 66), function: "series::register" },
    [],
    [draft.shared(COIN_REGISTRY, "write")],
  );
  let caps: Caps = { treasuryCap: "", metadataCap: "" };
  perform(stage, sender, draft, (execution) => {
    caps = createCaps(execution, sender, coin, true);
    createRegistered(execution, coin, caps);
  });
  return caps;
};

const createRegistered = (execution: Execution, coin: Coin, caps: Caps): void => {
  // A Move struct without fields has a hidden bool.
  const key = Uint8Array.of(0);
  const id = derivedId(
    COIN_REGISTRY,
    `${FRAMEWORK}::coin_registry::CurrencyKey<${coin.coinType}>`,
    key,
  );
  execution.create(id, {
    type: `${FRAMEWORK}::coin_registry::Currency<${coin.coinType}>`,
    contents: currency(id, coin, caps),
    owner: "share",
  });
  const nameType = `${FRAMEWORK}::derived_object::Claimed`;
  const name = new ByteWriter().address(id).done();
  const field = fieldId(COIN_REGISTRY, nameType, name);
  execution.create(field, {
    type: `${FRAMEWORK}::dynamic_field::Field<${nameType},${FRAMEWORK}::derived_object::ClaimedStatus>`,
    contents: new ByteWriter().address(field).raw(name).u8(0).done(),
    owner: { kind: "object", address: COIN_REGISTRY },
  });
};

/** Hands the treasury cap to the security-token package. */
const openTreasury = (
  stage: Stage,
  sender: string,
  coin: Coin,
  caps: Caps,
  described: CoinPlan["described"],
): void => {
  const { securities } = stage.world;
  const draft = new Draft();
  const [coinPackage = "", module = ""] = coin.coinType.split("::");
  const through = stage.pace.foreign === undefined ? undefined : { package: coinPackage, module };
  draft.call(
    through === undefined
      ? { package: runningPackage(securities), function: "controlled_treasury::create" }
      : { package: through.package, function: `${through.module}::create` },
    [coin.coinType],
    [draft.owned(caps.treasuryCap)],
  );
  perform(stage, sender, draft, (execution) => {
    const model: CoinModel = {
      coinType: coin.coinType,
      symbol: coin.symbol,
      name: coin.name,
      decimals: coin.decimals,
      metadata: described === "metadata" ? "CoinMetadata" : "Currency",
      treasuryId: "",
      supply: 0n,
    };
    execution.set(securities.model.coins, coin.coinType, model);
    execution.remove(caps.treasuryCap);
    const treasuryId = createTreasury(execution, securities, coin.coinType, through);
    execution.set(securities.model.coins, coin.coinType, { ...model, treasuryId });
  });
};
