import { REPLICAS, type Replicas } from '#test/simulation/replicas';

/** Takes from another state what a read asks for, where it is newer; whether there was any. */
export type Merge<State> = (into: State, from: State) => boolean;

/**
 * A state on every replica whose changes may come in any order, late and twice. Written and read as
 * tables are: two replicas make a quorum, and a read repairs the two that it asked.
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

  /** The state of each replica, for those that watch from outside. */
  get each(): readonly State[] {
    return this.#states;
  }

  /** What any two replicas hold together, for each two of them. */
  pairs(merge: Merge<State>): State[] {
    return this.#states.map((one, place) => {
      const other = this.#states[(place + 1) % REPLICAS];
      return this.#together(other === undefined ? [one] : [one, other], merge);
    });
  }

  /** Changes the state; fulfils when a quorum has the change. */
  write(name: string, change: (state: State) => void): Promise<void> {
    return this.#replicas.write(name, (replica) => change(this.#state(replica)));
  }

  /** The answer of what two replicas have of what is asked for, which both have then. */
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
