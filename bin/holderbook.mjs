#!/usr/bin/env node
import { join } from "node:path";
import { installIfStale, root } from "./install.mjs";
import { launch } from "./launch.mjs";
import { buildPageBeside } from "./web.mjs";

const [command, part] = process.argv.slice(2);

installIfStale({ development: false });
if (["start", "serve"].includes(command)) buildPageBeside();
process.exitCode = await launch(
  [join(root, "src", "commands", "main.ts"), ...process.argv.slice(2)],
  {
    tether: true,
    role: command === "work" ? part : command,
  },
);
