import { REPLICAS, type Replicas } from '#test/simulation/stored/replicas';

/** Merges newer parts of another state. Returns whether any part was newer. */
export type Merge<State> = (into: State, from: State) => boolean;

/**
 * Replicated state. Changes must commute, because they may arrive late or twice. Two replicas are a
 * quorum; a read repairs both.
 */
export class ReplicatedState<State> {
  readonly #replicas: Replicas;
  readonly #make: () => State;
  readonly #states: readonly State[];

  constructor(replicas: Replicas, make: () => State) {
    this.#replicas = replicas;
    this.#make = make;
    this.#states = Array.from({ length: REPLICAS }, make);
  }

  /** State of each replica, for checks. */
  get each(): readonly State[] {
    return this.#states;
  }

  /** Merged state for each pair of replicas. */
  pairs(merge: Merge<State>): State[] {
    return this.#states.map((one, place) => {
      const other = this.#states[(place + 1) % REPLICAS];
      return this.#together(other === undefined ? [one] : [one, other], merge);
    });
  }

  /** Changes the state. Resolves when a quorum has applied the change. */
  write(name: string, change: (state: State) => void): Promise<void> {
    return this.#replicas.write(name, (replica) => change(this.#state(replica)));
  }

  /** Reads the merged state of two replicas after repairing both. */
  async read<Answer>(
    name: string,
    merge: Merge<State>,
    answer: (state: State) => Answer,
  ): Promise<Answer> {
    const parts = new Map<number, State>();
    await this.#replicas.ask(name, (replica) => {
      parts.set(replica, this.#together([this.#state(replica)], merge));
    });
    const all = this.#together([...parts.values()], merge);
    const lacking = [...parts].filter(([, part]) => merge(part, all)).map(([replica]) => replica);
    await this.#replicas.repair(name, lacking, (replica) => merge(this.#state(replica), all));
    return answer(all);
  }

  #together(states: readonly State[], merge: Merge<State>): State {
    const together = this.#make();
    for (const state of states) merge(together, state);
    return together;
  }

  #state(replica: number): State {
    const state = this.#states[replica];
    if (state === undefined) throw new Error(`replica ${replica} does not exist`);
    return state;
  }
}
