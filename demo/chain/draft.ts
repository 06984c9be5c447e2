import type { Argument, Command } from "../wire/transaction.ts";

/** A sender's input; versions and digests are looked up at execution. */
export type Input =
  | { readonly kind: "pure"; readonly bytes: Uint8Array }
  | { readonly kind: "owned"; readonly id: string }
  | { readonly kind: "receiving"; readonly id: string }
  | { readonly kind: "shared"; readonly id: string; mutable: boolean };

/** Builder of a programmable transaction: inputs, then commands. */
export class Draft {
  readonly inputs: Input[] = [];
  readonly commands: Command[] = [];
  readonly #objects = new Map<string, number>();

  /** A BCS value. */
  pure(bytes: Uint8Array): Argument {
    this.inputs.push({ kind: "pure", bytes });
    return { kind: "input", index: this.inputs.length - 1 };
  }

  /** A shared object; mutable when any command writes it. */
  shared(id: string, access: "read" | "write"): Argument {
    const known = this.#objects.get(id);
    if (known !== undefined) {
      const input = this.inputs[known];
      if (input?.kind === "shared" && access === "write") input.mutable = true;
      return { kind: "input", index: known };
    }
    return this.#object(id, { kind: "shared", id, mutable: access === "write" });
  }

  /** An object of the sender. */
  owned(id: string): Argument {
    return this.#object(id, { kind: "owned", id });
  }

  /** An object sent to another object that receives it. */
  receiving(id: string): Argument {
    return this.#object(id, { kind: "receiving", id });
  }

  /** Adds a command; returns its result. */
  add(command: Command): Argument {
    this.commands.push(command);
    return { kind: "result", command: this.commands.length - 1 };
  }

  /** Adds a call of `module::function`; returns its result. */
  call(
    target: { readonly package: string; readonly function: string },
    typeArguments: readonly string[],
    args: readonly Argument[],
  ): Argument {
    const [module = "", name = ""] = target.function.split("::");
    return this.add({
      kind: "call",
      package: target.package,
      module,
      function: name,
      typeArguments,
      arguments: args,
    });
  }

  #object(id: string, input: Input): Argument {
    this.inputs.push(input);
    this.#objects.set(id, this.inputs.length - 1);
    return { kind: "input", index: this.inputs.length - 1 };
  }
}
