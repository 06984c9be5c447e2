#!/usr/bin/env node
import { join } from "node:path";
import { installIfStale, root } from "./install.mjs";
import { launch } from "./launch.mjs";

installIfStale({ development: false });
process.exitCode = await launch([join(root, "src", "main.ts"), ...process.argv.slice(2)], {
  tether: true,
  serving: process.argv[2] === "serve",
});
