import { compileContracts } from "./contracts.ts";

/** Compiles the reference contracts before the first test file: several workers would each do it. */
export default compileContracts;
