#!/usr/bin/env node
import { join } from "node:path";
import { installIfStale, root } from "./install.mjs";
import { launch } from "./launch.mjs";
import { buildPageBeside } from "./web.mjs";

installIfStale({ development: false });
if (["start", "serve"].includes(process.argv[2])) buildPageBeside();
process.exitCode = await launch(
  [join(root, "src", "commands", "main.ts"), ...process.argv.slice(2)],
  {
    tether: true,
    serving: process.argv[2] === "serve",
  },
);
