/** Every kind of fault. */
import type { FaultKind } from "./fault.ts";
import { processKinds } from "./kinds-of-processes.ts";

export const KINDS: readonly FaultKind[] = [...processKinds];
