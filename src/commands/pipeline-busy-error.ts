import type { Remedy } from "../waiting/remedy.ts";

/** Another process writes the pipeline. Stop that one and its standbys first; nothing was changed. */
export class PipelineBusyError extends Error {
  override readonly name = "PipelineBusyError";
  readonly remedy: Remedy = "stop";

  constructor(pipeline: string) {
    super(
      `${pipeline} is being written by another process; stop every start and index that runs it, then give this command again`,
    );
  }
}
