import { Draft } from "../chain/draft.ts";
import type { Execution } from "../chain/execution.ts";
import { moduleCode } from "../chain/genesis.ts";
import { FRAMEWORK, STDLIB } from "../chain/ids.ts";
import { address } from "../contract/layouts.ts";
import { ByteWriter } from "../wire/byte-writer.ts";
import { hash } from "../wire/digest.ts";
import { upgradeCap } from "./coin-objects.ts";
import { perform, type Stage } from "./stage.ts";

/** A package's types by module, modules in alphabetical order. */
export type Sources = Readonly<Record<string, readonly string[]>>;

const UPGRADE_CAP = `${FRAMEWORK}::package::UpgradeCap`;
const FRAMEWORK_PACKAGES = [STDLIB, FRAMEWORK];
const LINKAGE = FRAMEWORK_PACKAGES.map((id) => ({ original: id, upgraded: id, version: 1n }));

/**
 * Publishes a package and runs `init` in the same transaction. Returns the ids of the package and
 * of its upgrade cap, which the sender owns.
 */
export const publish = (
  stage: Stage,
  sender: string,
  sources: Sources,
  init: (execution: Execution, packageId: string) => void = () => undefined,
): { readonly packageId: string; readonly capId: string } => {
  const draft = new Draft();
  const modules = new Map(Object.keys(sources).map((name) => [name, moduleCode(name, 1n)]));
  const cap = draft.add({
    kind: "publish",
    modules: [...modules.values()],
    dependencies: FRAMEWORK_PACKAGES,
  });
  draft.add({ kind: "transfer", objects: [cap], recipient: draft.pure(address(sender)) });
  let packageId = "";
  let capId = "";
  perform(stage, sender, draft, (execution) => {
    packageId = execution.newId();
    capId = execution.newId();
    execution.publish({
      id: packageId,
      originalId: packageId,
      version: 1n,
      modules,
      typeOrigins: originsOf(sources, packageId),
      linkage: LINKAGE,
    });
    execution.create(capId, {
      type: UPGRADE_CAP,
      contents: upgradeCap(capId, packageId, 1n),
      owner: { kind: "address", address: sender },
      publicTransfer: true,
    });
    init(execution, packageId);
  });
  return { packageId, capId };
};

/** Publishes a package's second version, which defines the types of `added`. Returns its id. */
export const upgrade = (
  stage: Stage,
  sender: string,
  before: { readonly packageId: string; readonly capId: string; readonly sources: Sources },
  added: Sources,
): string => {
  const names = [...Object.keys(before.sources), ...Object.keys(added)].sort();
  const modules = new Map(names.map((name) => [name, moduleCode(name, 2n)]));
  const draft = new Draft();
  const cap = draft.owned(before.capId);
  const framework = (name: string) => ({ package: FRAMEWORK, function: `package::${name}` });
  const digest = hash(...modules.values());
  const ticket = draft.call(
    framework("authorize_upgrade"),
    [],
    [cap, draft.pure(Uint8Array.of(0)), draft.pure(new ByteWriter().bytes(digest).done())],
  );
  const receipt = draft.add({
    kind: "upgrade",
    modules: [...modules.values()],
    dependencies: FRAMEWORK_PACKAGES,
    package: before.packageId,
    ticket,
  });
  draft.call(framework("commit_upgrade"), [], [cap, receipt]);
  let packageId = "";
  perform(stage, sender, draft, (execution) => {
    packageId = execution.newId();
    execution.publish({
      id: packageId,
      originalId: before.packageId,
      version: 2n,
      modules,
      typeOrigins: [...originsOf(before.sources, before.packageId), ...originsOf(added, packageId)],
      linkage: LINKAGE,
    });
    execution.write(before.capId, upgradeCap(before.capId, packageId, 2n));
  });
  return packageId;
};

/** Ends the upgrades of a package: deletes its upgrade cap. */
export const makeImmutable = (stage: Stage, sender: string, capId: string): void => {
  const draft = new Draft();
  const cap = draft.owned(capId);
  const target = { package: FRAMEWORK, function: "package::make_immutable" };
  draft.call(target, [], [cap]);
  perform(stage, sender, draft, (execution) => execution.remove(capId));
};

const originsOf = (sources: Sources, packageId: string) =>
  Object.entries(sources).flatMap(([module, names]) =>
    names.map((name) => ({ module, name, package: packageId })),
  );
