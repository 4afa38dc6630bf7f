import { REPLICAS, type Replicas } from '#test/simulation/stored/replicas';

/** Merges newer queried parts of another state; returns whether there were any. */
export type Merge<State> = (into: State, from: State) => boolean;

/**
 * Replicated state whose changes commute and may arrive late or twice. Read and written like
 * tables: two replicas are a quorum, and a read repairs both.
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

  /** State of each replica, for outside watchers. */
  get each(): readonly State[] {
    return this.#states;
  }

  /** Merged state of each pair of replicas. */
  pairs(merge: Merge<State>): State[] {
    return this.#states.map((one, place) => {
      const other = this.#states[(place + 1) % REPLICAS];
      return this.#together(other === undefined ? [one] : [one, other], merge);
    });
  }

  /** Changes the state; resolves when a quorum has the change. */
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
    if (state === undefined) throw new Error(`there is no replica ${replica}`);
    return state;
  }
}
