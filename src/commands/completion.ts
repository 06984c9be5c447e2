import { Argument, Command } from "commander";

const SHELLS = ["bash", "zsh", "fish"] as const;

/** `holderbook completion`, to which all other commands are loaded: what a shell completes the program's command line with. */
export const completionCommand = () =>
  new Command("completion")
    .addArgument(new Argument("<shell>", "prints the script for it").choices(SHELLS))
    .addHelpText(
      "after",
      `
Examples:
  bash: holderbook completion bash > ~/.local/share/bash-completion/completions/holderbook
  zsh:  holderbook completion zsh > "\${fpath[1]}/_holderbook"
  fish: holderbook completion fish > ~/.config/fish/completions/holderbook.fish`,
    )
    .action(async (shell: (typeof SHELLS)[number], _: object, command: Command) => {
      const { completionScript } = await import("./completion-scripts.ts");
      const { commandTree } = await import("./command-tree.ts");
      process.stdout.write(completionScript(shell, commandTree(command.parent ?? command)));
    });
