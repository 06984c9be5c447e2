/** A state that moves only along its transitions. */
export type States<State extends string> = {
  current(): State;
  /** @throws Error when there is no transition from the current state: a bug of the caller */
  enter(next: State): void;
};

/** @param transitions the states that may follow each one */
export const createStates = <State extends string>(
  initial: NoInfer<State>,
  transitions: Readonly<Record<State, readonly NoInfer<State>[]>>,
): States<State> => {
  let current: State = initial;
  return {
    current: () => current,
    enter: (next) => {
      if (!transitions[current].includes(next)) {
        throw new Error(`no transition from ${current} to ${next}`);
      }
      current = next;
    },
  };
};
